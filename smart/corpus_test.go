package smart

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
