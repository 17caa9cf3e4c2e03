package config

import (
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func TestBytes_are_read_and_written_exactly(t *testing.T) {
	for text, want := range map[string]struct {
		n    Bytes
		back string
	}{
		"1GiB": {1 << 30, "1GiB"}, "1Gi": {1 << 30, "1GiB"}, "1024MiB": {1 << 30, "1GiB"}, "0.5GiB": {1 << 29, "512MiB"},
		"2GB": {2e9, "2GB"}, "1.5 GB": {15e8, "1500MB"}, "512MB": {512e6, "512MB"}, "1kB": {1000, "1kB"}, "1KB": {1000, "1kB"},
		"1000MiB": {1000 << 20, "1000MiB"}, "1B": {1, "1B"}, "7EiB": {7 << 60, "7EiB"}, "1001B": {1001, "1001B"},
	} {
		var b Bytes
		if err := yaml.Unmarshal([]byte(text), &b); err != nil || b != want.n || b.String() != want.back {
			t.Errorf("%q: %d %q, %v; want %d %q", text, b, b, err, want.n, want.back)
		}
	}
}

func TestBytes_refuse_nonsense(t *testing.T) {
	for _, text := range []string{"1G", "1073741824", "GiB", "1 2 GiB", "1,000GB", "-1GB", "0GB", "0.0000000001GB", "1e3GB", "8EiB", "99999EB", "1GiBB", "0x10GB", "١GB", ".5GB"} {
		var b Bytes
		if err := yaml.Unmarshal([]byte(text), &b); err == nil {
			t.Errorf("%q was read as %d", text, b)
		}
	}
}

func TestSchedule_longest_gap(t *testing.T) {
	const day = 24 * time.Hour
	for spec, want := range map[string]time.Duration{
		"* * * * *": time.Minute, "*/15 * * * *": 15 * time.Minute, "@every 15m": 15 * time.Minute, "@every 1s": time.Second,
		"@hourly": time.Hour, "@daily": day, "@weekly": 7 * day, "@monthly": 31 * day, "@yearly": 366 * day,
		"0,10 * * * *": 50 * time.Minute, "0 9-17 * * *": 16 * time.Hour, "0 9 * * mon-fri": 3 * day, "30 3,4 1 * *": 31*day - time.Hour,
		"0 0 29 2 *": 1461 * day, "*/7 * * * *": 7 * time.Minute, "0 0 31 * *": 61 * day,
	} {
		s, err := ParseSchedule(spec)
		if err != nil || s.Gap() != want {
			t.Errorf("%q: longest gap %v, %v; want %v", spec, s.Gap(), err, want)
		}
	}
}

func TestSchedule_is_in_UTC_wherever_the_host_is(t *testing.T) {
	s, err := ParseSchedule("30 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	east := time.FixedZone("east", 5*3600)
	got := s.Cron().Next(time.Date(2026, 3, 29, 9, 0, 0, 0, east)) // 04:00 UTC
	if want := time.Date(2026, 3, 30, 2, 30, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("next time %v, want %v", got.UTC(), want)
	}
}

func TestSchedule_every_counts_from_the_epoch(t *testing.T) {
	s, err := ParseSchedule("@every 7m")
	if err != nil {
		t.Fatal(err)
	}
	if s.Cron() == nil {
		t.Fatal("no schedule")
	}
	got := s.Cron().Next(time.Unix(1_000_000_000, 5))
	if got.Unix()%420 != 0 || got.Unix() <= 1_000_000_000 || got.Unix() > 1_000_000_420 {
		t.Errorf("next time %v is not the next multiple of 7 minutes", got)
	}
}
