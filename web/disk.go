package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor"
	"ssd_exporter/smart"
)

// diskCard is one disk on the page.
type diskCard struct {
	Name, ID string
	Wear     *wear
	Facts    []fact
	Problems []problem
	Cost     []fact // what this program wrote to it
}

// wear is the meter of a disk's life.
type wear struct {
	Used    float64 // at most 1, for the bar
	Text    string
	Source  string
	Caution string
}

func newDiskCard(d *monitor.DiskState, now time.Time) diskCard {
	c := diskCard{Name: diskName(d), ID: string(d.ID), Problems: diskProblems(d, now), Cost: cost(d)}
	c.add("Device", d.Identity.Kernel)
	c.add("Serial number", d.Identity.Serial)
	c.add("Firmware", d.Identity.Firmware)
	c.add("Transport", d.Identity.Transport)
	switch {
	case d.Kernel != nil && d.Kernel.Capacity > 0:
		c.add("Capacity", size(d.Kernel.Capacity))
	case d.Health != nil && d.Health.Capacity > 0:
		c.add("Capacity", size(d.Health.Capacity))
	}
	if d.Health != nil {
		c.health(d.Health, d.Rated)
	}
	switch {
	case d.Smart.Asleep:
		c.add("Power", "asleep; it is not woken")
	case d.Smart.Idle:
		c.add("Power", "idle; it is not read, so that it may fall asleep")
	}
	if !d.Smart.LastRead.IsZero() {
		c.add("Health read", when(d.Smart.LastRead, now)+from(d.Smart.Source))
	}
	return c
}

func (c *diskCard) add(name, value string) {
	if value != "" {
		c.Facts = append(c.Facts, fact{Name: name, Value: value})
	}
}

func (c *diskCard) health(h *smart.Health, rated *monitor.Rating) {
	if w := h.Wear; w.Used != nil {
		c.Wear = &wear{Used: min(1, max(0, *w.Used)), Text: percent(*w.Used) + " of its rated life used", Source: sourceWords(w.Source), Caution: w.Note}
		if w.LowerBound {
			c.Wear.Text = "at least " + c.Wear.Text
		}
	}
	c.add("Family", h.Family)
	if h.HostWritten != nil {
		text := size(*h.HostWritten)
		if rated != nil && rated.Bytes > 0 {
			text += fmt.Sprintf(" (%s of the %s it is rated for)", percent(float64(*h.HostWritten)/float64(rated.Bytes)), size(rated.Bytes))
		}
		c.add("Written by hosts", text)
	}
	if h.HostRead != nil {
		c.add("Read by hosts", size(*h.HostRead))
	}
	if h.MediaWritten != nil {
		c.add("Written to flash", size(*h.MediaWritten))
	}
	if h.WriteAmplification != nil {
		c.add("Write amplification", fmt.Sprintf("%.2f", *h.WriteAmplification))
	}
	if h.SpareAvailable != nil {
		c.add("Spare blocks left", percent(*h.SpareAvailable))
	}
	c.add("Temperature", temperatures(h))
	if h.PowerOn != nil {
		c.add("Powered on for", span(*h.PowerOn))
	}
}

// temperatures are all sensors, the main one first: "41 °C (1: 44 °C)".
func temperatures(h *smart.Health) string {
	var others []string
	for _, sensor := range slices.Sorted(maps.Keys(h.Temperatures)) {
		if sensor != "composite" {
			others = append(others, fmt.Sprintf("%s: %.0f °C", sensor, h.Temperatures[sensor]))
		}
	}
	composite, known := h.Temperatures["composite"]
	switch text := fmt.Sprintf("%.0f °C", composite); {
	case !known:
		return strings.Join(others, ", ")
	case len(others) == 0:
		return text
	default:
		return text + " (" + strings.Join(others, ", ") + ")"
	}
}

// diskProblems are what a person should know, the worst first.
func diskProblems(d *monitor.DiskState, now time.Time) []problem {
	var bad, hints []problem
	complain := func(format string, args ...any) {
		bad = append(bad, problem{Bad: true, Text: fmt.Sprintf(format, args...)})
	}
	hint := func(text string) { hints = append(hints, problem{Text: text}) }
	if h := d.Health; h != nil {
		if h.Healthy != nil && !*h.Healthy {
			complain("The disk says of itself that it is failing. Save its data and replace it.")
		}
		for _, kind := range slices.Sorted(maps.Keys(h.Critical)) {
			if h.Critical[kind] {
				complain("%s", warningWords(kind))
			}
		}
		if h.Wear.Used != nil && *h.Wear.Used >= 1 {
			complain("Its rated life is used up. Many disks go on for long, but none promises to.")
		}
		if h.SpareAvailable != nil && h.SpareThreshold != nil && *h.SpareAvailable < *h.SpareThreshold {
			complain("Only %s of its spare blocks are left; its own limit is %s.", percent(*h.SpareAvailable), percent(*h.SpareThreshold))
		}
		if t, ok := h.Temperatures["composite"]; ok {
			if limit, ok := h.TemperatureLimits["warning"]; ok && t >= limit {
				complain("It is at %.0f °C; its own limit is %.0f °C.", t, limit)
			}
		}
		if h.PendingSectors != nil && *h.PendingSectors > 0 {
			complain("%s cannot be read.", some(int(*h.PendingSectors), "sector"))
		}
		for _, e := range h.Errors {
			hint("Not understood: " + e)
		}
		if h.Wear.Used == nil && (h.Rotational == nil || !*h.Rotational) {
			hint("Its wear is unknown" + because(h.Wear.Note) + ".")
		}
	}
	switch {
	case d.Smart.Problem != "":
		hints = append([]problem{{Bad: d.Smart.Reason != smart.Unsupported, Text: d.Smart.Problem}}, hints...)
	case !d.Smart.Polled && d.Health == nil:
		hint("Its health has not been read yet.")
	}
	return append(bad, hints...)
}

// cost is what this program wrote to the disk, and may still write.
func cost(d *monitor.DiskState) []fact {
	var facts []fact
	words := map[ledger.Purpose]string{ledger.Probe: "by probes", ledger.Fill: "to fill probe files", ledger.Sweep: "by sweeps"}
	for _, p := range ledger.Purposes() {
		if n := d.Written[p]; n > 0 {
			facts = append(facts, fact{Name: "Written " + words[p], Value: size(n)})
		}
	}
	if d.Budget != nil {
		facts = append(facts, fact{Name: "Allowance for probes", Value: allowance(d.Budget)})
	}
	return facts
}

// allowance is told as a level and a rate, since it fills up evenly: "55 MB of 1.4 GB a day left" would say that the rest was
// written today.
func allowance(b *ledger.Account) string {
	if b.PerDay == 0 {
		return "no writing at all"
	}
	return size(b.Remaining) + " now, and " + size(b.PerDay) + " a day"
}

func diskName(d *monitor.DiskState) string {
	switch {
	case d.Identity.Model != "":
		return d.Identity.Model
	case d.Identity.Kernel != "":
		return d.Identity.Kernel
	default:
		return string(d.ID)
	}
}

// warningWords says what a critical warning means, by the keys of smart.Health.Critical.
func warningWords(kind string) string {
	switch kind {
	case "spare":
		return "The disk warns that it runs out of spare blocks."
	case "temperature":
		return "The disk warns of its temperature."
	case "reliability":
		return "The disk warns that it is no longer reliable: media errors, or more wear than it was rated for."
	case "read_only":
		return "The disk has become read-only."
	case "volatile_backup":
		return "The disk warns that it would lose cached data in a power cut."
	case "pmr":
		return "The disk warns that its persistent memory region is unreliable or read-only."
	default:
		return "The disk warns: " + kind + "."
	}
}

// sourceWords names a source of wear for people: "attribute 173", "device statistics".
func sourceWords(source string) string {
	return strings.ReplaceAll(strings.TrimPrefix(source, "ata_"), "_", " ")
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return ", from " + source
}

func because(note string) string {
	if note = strings.TrimRight(strings.TrimSpace(note), "."); note != "" {
		return ": " + note
	}
	return ""
}
