package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var located = regexp.MustCompile(`^fuzz\.yml:[1-9][0-9]*: .`)

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add(Default().YAML())
	files, err := filepath.Glob("testdata/bad-*.yml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse("fuzz.yml", b)
		if err != nil {
			if !located.MatchString(err.Error()) || strings.Contains(err.Error(), "reflect") {
				t.Fatalf("error without file and line: %q", err)
			}
			return
		}
		again, err := Parse("again.yml", c.YAML())
		if err != nil {
			t.Fatalf("%v\n%s", err, c.YAML())
		}
		if d := cmp.Diff(c, again); d != "" {
			t.Fatalf("changed on the way (-first +second):\n%s", d)
		}
	})
}

func FuzzParseSchedule(f *testing.F) {
	for _, s := range []string{"*/15 * * * *", "@every 15m", "@hourly", "0 0 29 2 *", "TZ=", "CRON_TZ=UTC 0 0 * * *", "*-5 * * * *", ", * * * *", "@every 1y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := ParseSchedule(spec)
		if err != nil {
			return
		}
		if s.Gap() <= 0 {
			t.Fatalf("%q: gap %v", spec, s.Gap())
		}
		again, err := ParseSchedule(s.String())
		if err != nil || !again.Equal(s) || again.Gap() != s.Gap() {
			t.Fatalf("%q became %q: %v", spec, s, err)
		}
	})
}
