package main

import (
	"fmt"
	"os"
	"strings"
)

// write makes the Markdown file.
func (r *report) write(file string) error {
	var b strings.Builder
	b.WriteString(`# Engine benchmarks

Written by ` + "`make bench`" + `; do not edit. fio and ` + "`ssd_exporter probe`" + ` measure in turns, on the same probe file, with the same
block size, mix, depth and time, direct I/O through io_uring at idle I/O priority. fio runs with norandommap, registerfiles and
fixedbufs, and submits four I/Os at once in the rows where a trial said that this helps it. A ratio is ours over fio's in one pair of turns; the table shows
the medians of the ratios, and what the true median of the IOPS ratio lies above with 90 % confidence (sign test). CPU is the
user and system time of the whole process with its children and kernel workers, less that of a start that does next to nothing.
"Self-told" is what both programs say themselves; fio's leaves out kernel workers. Latencies are those of the direction
with the larger share. Absolute figures are of the machine below and of no other.

`)
	b.WriteString("| | |\n|---|---|\n")
	for _, f := range r.facts {
		fmt.Fprintf(&b, "| %s | %s |\n", f[0], f[1])
	}
	for _, res := range r.results {
		fmt.Fprintf(&b, "\n## %s\n\n", res.place)
		for _, n := range res.notes {
			fmt.Fprintf(&b, "%s\n\n", n)
		}
		line(&b, summaryHeader())
		b.WriteString(strings.Repeat("|---", len(summaryHeader())) + "|\n")
		for _, s := range res.summaries() {
			line(&b, s.cells())
		}
		fmt.Fprintf(&b, "\n%s\n", res.total())
	}
	for _, s := range r.skipped {
		fmt.Fprintf(&b, "\nSkipped: %s.\n", s)
	}
	b.WriteString("\n## Every pair\n")
	for _, res := range r.results {
		fmt.Fprintf(&b, "\n### %s\n\n", res.place)
		header := []string{"row", "pair", "fio IOPS", "our IOPS", "fio CPU/IO", "our CPU/IO", "fio p50", "our p50", "fio p99", "our p99", "our verdict"}
		line(&b, header)
		b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
		for _, r := range res.rows {
			for i, p := range res.pairs[r.name] {
				line(&b, pairCells(r, i, p))
			}
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func pairCells(r row, i int, p pair) []string {
	verdict := "valid"
	if p.ours.invalid != "" {
		verdict = p.ours.invalid
	}
	return []string{
		r.name, fmt.Sprint(i + 1), fmt.Sprintf("%.0f", p.fio.iops), fmt.Sprintf("%.0f", p.ours.iops), micro(p.fio.cpu), micro(p.ours.cpu),
		micro(p.fio.p50), micro(p.ours.p50), micro(p.fio.p99), micro(p.ours.p99), verdict,
	}
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
