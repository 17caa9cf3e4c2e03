package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/monitor"
)

func TestQuietPeriod_has_one_spelling(t *testing.T) {
	for text, want := range map[string]QuietPeriod{
		"22:00-06:00": "22:00-06:00", " 22:00-06:00 ": "22:00-06:00", "sat 00:00-24:00": "Sat 00:00-24:00",
		"MON-fri  08:00-18:00": "Mon-Fri 08:00-18:00", "Sat-Sat 01:00-02:00": "Sat 01:00-02:00", "23:59-00:00": "23:59-00:00",
	} {
		if got, err := ParseQuietPeriod(text); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "22-06", "22:00", "22:00-", "22:60-23:00", "24:00-06:00", "00:00-24:01", "1:00-2:00", "Montag 01:00-02:00", "Mon- 01:00-02:00",
		"Mon,Tue 01:00-02:00", "Mon-Tue", "22:00–06:00", "22:00-06:00 UTC", "*", "00:00-00:00", "+1:00-02:00",
	} {
		if got, err := ParseQuietPeriod(text); err == nil {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

func TestQuietPeriod_periods_of_the_week(t *testing.T) {
	on := func(day int, begin, end time.Duration) monitor.QuietPeriod {
		midnight := time.Duration(day) * 24 * time.Hour
		return monitor.QuietPeriod{Begin: midnight + begin, End: midnight + end}
	}
	for text, want := range map[QuietPeriod]monitor.Quiet{
		"Mon 08:30-09:00":     {on(0, 8*time.Hour+30*time.Minute, 9*time.Hour)},
		"Sun 22:00-06:00":     {on(6, 22*time.Hour, 30*time.Hour)},
		"Sat 00:00-24:00":     {on(5, 0, 24*time.Hour)},
		"Sat-Mon 01:00-02:00": {on(5, time.Hour, 2*time.Hour), on(6, time.Hour, 2*time.Hour), on(0, time.Hour, 2*time.Hour)},
	} {
		if d := cmp.Diff(want, text.periods()); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
	if n := len(QuietPeriod("22:00-06:00").periods()); n != 7 {
		t.Errorf("every night is %d times a week", n)
	}
}

func TestOptions_carry_quiet_hours(t *testing.T) {
	c, err := Parse("full.yml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options("/var/lib/ssd")
	if err != nil {
		t.Fatal(err)
	}
	if free := o.Quiet.Free(); len(o.Quiet) != 9 || free != 16*time.Hour {
		t.Errorf("%d periods, %v free: %v", len(o.Quiet), free, o.Quiet)
	}
}

func FuzzParseQuietPeriod(f *testing.F) {
	for _, s := range []string{"22:00-06:00", "Sat 00:00-24:00", "Mon-Fri 08:00-18:00", "sun-mon 23:59-00:00", "24:00-24:00", "Sam 00:00-01:00", "-", "00:00-00:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuietPeriod(s)
		if err != nil {
			return
		}
		again, err := ParseQuietPeriod(string(q))
		if err != nil || again != q {
			t.Fatalf("%q became %q, then %q: %v", s, q, again, err)
		}
		periods := q.periods()
		if len(periods) == 0 {
			t.Fatalf("%q means nothing", q)
		}
		for _, p := range periods {
			if p.Begin < 0 || p.Begin >= 7*24*time.Hour || p.End <= p.Begin || p.End > p.Begin+24*time.Hour {
				t.Fatalf("%q is %+v", q, p)
			}
		}
	})
}
