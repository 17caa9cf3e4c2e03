package main

import (
	"testing"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"4096": 4096, "512B": 512, "4k": 4096, "4K": 4096, "1m": 1 << 20, "1g": 1 << 30, "1.5g": 3 << 29, "2t": 2 << 40,
		"4kB": 4000, "10GB": 10e9, "512MiB": 512 << 20, "0": 0,
	} {
		var b byteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%q is %d (%v), want %d", text, b, err, want)
		}
	}
	for _, bad := range []string{"", "k", "-1k", "4 k", "4kb", "1e3", "4kk", "9223372036854775808", "9999999999g", "0x10", "４k"} {
		var b byteSize = 7
		if err := b.Set(bad); err == nil || b != 7 {
			t.Errorf("%q is %d", bad, b)
		}
	}
}

func FuzzSizes(f *testing.F) {
	for _, s := range []string{"4k", "1.5g", "10GB", "512MiB", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var b, again byteSize
		if b.Set(s) != nil {
			return
		}
		if b < 0 {
			t.Fatalf("%q is %d", s, b)
		}
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%q is %d, which is spelt %q: %d (%v)", s, b, b.String(), again, err)
		}
	})
}
