package smart

// rating is one published endurance.
type rating struct {
	model  string // as the drive says it, trimmed
	tbw    float64
	years  int // warranty term that goes with it
	source string
}

// ratings are published figures. A model must match exactly: capacities and generations of one name differ by factors.
var ratings = []rating{
	{"INTEL SSDSC2BB240G4", 140, 5, "published by Intel for the DC S3500 240 GB: 140 TBW (78.5 GB a day for five years)"},
	{"INTEL SSDSC2BP240G4", 91, 5, "published by Intel for the 730 240 GB: 91 TBW (50 GB a day for five years)"},
	{"INTEL SSDSC2BW240A4", 36.5, 5, "published by Intel for the 530 240 GB: 36.5 TBW (20 GB a day for five years)"},
}

// RatedBytes is the published endurance of a model: bytes that the host may write (TBW, of 10^12 bytes), the years of
// warranty that go with it, and where the figure is from. ok is false when no figure is known.
func RatedBytes(model string) (bytes int64, years int, source string, ok bool) {
	for _, r := range ratings {
		if r.model == model {
			return int64(r.tbw * 1e12), r.years, r.source, true
		}
	}
	return 0, 0, "", false
}
