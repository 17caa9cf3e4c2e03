package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"ssd_exporter/test/bench/stats"
)

// comparison is one call of "bench engine".
type comparison struct {
	binary   string
	rows     []row
	pairs    int
	duration time.Duration
	batch    string // auto, off
	out      io.Writer
}

// pair is a turn of each side.
type pair struct{ fio, ours sample }

// results are the pairs of one place by row.
type results struct {
	place   string
	notes   []string
	rows    []row
	pairs   map[string][]pair
	startup map[string]time.Duration // CPU time of starting and doing next to nothing, by side
	batch   map[string]int
}

func runEngine(ctx context.Context, args []string, out io.Writer) (err error) {
	fs := flag.NewFlagSet("bench engine", flag.ContinueOnError)
	var (
		binary   = fs.String("binary", "", "the built ssd_exporter; built anew when left out")
		dirs     list
		patterns list
		pairs    = fs.Int("pairs", 15, "turns of each side per row")
		duration = fs.Duration("duration", time.Second, "length of each turn")
		size     = fs.Int64("file-size", 1<<30, "bytes of the probe file in a folder; a quarter of it in RAM")
		loop     = fs.Bool("loop", os.Geteuid() == 0, "also compare on a loop device over RAM (root)")
		batch    = fs.String("fio-batch", "auto", "auto: fio submits four at once in rows of depth 16 and more where a trial says that it helps; off")
		markdown = fs.String("write", "", "write the report to this Markdown file")
	)
	fs.Var(&dirs, "dir", "folder on a disk to compare on; repeatable; the default is the folder for temporary files")
	fs.Var(&patterns, "rows", "row or pattern such as read_4k_*; repeatable; all when left out")
	if err := fs.Parse(args); err != nil {
		return err
	}
	rows, err := chooseRows(patterns)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("fio"); err != nil {
		return errors.New("fio is not installed; `make test-deps` (Debian, root) brings it")
	}
	if len(dirs) == 0 {
		dirs = list{os.TempDir()}
	}
	c := &comparison{rows: rows, pairs: *pairs, duration: *duration, batch: *batch, out: out}
	var done func()
	if c.binary, done, err = productBinary(ctx, *binary); err != nil {
		return err
	}
	defer done()

	report := newReport(ctx, c)
	report.machine(c.out)
	if s := c.writingTime(); s > 0 {
		fmt.Fprintf(c.out, "\nThe rows that write take %v of each place: at 1 GB/s that is %.0f GB of the disk's endurance. -rows 'read*' -rows 'seqread*' leaves them out.\n", s, s.Seconds())
	}
	for _, dir := range dirs {
		p, err := newFolder(dir, *size)
		if err != nil {
			return err
		}
		if err := c.at(ctx, p, report); err != nil {
			return err
		}
	}
	if *loop {
		p, err := newLoop(ctx, *size/4)
		switch {
		case errors.Is(err, errNoLoop):
			report.skip(c.out, err)
		case err != nil:
			return err
		default:
			if err := c.at(ctx, p, report); err != nil {
				return err
			}
		}
	}
	if *markdown != "" {
		return report.write(*markdown)
	}
	return nil
}

// writingTime is how long both sides together write at one place, as if what a mix writes were written alone.
func (c *comparison) writingTime() time.Duration {
	var seconds float64
	for _, r := range c.rows {
		seconds += float64(100-r.readPercent) / 100 * c.duration.Seconds() * float64(2*c.pairs)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// at compares at one place and closes it.
func (c *comparison) at(ctx context.Context, p *place, r *report) (err error) {
	defer func() { err = errors.Join(err, p.close()) }()
	res, err := c.compare(ctx, p)
	if err != nil {
		return err
	}
	r.add(c.out, res)
	return nil
}

// compare lets both sides take turns. Each round visits all rows, beginning with another one, and in each row the other side
// begins: whatever changes on the machine meets both alike.
func (c *comparison) compare(ctx context.Context, p *place) (*results, error) {
	state, err := os.MkdirTemp("", "ssd_exporter-bench-state-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(state) }() // an empty folder of ours
	ours := &product{program: program{pin: p.pin}, binary: c.binary, dir: p.dir, size: p.size, state: state}
	peer := &fio{program: program{pin: p.pin}, file: ours.file(), size: p.size, batch: map[string]int{}}
	res := &results{
		place: p.name, notes: p.notes, rows: c.rows, pairs: map[string][]pair{}, startup: map[string]time.Duration{}, batch: peer.batch,
	}
	fmt.Fprintf(c.out, "\n%s\n  filling %s, %d bytes\n", p.name, ours.file(), p.size)
	if err := ours.once(ctx, c.rows[0]); err != nil { // makes and fills the file
		return nil, err
	}
	for _, s := range []side{peer, ours} {
		if res.startup[s.name()], err = startup(ctx, s, c.rows[0]); err != nil {
			return nil, err
		}
	}
	if err := c.tryBatches(ctx, peer); err != nil {
		return nil, err
	}
	for round := range c.pairs {
		for i := range c.rows {
			r := c.rows[(i+round)%len(c.rows)]
			pr, err := c.turn(ctx, r, peer, ours, (i+round)%2 == 1, res.startup)
			if err != nil {
				return nil, err
			}
			res.pairs[r.name] = append(res.pairs[r.name], pr)
			fmt.Fprintf(c.out, "  %2d/%d  %s\n", round+1, c.pairs, describe(r, pr))
		}
	}
	return res, nil
}

func (c *comparison) turn(ctx context.Context, r row, peer, ours side, oursFirst bool, startup map[string]time.Duration) (p pair, err error) {
	order := []side{peer, ours}
	if oursFirst {
		order[0], order[1] = order[1], order[0]
	}
	for _, s := range order {
		got, err := s.run(ctx, r, c.duration)
		if err != nil {
			return p, fmt.Errorf("%s: %w", r.name, err)
		}
		if got.ios > 0 {
			got.cpu = max(0, s.spent()-startup[s.name()]) / time.Duration(got.ios)
		}
		if s == peer {
			p.fio = got
		} else {
			p.ours = got
		}
	}
	return p, nil
}

// startup is the CPU time of a side that starts and does next to nothing: the median of five.
func startup(ctx context.Context, s side, r row) (time.Duration, error) {
	var all []float64
	for range 5 {
		if err := s.once(ctx, r); err != nil {
			return 0, err
		}
		all = append(all, float64(s.spent()))
	}
	return time.Duration(stats.Median(all)), nil
}

// tryBatches lets fio submit four I/Os at once in the rows where it is faster that way: three trials of each, the best counts.
func (c *comparison) tryBatches(ctx context.Context, f *fio) error {
	if c.batch == "off" {
		return nil
	}
	const four = 4
	for _, r := range c.rows {
		if r.depth < 16 {
			continue
		}
		best := map[int]float64{}
		for range 3 {
			for _, n := range []int{1, four} {
				f.batch[r.name] = n
				s, err := f.run(ctx, r, c.duration)
				if err != nil {
					return err
				}
				best[n] = max(best[n], s.iops)
			}
		}
		delete(f.batch, r.name)
		if best[four] > best[1] {
			f.batch[r.name] = four
		}
		fmt.Fprintf(c.out, "  fio %s: %.0f IOPS one by one, %.0f by four\n", r.name, best[1], best[four])
	}
	return nil
}

// productBinary is the given binary, or a fresh build of this checkout.
func productBinary(ctx context.Context, given string) (path string, done func(), err error) {
	if given != "" {
		path, err = filepath.Abs(given)
		return path, func() {}, err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", nil, fmt.Errorf("finding the test module: %w; run this in the checkout, or give -binary", err)
	}
	dir, err := os.MkdirTemp("", "ssd_exporter-bench-build-")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // a folder of ours in the temporary one
	path = filepath.Join(dir, "ssd_exporter")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/ssd_exporter")
	cmd.Dir = filepath.Dir(string(out[:len(out)-1]))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		done()
		return "", nil, fmt.Errorf("building ssd_exporter: %w\n%s", err, text)
	}
	return path, done, nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return fmt.Sprint(*l) }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
