package main

import (
	"fmt"
	"path"
	"strconv"
)

// row is one workload that both sides run.
type row struct {
	name        string
	blockSize   int // bytes
	readPercent int
	sequential  bool
	depth       int
}

// allRows are the workloads of the comparison.
func allRows() []row {
	var rows []row
	for _, depth := range []int{1, 4, 16, 32, 128} {
		rows = append(rows, row{fmt.Sprintf("read_4k_q%d", depth), 4 << 10, 100, false, depth})
	}
	for _, mix := range []int{80, 20} {
		for _, depth := range []int{4, 32} {
			rows = append(rows, row{fmt.Sprintf("mixed%d_4k_q%d", mix, depth), 4 << 10, mix, false, depth})
		}
	}
	return append(rows,
		row{"seqread_1m_q2", 1 << 20, 100, true, 2},
		row{"seqwrite_1m_q2", 1 << 20, 0, true, 2})
}

// chooseRows keeps those whose name matches one of the patterns; all without patterns.
func chooseRows(patterns []string) ([]row, error) {
	if len(patterns) == 0 {
		return allRows(), nil
	}
	var chosen []row
	for _, r := range allRows() {
		for _, p := range patterns {
			ok, err := path.Match(p, r.name)
			if err != nil {
				return nil, fmt.Errorf("-rows: %q: %w", p, err)
			}
			if ok {
				chosen = append(chosen, r)
				break
			}
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-rows: no row matches %q; there are: %v", patterns, rowNames())
	}
	return chosen, nil
}

func rowNames() []string {
	var names []string
	for _, r := range allRows() {
		names = append(names, r.name)
	}
	return names
}

func (r row) writes() bool { return r.readPercent < 100 }

// judgedOp is the direction whose latency is compared: the one with the larger share.
func (r row) judgedOp() string {
	if r.readPercent >= 50 {
		return "read"
	}
	return "write"
}

func (r row) pattern() string {
	if r.sequential {
		return "sequential"
	}
	return "random"
}

// fioMode is the row in fio's words.
func (r row) fioMode() []string {
	mode := map[bool]string{false: "rand", true: ""}[r.sequential]
	switch r.readPercent {
	case 100:
		return []string{"--rw=" + mode + "read"}
	case 0:
		return []string{"--rw=" + mode + "write"}
	}
	return []string{"--rw=" + mode + "rw", "--rwmixread=" + strconv.Itoa(r.readPercent)}
}
