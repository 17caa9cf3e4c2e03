package probefile

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

func TestPlannedSize(t *testing.T) {
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	for _, c := range []struct {
		name        string
		want, min   int64
		free, total int64
		size        int64 // 0: an error
		space       bool  // of which it is a SpaceError
		need        int64
	}{
		{name: "a roomy disk gets what is wanted", want: 2 * gib, free: tib / 2, total: tib, size: 2 * gib},
		{name: "defaults", free: tib / 2, total: tib, size: gib},
		{name: "5 % of the free space where that is less", free: 10 * gib, total: 20 * gib, size: 512 * mib},
		{name: "rounded down to MiB", want: gib, free: 10*gib + 20*mib - 1, total: 20 * gib, size: 512 * mib},
		{name: "no file below the smallest", free: 4 * gib, total: 20 * gib, space: true, need: 20 * 256 * mib},
		{name: "the smallest is enough", free: 20 * 256 * mib, total: 20 * gib, size: 256 * mib},
		{name: "5 % of the file system must be free", free: 40 * gib, total: tib, space: true, need: tib / 20},
		{name: "at the floor", free: tib/20 + mib, total: tib, size: gib},
		{name: "nothing free", free: 0, total: tib, space: true, need: 20 * 256 * mib},
		{name: "three times the file must be free", want: 64 * mib, min: 64 * mib, free: 20 * 64 * mib, total: gib, size: 64 * mib},
		{name: "wanted below the smallest", want: mib, free: tib / 2, total: tib},
		{name: "a smallest below a block", want: mib, min: 1, free: tib / 2, total: tib},
		{name: "negative", want: -1, free: tib / 2, total: tib},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := blockdev.Filesystem{MountPoint: "/data", FreeBytes: c.free, SizeBytes: c.total}
			size, err := PlannedSize(c.want, c.min, fs)
			if size != c.size || (err == nil) != (c.size > 0) {
				t.Fatalf("size %d, error %v; want %d", size, err, c.size)
			}
			var s *SpaceError
			if errors.As(err, &s) != c.space {
				t.Fatalf("error %v, want a SpaceError: %v", err, c.space)
			}
			if c.space && (s.Need != c.need || s.Free != c.free || s.Total != c.total || s.Path != "/data") {
				t.Errorf("%+v, want need %d", s, c.need)
			}
		})
	}
}

func TestPrepareMakesAProvenFileOfIncompressibleData(t *testing.T) {
	dir := diskDir(t)
	var beats []int64
	st, err := Prepare(context.Background(), spec(dir), roomy(), func(done, total int64) {
		if total != testSize {
			t.Errorf("a beat of total %d", total)
		}
		beats = append(beats, done)
	})
	must(t, err)
	if !st.Filled || st.Size != testSize || st.Written != testSize || st.Position != testSize || st.Dir != dir {
		t.Errorf("state %+v", st)
	}
	if age := time.Since(time.Unix(st.Created, 0)); age < 0 || age > time.Hour {
		t.Errorf("created %v ago", age)
	}
	if len(beats) != testSize/blockSize || beats[len(beats)-1] != testSize {
		t.Errorf("beats %v", beats)
	}
	for name, mode := range map[string]fs.FileMode{"": fs.ModeDir | 0o700, DataName: 0o600, RecordName: 0o600, lockName: 0o600} {
		fi, err := os.Lstat(path(dir, name))
		must(t, err)
		if fi.Mode() != mode {
			t.Errorf("%s has mode %v, want %v", name, fi.Mode(), mode)
		}
	}
	tag, err := os.ReadFile(path(dir, tagName))
	must(t, err)
	if !bytes.HasPrefix(tag, []byte("Signature: 8a477f597d28d172789f06886806bc55\n")) {
		t.Errorf("%s begins with %.60q", tagName, tag)
	}
	if readme, err := os.ReadFile(path(dir, readmeName)); err != nil || !strings.Contains(string(readme), "ssd_exporter") {
		t.Errorf("%s: %q, %v", readmeName, readme, err)
	}
	data, err := os.ReadFile(path(dir, DataName))
	must(t, err)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	must(t, err)
	_, err = w.Write(data)
	must(t, errors.Join(err, w.Close()))
	if int64(len(data)) != testSize || packed.Len() < len(data) {
		t.Errorf("%d bytes that compress to %d", len(data), packed.Len())
	}
	for i := 0; i < len(data); i += 4096 {
		if i > 0 && bytes.Equal(data[i:i+4096], data[:4096]) {
			t.Fatalf("block %d repeats block 0: it could be deduplicated", i/4096)
		}
	}
	stat, err := Stat(dir)
	must(t, err)
	if st.Written = 0; stat != st {
		t.Errorf("Stat gives %+v, Prepare gave %+v", stat, st)
	}
}

func TestPrepareKeepsAFilledFile(t *testing.T) {
	dir := prepared(t)
	before, err := os.ReadFile(path(dir, DataName))
	must(t, err)
	larger := spec(dir)
	larger.Size *= 2
	st, err := Prepare(context.Background(), larger, roomy(), nil)
	must(t, err)
	if st.Written != 0 || st.Size != testSize || !st.Filled {
		t.Errorf("state %+v", st)
	}
	after, err := os.ReadFile(path(dir, DataName))
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the data changed")
	}
}

func TestAnInterruptedFillIsContinued(t *testing.T) {
	dir := diskDir(t)
	ctx, cancel := context.WithCancel(context.Background())
	st, err := Prepare(ctx, spec(dir), roomy(), func(done, _ int64) {
		if done == 3*blockSize {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want context.Canceled", err)
	}
	if st.Filled || st.Written != 3*blockSize || st.Position != 3*blockSize {
		t.Errorf("state %+v", st)
	}
	if _, err := Open(dir, false, roomy()); !errors.Is(err, ErrNotFilled) {
		t.Errorf("opening it: %v, want ErrNotFilled", err)
	}
	if stat, err := Stat(dir); err != nil || stat.Filled || stat.Position != 3*blockSize {
		t.Errorf("Stat gives %+v, %v", stat, err)
	}
	before, err := os.ReadFile(path(dir, DataName))
	must(t, err)

	st, err = Prepare(context.Background(), spec(dir), roomy(), nil)
	must(t, err)
	if !st.Filled || st.Written != testSize-3*blockSize {
		t.Errorf("state %+v, want only the rest to be written", st)
	}
	after, err := os.ReadFile(path(dir, DataName))
	must(t, err)
	if !bytes.Equal(before[:3*blockSize], after[:3*blockSize]) {
		t.Error("what was filled before was written again")
	}
	mustBeFilled(t, dir)
}

func TestACrashWhileCreatingOrFillingLeavesNothingInTheWay(t *testing.T) {
	for name, crash := range map[string]func(t *testing.T, dir string){
		"before the data file was made": func(t *testing.T, dir string) {
			must(t, os.Remove(path(dir, DataName)))
			writeRecordOf(t, dir, record{Format: 1, UUID: newUUID(), Size: testSize})
		},
		"after it was made and before that was recorded": func(t *testing.T, dir string) {
			writeFile(t, path(dir, DataName), "")
			writeRecordOf(t, dir, record{Format: 1, UUID: newUUID(), Size: testSize})
		},
		"between two checkpoints": func(t *testing.T, dir string) {
			r := readRecordOf(t, dir)
			r.FilledAt, r.Position, r.Extents = 0, 2*blockSize, ""
			writeRecordOf(t, dir, r)
			must(t, os.Truncate(path(dir, DataName), 5*blockSize+512))
		},
		"with the last writes lost": func(t *testing.T, dir string) {
			r := readRecordOf(t, dir)
			r.FilledAt, r.Position, r.Extents = 0, 4*blockSize, ""
			writeRecordOf(t, dir, r)
			must(t, os.Truncate(path(dir, DataName), 2*blockSize+512))
		},
		"while a record was written": func(t *testing.T, dir string) {
			writeFile(t, path(dir, tempName), `{"form`)
			r := readRecordOf(t, dir)
			r.FilledAt, r.Position = 0, blockSize
			writeRecordOf(t, dir, r)
		},
		"and somebody deleted the data": func(t *testing.T, dir string) {
			must(t, os.Remove(path(dir, DataName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := prepared(t)
			crash(t, dir)
			st, err := Prepare(context.Background(), spec(dir), roomy(), nil)
			must(t, err)
			if !st.Filled || st.Written == 0 {
				t.Errorf("state %+v", st)
			}
			mustBeFilled(t, dir)
		})
	}
}

func TestPrepareRefusesMemoryNetworkAndCachesWithoutATrace(t *testing.T) {
	for name, fs := range map[string]blockdev.Filesystem{
		"memory":  {Type: "tmpfs", Memory: true, FreeBytes: 1 << 40, SizeBytes: 1 << 40},
		"network": {Type: "nfs4", Network: true, FreeBytes: 1 << 40, SizeBytes: 1 << 40},
		"cache":   {Type: "ext4", Cached: "the ext4 on loop0 is cached", FreeBytes: 1 << 40, SizeBytes: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Prepare(context.Background(), spec(dir), fs, nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), fs.Type) {
				t.Errorf("%v, want ErrUnsupported naming %s", err, fs.Type)
			}
			if es, _ := os.ReadDir(dir); len(es) > 0 {
				t.Errorf("it left %v", es)
			}
		})
	}
}

func TestPrepareHoldsTheFloorsWithoutATrace(t *testing.T) {
	dir := t.TempDir()
	full := blockdev.Filesystem{Type: "ext4", MountPoint: "/", FreeBytes: 20 * testSize, SizeBytes: 1 << 40}
	var s *SpaceError
	if _, err := Prepare(context.Background(), spec(dir), full, nil); !errors.As(err, &s) {
		t.Errorf("%v, want a SpaceError", err)
	}
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Errorf("it left %v", es)
	}
	if _, err := Prepare(context.Background(), spec(dir+"/none"), roomy(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestAFillThatNoLongerFitsGivesItsSpaceBack(t *testing.T) {
	dir := diskDir(t)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Prepare(ctx, spec(dir), roomy(), func(int64, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	full := roomy()
	full.FreeBytes = full.SizeBytes/20 - blockSize - 1
	var s *SpaceError
	st, err := Prepare(context.Background(), spec(dir), full, nil)
	if !errors.As(err, &s) || st.Position != 0 || st.Written != 0 {
		t.Errorf("%+v, %v, want a SpaceError", st, err)
	}
	if fi, err := os.Stat(path(dir, DataName)); err != nil || fi.Size() != 0 {
		t.Errorf("the file still holds %d bytes (%v)", fi.Size(), err)
	}
	st, err = Prepare(context.Background(), spec(dir), roomy(), nil)
	must(t, err)
	if st.Written != testSize {
		t.Errorf("state %+v", st)
	}
	mustBeFilled(t, dir)
}

func TestADiskThatFillsUpDuringTheFillGetsItsSpaceBack(t *testing.T) {
	dir := mounted(t, "tmpfs", 6) // it knows direct I/O since Linux 6.6
	st, err := Prepare(context.Background(), spec(dir), roomy(), nil)
	if errors.Is(err, ErrUnsupported) {
		t.Skip("tmpfs refuses direct I/O: needs Linux 6.6")
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("%v, want ENOSPC", err)
	}
	if st.Written == 0 || st.Written > testSize || st.Filled || st.Position != 0 {
		t.Errorf("state %+v", st)
	}
	var vfs unix.Statfs_t
	must(t, unix.Statfs(dir, &vfs))
	if used := vfs.Blocks - vfs.Bfree; used > 16 {
		t.Errorf("%d pages are still in use", used)
	}
	if _, err := Open(dir, true, roomy()); !errors.Is(err, ErrNotFilled) {
		t.Errorf("opening it: %v, want ErrNotFilled", err)
	}
}

func TestTheFillKeepsItsRateAndDoesNotCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer{rate: 10 << 20}
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		for range 21 {
			must(t, p.wait(ctx, 1<<20))
		}
		if got := time.Since(start).Round(time.Millisecond); got != 2*time.Second {
			t.Errorf("20 MiB at 10 MiB/s took %v", got)
		}
		time.Sleep(time.Minute) // the disk was slow
		start = time.Now()
		for range 21 {
			must(t, p.wait(ctx, 1<<20))
		}
		if got := time.Since(start).Round(time.Millisecond); got != 2*time.Second {
			t.Errorf("after a pause 20 MiB took %v", got)
		}
		cancel()
		if err := p.wait(ctx, 1<<20); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
