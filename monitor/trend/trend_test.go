package trend

import (
	"math"
	"testing"
)

func learned(xs ...float64) Baseline {
	var b Baseline
	for _, x := range xs {
		b.Learn(x)
	}
	return b
}

func repeat(x float64, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = x
	}
	return s
}

func TestNothingIsComparedBeforeEightRuns(t *testing.T) {
	b := learned(repeat(2, MinRuns-1)...)
	if _, ok := b.Centre(); ok {
		t.Error("7 runs gave a centre")
	}
	if _, ok := b.Degradation(4); ok {
		t.Error("7 runs gave a degradation")
	}
	b.Learn(2)
	if c, ok := b.Centre(); !ok || c != 2 {
		t.Errorf("8 runs: centre %v %v, want 2", c, ok)
	}
}

func TestDegradation(t *testing.T) {
	b := learned(repeat(100e-6, MinRuns)...)
	for name, c := range map[string]struct{ x, want float64 }{
		"as ever":       {100e-6, 0},
		"twice as slow": {200e-6, 1},
		"faster":        {50e-6, -0.5},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := b.Degradation(c.x); !ok || math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v %v, want %v", got, ok, c.want)
			}
		})
	}
}

func TestTailDegradation(t *testing.T) {
	for share, want := range map[float64]float64{0: -1, 0.005: -0.5, 0.01: 0, 0.02: 1, 1: 99} {
		if got := TailDegradation(share); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v of all: %v, want %v", share, got, want)
		}
	}
}

func TestCentreIsTheMedianOfUnsortedSamples(t *testing.T) {
	odd := learned(9, 1, 8, 2, 7, 3, 6, 4, 5)
	if c, _ := odd.Centre(); c != 5 {
		t.Errorf("odd: %v, want 5", c)
	}
	even := learned(8, 1, 7, 2, 6, 3, 5, 4)
	if c, _ := even.Centre(); c != 4.5 {
		t.Errorf("even: %v, want 4.5", c)
	}
	if odd.Samples[0] != 9 {
		t.Error("Centre sorted the samples in place: their order is the order of the runs")
	}
}

func TestOneSlowRunDoesNotMoveTheCentre(t *testing.T) {
	b := learned(append(repeat(1, 15), 1000)...)
	if c, _ := b.Centre(); c != 1 {
		t.Errorf("centre %v, want 1", c)
	}
}

func TestLearningEnds(t *testing.T) {
	b := learned(repeat(1, LearnRuns)...)
	if b.Learn(5) || b.Runs() != LearnRuns {
		t.Errorf("run %d moved a finished baseline", LearnRuns+1)
	}
}

func TestWhatIsNoMeasurementIsRefused(t *testing.T) {
	for name, x := range map[string]float64{"zero": 0, "negative": -1, "NaN": math.NaN(), "infinite": math.Inf(1), "-infinite": math.Inf(-1)} {
		t.Run(name, func(t *testing.T) {
			var b Baseline
			if b.Learn(x) {
				t.Error("learned")
			}
			if _, ok := learned(repeat(1, 8)...).Degradation(x); ok {
				t.Error("compared")
			}
		})
	}
}

func TestCopiesDoNotSeeLaterSamples(t *testing.T) {
	b := learned(repeat(1, 20)...)
	c, d := b, b
	c.Learn(2)
	d.Learn(3)
	if c.Samples[20] != 2 || d.Samples[20] != 3 || b.Runs() != 20 {
		t.Errorf("copies share storage: %v %v %v", c.Samples[20], d.Samples[20], b.Runs())
	}
}
