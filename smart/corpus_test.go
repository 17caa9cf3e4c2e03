package smart

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expectation is one row of the table beside the corpus.
type expectation struct {
	path, protocol, family, confidence, basis string
	wear, host, nand                          string
	bound                                     bool
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
	defer func() { _ = f.Close() }()
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
			nand: get("expected_nand_bytes_written"), bound: get("bound") == "ge"}
		m[e.path] = e
	}
	return m
}

// sample is a report of the corpus and what to make of it.
type sample struct {
	*Reading
	expectation
}

// loadCorpus decodes the corpus on all processors, so that the race detector sees whether Decode shares anything.
func loadCorpus(t testing.TB, dir string) []sample {
	t.Helper()
	want := loadExpectations(t, dir)
	lines := corpusLines(t, dir)
	list := make([]sample, len(lines))
	var wg sync.WaitGroup
	step := len(lines)/runtime.GOMAXPROCS(0) + 1
	for from := 0; from < len(lines); from += step {
		wg.Go(func() {
			next, to := from, min(from+step, len(lines))
			err := Decode(strings.NewReader(strings.Join(lines[from:to], "")), "corpus", func(r *Reading, err error) error {
				if err != nil {
					return err
				}
				path := sourcePath(lines[next])
				e, ok := want[path]
				if !ok {
					return fmt.Errorf("no expectation for %q", path)
				}
				list[next] = sample{r, e}
				next++
				return nil
			})
			if err != nil || next != to {
				t.Errorf("decoded up to report %d of %d: %v", next, to, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return list
}

func corpusLines(t testing.TB, dir string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "ssd-open.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	n := 0
	for line := range strings.Lines(string(b)) {
		if n%corpusStep == 0 {
			lines = append(lines, line)
		}
		n++
	}
	if len(lines) == 0 {
		t.Fatal("an empty corpus")
	}
	if corpusStep > 1 {
		t.Logf("PARTLY SKIPPED: the race detector is on, so only every %dth of %d reports is checked; without -race all are.", corpusStep, n)
	}
	return lines
}

// sourcePath is the key of a report: the path in its last member, _source.
func sourcePath(line string) string {
	var o struct{ Path string }
	i := strings.LastIndex(line, `"_source":`)
	if i < 0 || json.NewDecoder(strings.NewReader(line[i+len(`"_source":`):])).Decode(&o) != nil {
		return ""
	}
	return o.Path
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

// TestCorpus holds Interpret against real drives. It prints coverage and correctness by class of confidence and by family.
func TestCorpus(t *testing.T) {
	list := loadCorpus(t, corpusDir(t))
	t.Logf("%d reports", len(list))
	t.Run("wear", func(t *testing.T) { corpusWear(t, list) })
	t.Run("no wear where none is known", func(t *testing.T) { corpusSilence(t, list) })
	t.Run("host bytes", func(t *testing.T) { corpusHostBytes(t, list) })
	t.Run("round trip through Encode", func(t *testing.T) { corpusRoundTrip(t, list) })
	t.Run("blind: the family rules alone find the hidden Percentage Used", func(t *testing.T) {
		corpusStripped(t, list, 0.999, func(s sample) bool { return s.confidence == "A" }, func(r *Reading) { r.Statistics = nil })
	})
	t.Run("native: no drive database, no names, no printed forms", func(t *testing.T) {
		corpusStripped(t, list, 0.99, func(s sample) bool { return s.confidence == "A" || s.confidence == "B" }, forgetSmartctl)
	})
	t.Run("native and blind", func(t *testing.T) {
		corpusStripped(t, list, 0.95, func(s sample) bool { return s.confidence == "A" }, func(r *Reading) {
			r.Statistics = nil
			forgetSmartctl(r)
		})
	})
}

// forgetSmartctl leaves what a native reading holds.
func forgetSmartctl(r *Reading) {
	r.DBFamily = ""
	for i := range r.Attributes {
		r.Attributes[i].Name, r.Attributes[i].RawString = "", ""
	}
}

func corpusWear(t *testing.T, list []sample) {
	classes, families := map[string]*score{}, map[string]*score{}
	bounds, strangers := 0, map[string]int{}
	for _, s := range list {
		if s.wear == "" {
			continue
		}
		want := parse(t, s.wear)
		h := Interpret(s.Reading)
		if s.family != familyUnknown && h.Family != s.family {
			strangers[s.family+" taken for "+h.Family+": "+s.Identity.Model]++
		}
		at(families, s.family).add(h.Wear.Used, want)
		if !at(classes, s.confidence).add(h.Wear.Used, want) {
			t.Logf("%s (%s): %s by %s, got %s from %q (family %s)", s.path, s.Identity.Firmware, s.wear, s.basis, ratioText(h.Wear.Used), h.Wear.Source, h.Family)
		}
		if h.Wear.LowerBound != s.bound {
			bounds++
			t.Logf("%s: lower bound %v, want %v: %+v", s.path, h.Wear.LowerBound, s.bound, h.Wear)
		}
	}
	logScores(t, "class ", classes)
	logScores(t, "", families)
	t.Logf("lower bound flag wrong on %d", bounds)
	for class, least := range map[string]float64{"A": 0.997, "B": 0.98} {
		if s := at(classes, class); s.ratio() < least {
			t.Errorf("class %s: %v, want at least %v right", class, s, least)
		}
	}
	if bounds > len(list)/1000 {
		t.Errorf("lower bound flag wrong on %d of %d", bounds, len(list))
	}
	if len(strangers) > 0 {
		t.Errorf("drives in the wrong family: %v", strangers)
	}
}

func corpusSilence(t *testing.T, list []sample) {
	forbidden, other, figures := 0, 0, 0
	for _, s := range list {
		if s.wear != "" {
			continue
		}
		h := Interpret(s.Reading)
		switch s.basis {
		case "none:hdd", "none:no-wear-figure", "none:173-constant-100":
			forbidden++
			if h.Wear.Used != nil {
				t.Errorf("%s: a wear figure of %v from %s where none may be (%s)", s.path, *h.Wear.Used, h.Wear.Source, s.basis)
			}
		default:
			other++
			if h.Wear.Used != nil {
				figures++
			}
		}
	}
	t.Logf("%d rows forbid a figure; of %d that nobody vouches for, %d got one", forbidden, other, figures)
	if forbidden == 0 {
		t.Error("the corpus has no row that forbids a figure")
	}
	if figures > other/20 {
		t.Errorf("%d of %d SSDs without a vouched figure got one", figures, other)
	}
}

func corpusHostBytes(t *testing.T, list []sample) {
	var all, nand score
	for _, s := range list {
		h := Interpret(s.Reading)
		count := func(c *score, want string, got *uint64) bool {
			if want == "" {
				return true
			}
			c.rows++
			if got == nil {
				return false
			}
			c.covered++
			w, g := parse(t, want), float64(*got)
			if math.Abs(g-w) > 0.03*max(g, w) {
				return false
			}
			c.right++
			return true
		}
		if !count(&all, s.host, h.HostWritten) {
			t.Logf("%s (%s): want %s, got %v (%s)", s.path, s.Identity.Firmware, s.host, h.HostWritten, h.HostWrittenSource)
		}
		count(&nand, s.nand, h.MediaWritten)
	}
	t.Logf("host bytes %v", all)
	t.Logf("media bytes %v", nand)
	if all.ratio() < 0.99 {
		t.Errorf("host bytes: %v, want at least 99 %% within 3 %%", all)
	}
	if nand.ratio() < 0.98 {
		t.Errorf("media bytes: %v, want at least 98 %% within 3 %%", nand)
	}
}

func corpusRoundTrip(t *testing.T, list []sample) {
	var b bytes.Buffer
	var kept []*Reading
	for i, s := range list {
		if corpusStep > 1 || i%7 == 0 { // enough of them
			kept = append(kept, s.Reading)
			if err := Encode(&b, s.Reading); err != nil {
				t.Fatal(err)
			}
		}
	}
	i := 0
	err := Decode(&b, "corpus", func(r *Reading, err error) error {
		if err != nil {
			return err
		}
		if d := cmp.Diff(kept[i], r); d != "" {
			return fmt.Errorf("report %d: %s", i, d)
		}
		i++
		return nil
	})
	if err != nil || i != len(kept) {
		t.Fatalf("%d of %d came back: %v", i, len(kept), err)
	}
}

// corpusStripped hides parts of the readings and expects the same wear.
func corpusStripped(t *testing.T, list []sample, least float64, take func(sample) bool, strip func(*Reading)) {
	var all, used score
	families := map[string]*score{}
	for _, s := range list {
		if s.NVMe != nil || s.wear == "" && s.basis != "none:hdd" {
			continue
		}
		r := *s.Reading
		r.Attributes = slices.Clone(r.Attributes)
		strip(&r)
		h := Interpret(&r)
		if s.wear == "" {
			if h.Wear.Used != nil {
				t.Errorf("%s: a hard disk got a wear figure of %v", s.path, *h.Wear.Used)
			}
			continue
		}
		if !take(s) || h.Wear.LowerBound && !s.bound {
			continue // at its floor the attribute cannot know
		}
		want := parse(t, s.wear)
		all.add(h.Wear.Used, want)
		at(families, s.family).add(h.Wear.Used, want)
		if want >= 0.03 {
			used.add(h.Wear.Used, want)
		}
	}
	t.Logf("all %v; used 3 %% and more %v", all, used)
	logScores(t, "", families)
	if all.ratio() < least {
		t.Errorf("%v, want at least %v", all, least)
	}
}

func at(m map[string]*score, k string) *score {
	if m[k] == nil {
		m[k] = &score{}
	}
	return m[k]
}

func logScores(t *testing.T, prefix string, m map[string]*score) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		t.Logf("%-50s %v", prefix+k, m[k])
	}
}

func parse(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ratioText(v *float64) string {
	if v == nil {
		return "none"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
