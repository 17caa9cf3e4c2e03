package smart

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// expectation is one row of the table beside the corpus.
type expectation struct {
	path, protocol, family, confidence, basis string
	wear, host                                string
	bound                                     bool
	vendor                                    string
	pue                                       string
}

// corpusDir finds the corpus of real drive reports, which is not part of the repository, or skips.
func corpusDir(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("SSD_CORPUS_DIR"), "../../shared/corpus"} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "ssd-open.jsonl.gz")); err == nil {
			return dir
		}
	}
	t.Skip("SKIPPED: no corpus of real drive reports here: interpretation is not checked against it. " +
		"Set SSD_CORPUS_DIR to the folder of ssd-open.jsonl.gz and expect-open.tsv to run this test.")
	return ""
}

func loadExpectations(t testing.TB, dir string) map[string]expectation {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "expect-open.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := csv.NewReader(f)
	c.Comma, c.LazyQuotes, c.FieldsPerRecord = '\t', true, -1
	rows, err := c.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := map[string]int{}
	for i, name := range rows[0] {
		col[name] = i
	}
	m := map[string]expectation{}
	for _, r := range rows[1:] {
		get := func(name string) string {
			if i := col[name]; i < len(r) {
				return r[i]
			}
			return ""
		}
		e := expectation{path: get("source_path"), protocol: get("protocol"), family: get("family"), confidence: get("confidence"),
			basis: get("expected_basis"), wear: get("expected_wear_used"), host: get("expected_host_bytes_written"),
			bound: get("bound") == "ge", vendor: get("vendor_wear"), pue: get("pue")}
		m[e.path] = e
	}
	return m
}

// eachReport decodes the corpus once and calls do with every reading and its expectation.
func eachReport(t testing.TB, dir string, do func(*Reading, expectation)) int {
	t.Helper()
	want := loadExpectations(t, dir)
	paths := corpusPaths(t, dir)
	f, err := os.Open(filepath.Join(dir, "ssd-open.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	err = Decode(f, "corpus", func(r *Reading, err error) error {
		if err != nil {
			return err
		}
		e, ok := want[paths[n]]
		if !ok {
			return fmt.Errorf("no expectation for %q", paths[n])
		}
		n++
		do(r, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != len(paths) || n == 0 {
		t.Fatalf("decoded %d of %d reports", n, len(paths))
	}
	return n
}

// corpusPaths reads the keys of the reports in order.
func corpusPaths(t testing.TB, dir string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "ssd-open.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for line := range strings.Lines(string(b)) {
		i := strings.LastIndex(line, `"_source":`)
		if i < 0 {
			t.Fatal("a report without _source")
		}
		var o struct{ Path string }
		if err := json.NewDecoder(strings.NewReader(line[i+len(`"_source":`):])).Decode(&o); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, o.Path)
	}
	return paths
}

// score counts rows, rows with a figure, and rows with the right one.
type score struct{ rows, covered, right int }

func (s *score) add(got *float64, want float64) bool {
	s.rows++
	if got == nil {
		return false
	}
	s.covered++
	if math.Abs(*got-want) > 0.03+1e-9 {
		return false
	}
	s.right++
	return true
}

func (s score) String() string {
	n := max(s.rows, 1)
	return fmt.Sprintf("%5d rows  %6.2f %% covered  %6.2f %% right", s.rows, 100*float64(s.covered)/float64(n), 100*float64(s.right)/float64(n))
}

func (s score) ratio() float64 { return float64(s.right) / float64(max(s.rows, 1)) }

func TestCorpusWearAndHostBytes(t *testing.T) {
	dir := corpusDir(t)
	classes, families := map[string]*score{}, map[string]*score{}
	var host, bounds score
	figures := 0 // on rows that forbid one
	other, otherFigures := 0, 0
	at := func(m map[string]*score, k string) *score {
		if m[k] == nil {
			m[k] = &score{}
		}
		return m[k]
	}
	n := eachReport(t, dir, func(r *Reading, e expectation) {
		h := Interpret(r)
		if e.host != "" {
			w, err := strconv.ParseFloat(e.host, 64)
			if err != nil {
				t.Fatal(err)
			}
			host.rows++
			if h.HostWritten != nil {
				host.covered++
				if g := float64(*h.HostWritten); math.Abs(g-w) <= 0.03*max(g, w) {
					host.right++
				} else if testing.Verbose() {
					t.Logf("host bytes: %s %s: %s, want %s, got %d (%s)", e.path, r.Identity.Firmware, e.family, e.host, *h.HostWritten, h.HostWrittenSource)
				}
			}
		}
		switch e.basis {
		case "none:hdd", "none:no-wear-figure", "none:173-constant-100":
			if h.Wear.Used != nil {
				figures++
				t.Errorf("%s: a wear figure of %v from %s where none may be (%s)", e.path, *h.Wear.Used, h.Wear.Source, e.basis)
			}
			return
		}
		if e.wear == "" {
			other++
			if h.Wear.Used != nil {
				otherFigures++
			}
			return
		}
		w, err := strconv.ParseFloat(e.wear, 64)
		if err != nil {
			t.Fatal(err)
		}
		right := at(classes, e.confidence).add(h.Wear.Used, w)
		at(families, e.family).add(h.Wear.Used, w)
		bounds.rows++
		if h.Wear.LowerBound == e.bound {
			bounds.right++
		} else if testing.Verbose() {
			t.Logf("bound: %s: %s want %v got %v (%+v)", e.path, e.family, e.bound, h.Wear.LowerBound, h.Wear)
		}
		if !right && testing.Verbose() {
			t.Logf("wear: %s %s/%s: %s (%s), class %s, want %s (%s) got %s %+v", e.path, r.Identity.Model, r.Identity.Firmware, e.family, h.Family, e.confidence, e.wear, e.basis, ratioText(h.Wear.Used), h.Wear)
		}
	})
	t.Logf("%d reports", n)
	for _, k := range sortedKeys(classes) {
		t.Logf("class %s     %v", k, *classes[k])
	}
	for _, k := range sortedKeys(families) {
		t.Logf("%-50s %v", k, *families[k])
	}
	t.Logf("host bytes  %v", host)
	t.Logf("lower bound flag right on %d of %d", bounds.right, bounds.rows)
	t.Logf("wear on rows that forbid it: %d; on rows that nobody vouches for: %d of %d", figures, otherFigures, other)
	if a := classes["A"]; a == nil || a.ratio() < 0.997 {
		t.Errorf("class A: %v, want at least 99.7 %% right", a)
	}
	if b := classes["B"]; b == nil || b.ratio() < 0.98 {
		t.Errorf("class B: %v, want at least 98 %% right", b)
	}
	if host.ratio() < 0.99 {
		t.Errorf("host bytes: %v, want at least 99 %% within 3 %%", host)
	}
	if bounds.ratio() < 0.999 {
		t.Errorf("lower bound flag right on %d of %d", bounds.right, bounds.rows)
	}
}

// Blind: without Device Statistics the family rules alone must come to the drive's hidden Percentage Used.
func TestCorpusBlind(t *testing.T) {
	dir := corpusDir(t)
	for _, mode := range []struct {
		name  string
		strip func(*Reading)
		least float64
	}{
		{"device statistics hidden", func(r *Reading) { r.Statistics = nil }, 0.99},
		{"device statistics, drive database and printed forms hidden, as in a native reading", func(r *Reading) {
			r.Statistics, r.DBFamily = nil, ""
			for i := range r.Attributes {
				r.Attributes[i].Name, r.Attributes[i].RawString = "", ""
			}
		}, 0.50},
	} {
		t.Run(mode.name, func(t *testing.T) {
			var a, used score
			hdd := 0
			families := map[string]*score{}
			eachReport(t, dir, func(r *Reading, e expectation) {
				if e.basis == "none:hdd" {
					mode.strip(r)
					if Interpret(r).Wear.Used != nil {
						hdd++
					}
					return
				}
				if r.NVMe != nil || e.vendor == "" || e.confidence != "A" {
					return
				}
				mode.strip(r)
				h := Interpret(r)
				w, err := strconv.ParseFloat(e.pue, 64)
				if err != nil {
					t.Fatal(err)
				}
				if h.Wear.LowerBound {
					return
				}
				if families[e.family] == nil {
					families[e.family] = &score{}
				}
				families[e.family].add(h.Wear.Used, w/100)
				a.add(h.Wear.Used, w/100)
				if w >= 3 {
					used.add(h.Wear.Used, w/100)
				}
			})
			t.Logf("against the hidden Percentage Used: all %v; used 3 %% and more %v", a, used)
			for _, k := range sortedKeys(families) {
				t.Logf("%-50s %v", k, *families[k])
			}
			if hdd > 0 {
				t.Errorf("%d hard disks got a wear figure", hdd)
			}
			if used.ratio() < mode.least {
				t.Errorf("%v, want at least %v", used, mode.least)
			}
		})
	}
}

func ratioText(v *float64) string {
	if v == nil {
		return "none"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
