package collector

import (
	"net/http"
	"testing"
)

func TestGzipOnlyForThoseWhoWantIt(t *testing.T) {
	for _, c := range []struct {
		header []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZip"}, true},
		{[]string{"x-gzip"}, true},
		{[]string{"deflate, br"}, false},
		{[]string{"deflate", "gzip"}, true},
		{[]string{"deflate, gzip;q=1.0, *;q=0.5"}, true},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip; q=0.000"}, false},
		{[]string{"gzip ; Q=0.3"}, true},
		{[]string{"*"}, true},
		{[]string{"*;q=0"}, false},
		{[]string{"*, gzip;q=0"}, false},
		{[]string{"gzip;q=0.5, identity"}, false},
		{[]string{"gzip;q=0.5, identity;q=0.5"}, true},
		{[]string{"identity;q=0, gzip"}, true},
		{[]string{"identity;q=0"}, false},
		{[]string{"gzip;q=nan"}, false},
		{[]string{"gzip;q=2"}, false},
		{[]string{"gzip;q=-1"}, false},
		{[]string{"gzip;level=9"}, false},
		{[]string{"notgzip, gzipped"}, false},
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": c.header}); got != c.want {
			t.Errorf("%q: %v, want %v", c.header, got, c.want)
		}
	}
}

func FuzzAcceptsGzip(f *testing.F) {
	for _, s := range []string{"", "gzip", "gzip;q=0", "*;q=0.5,identity", ";;==,,", "gzip;q=", "gzip;q=0x1p-2", "\xff;q=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !acceptsGzip(http.Header{"Accept-Encoding": {s}}) {
			return
		}
		if acceptsGzip(http.Header{"Accept-Encoding": {s, "identity", "gzip;q=0"}}) && !acceptsGzip(http.Header{"Accept-Encoding": {s, "identity"}}) {
			t.Errorf("%q: refusing gzip made it wanted", s)
		}
	})
}
