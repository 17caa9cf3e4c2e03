package main

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart"
)

func healthyDisk(kernel string, used *float64) report {
	return report{source: kernel, reading: &smart.Reading{}, health: &smart.Health{
		Identity: blockdev.Identity{Kernel: kernel, Model: "M"}, Wear: smart.Wear{Used: used, Source: "s"}, Healthy: new(used == nil || *used < 1),
	}}
}

func TestTable_columns_stand_straight_in_colour(t *testing.T) {
	var b strings.Builder
	p := &tablePrinter{w: &b, colour: true}
	for _, r := range []report{healthyDisk("sda", new(0.05)), healthyDisk("sdb", new(1.25)), healthyDisk("sdc", new(0.9)), healthyDisk("sdd", nil)} {
		if err := p.print(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(b.String(), "")
	if plain == b.String() {
		t.Fatal("no colour")
	}
	lines := strings.Split(strings.TrimSpace(plain), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines, want a header and four disks:\n%s", len(lines), plain)
	}
	for _, column := range []string{"WEAR", "FROM", "HEALTH"} {
		at := strings.Index(lines[0], column)
		for _, l := range lines[1:] {
			if cell := l[at:]; l[at-1] != ' ' || cell[0] == ' ' {
				t.Errorf("column %s is not straight:\n%s", column, plain)
			}
		}
	}
	for text, colour := range map[string]string{"5%": green, "125%": red, "90%": yellow, "failing": red} {
		if want := "\x1b[" + colour + "m" + text + "\x1b"; !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in colour %s", text, colour)
		}
	}
}

func TestPercent_has_a_decimal_only_where_it_says_something(t *testing.T) {
	for want, w := range map[string]smart.Wear{
		"0%": {Used: new(0.0)}, "7%": {Used: new(0.07)}, "105%": {Used: new(1.05)}, "12.3%": {Used: new(0.12345)}, "≥255%": {Used: new(2.55), LowerBound: true},
	} {
		if got := percent(w); got != want {
			t.Errorf("%v: %q, want %q", *w.Used, got, want)
		}
	}
}

func TestClean_keeps_a_disk_from_moving_the_cursor(t *testing.T) {
	if got := clean("a\x1b[2Jb\nc\u202ed é"); got != "a [2Jb c d é" || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}

// keys are those of a line in their order: a promise to programs.
const keys = "device_id model firmware family wear host_written_bytes host_read_bytes media_written_bytes write_amplification_ratio power_on_seconds temperature_celsius rotational errors"

func TestLine_has_all_keys_in_order_and_null_for_unknown(t *testing.T) {
	full := healthyDisk("sda", new(0.5))
	full.health.PowerOn = new(90 * time.Second)
	full.health.Wear.Sources = map[string]float64{"s": 0.5, "bad": math.NaN()}
	full.health.WriteAmplification = new(math.Inf(1))
	for name, c := range map[string]struct {
		r    report
		want string
	}{
		"nothing known": {report{err: errors.New("x <y>")}, `{"device_id":null,"model":null,"firmware":null,"family":null,"wear":{"used_ratio":null,"source":null,"sources":{}},"host_written_bytes":null,"host_read_bytes":null,"media_written_bytes":null,"write_amplification_ratio":null,"power_on_seconds":null,"temperature_celsius":null,"rotational":null,"errors":["x <y>"]}`},
		"much known":    {full, `{"device_id":"M","model":"M","firmware":null,"family":null,"wear":{"used_ratio":0.5,"source":"s","sources":{"s":0.5}},"host_written_bytes":null,"host_read_bytes":null,"media_written_bytes":null,"write_amplification_ratio":null,"power_on_seconds":90,"temperature_celsius":null,"rotational":null,"errors":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.want = strings.Replace(c.want, `"device_id":"M"`, `"device_id":"`+string(blockdev.Identity{Kernel: "sda", Model: "M"}.ID())+`"`, 1)
			var b strings.Builder
			p := newJSONLinesPrinter(&b)
			if err := errors.Join(p.print(c.r), p.close()); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(b.String(), "\n"); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if got := topKeys(t, b.String()); got != keys {
				t.Errorf("keys\n got %s\nwant %s", got, keys)
			}
		})
	}
}

func topKeys(t *testing.T, line string) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(line))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var ks []string
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, k.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(ks, " ")
}
