package engine

import (
	"testing"
	"time"
)

func TestChunkFollowsTheDepthAndIsPartOfTheFingerprint(t *testing.T) {
	for depth, want := range map[int]int{1: 1, 4: 2, 16: 2, 32: 4, 128: 8, 1024: 8} {
		w := reads(depth, Limits{MaxTime: time.Minute, MaxIOs: 2000})
		if r := runFake(t, &fakeDisk{}, w); r.Fingerprint.Chunk != want {
			t.Errorf("depth %d: chunk %d, want %d", depth, r.Fingerprint.Chunk, want)
		}
	}
	d := &fakeDisk{}
	r, err := run(t.Context(), reads(32, Limits{MaxTime: time.Minute, MaxIOs: 2000}), fakeTarget(), Options{Chunk: 7}, d.environment())
	if err != nil || r.Fingerprint.Chunk != 7 {
		t.Errorf("asked for 7: %+v, %v", r.Fingerprint, err)
	}
}
