package web

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// size is a number of bytes in words, decimal as disks are sold: "2.0 TB".
func size[N int64 | uint64](n N) string {
	if n < 0 {
		return "-" + humanize.Bytes(uint64(-n))
	}
	return humanize.Bytes(uint64(n))
}

// binarySize is a number of bytes in words, binary as files are made: "1.0 GiB".
func binarySize(n int64) string {
	if n < 0 {
		return "-" + humanize.IBytes(uint64(-n))
	}
	return humanize.IBytes(uint64(n))
}

// latency is a short time with three digits or so: "83.2 µs".
func latency(d time.Duration) string { return humanize.SIWithDigits(d.Seconds(), 1, "s") }

// span is a long time in its largest fitting unit: "3.4 years".
func span(d time.Duration) string {
	const day, year = 24 * time.Hour, 8766 * time.Hour
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 2*day:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d < 2*year:
		return fmt.Sprintf("%.0f days", float64(d)/float64(day))
	default:
		return fmt.Sprintf("%.1f years", float64(d)/float64(year))
	}
}

// when is a moment as seen from now: "3 minutes ago", "2 hours from now"; "" for the zero time.
func when(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return humanize.RelTime(t, now, "ago", "from now")
}

// percent is a ratio in percent with at most one decimal: "12.5 %".
func percent(ratio float64) string {
	p := math.Round(ratio*1000) / 10
	if p == 0 {
		p = 0 // and not -0
	}
	return strconv.FormatFloat(p, 'f', -1, 64) + " %"
}

// change is a degradation ratio with its sign: "+3.2 %".
func change(ratio float64) string {
	if math.Round(ratio*1000) > 0 {
		return "+" + percent(ratio)
	}
	return percent(ratio)
}

// rate is a number of I/Os per second.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return strconv.FormatFloat(math.Round(perSecond*10)/10, 'f', -1, 64)
	}
	return humanize.Comma(int64(math.Round(perSecond)))
}

func throughput(bytesPerSecond float64) string {
	return humanize.Bytes(uint64(max(0, bytesPerSecond))) + "/s"
}

// some is "1 disk", "2 disks".
func some(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
