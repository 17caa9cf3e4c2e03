package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// acceptProtobuf asks for what a Prometheus with native histograms takes.
const acceptProtobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

func runScrape(ctx context.Context, args []string, out io.Writer) (err error) {
	fs := flag.NewFlagSet("bench scrape", flag.ContinueOnError)
	var (
		binary  = fs.String("binary", "", "the built ssd_exporter; built anew when left out")
		dir     = fs.String("dir", os.TempDir(), "folder on a disk for the state and the probe files, 256 MiB for each target")
		disks   = fs.Int("disks", 64, "simulated disks, by smartctl reports in files")
		targets = fs.Int("targets", 4, "probed folders")
		scrapes = fs.Int("scrapes", 200, "scrapes of each kind")
		patient = fs.Duration("first-pass", 10*time.Minute, "how long the fill and the first pass may take")
		settle  = fs.Duration("settle", 30*time.Second, "how long the service is left alone before its memory is looked at")
	)
	if err := fs.Parse(args); err != nil {
		return err
	}
	path, done, err := productBinary(ctx, *binary)
	if err != nil {
		return err
	}
	defer done()
	for _, f := range append(machineFacts(), [2]string{"ssd_exporter", firstLine(ctx, path, "--version")}) {
		fmt.Fprintf(out, "%-14s %s\n", f[0], f[1])
	}
	p, err := newFolder(*dir, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s, err := startService(path, p.dir, *disks, *targets)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Fprintf(out, "\n%d simulated disks and %d targets; waiting for the first pass\n", *disks, *targets)
	if err := s.firstPass(ctx, *patient); err != nil {
		return err
	}
	if err := rest(ctx, *settle); err != nil {
		return err
	}
	if err := s.printMemory(out, "idle, after the first pass"); err != nil {
		return err
	}
	if err := s.printScrapes(ctx, out, *scrapes); err != nil {
		return err
	}
	if err := rest(ctx, *settle); err != nil {
		return err
	}
	return s.printMemory(out, "idle, after all scrapes")
}

// kind is a way to scrape.
type kind struct {
	name   string
	accept string
	gzip   bool
	fresh  bool // a new snapshot is published before each scrape
}

func kinds() []kind {
	var all []kind
	for _, fresh := range []bool{false, true} {
		for _, format := range [][2]string{{"text", ""}, {"protobuf", acceptProtobuf}} {
			for _, gzip := range []bool{false, true} {
				words := []string{format[0], map[bool]string{false: "plain", true: "gzip"}[gzip], map[bool]string{false: "same snapshot", true: "new snapshot"}[fresh]}
				all = append(all, kind{strings.Join(words, ", "), format[1], gzip, fresh})
			}
		}
	}
	return all
}

// printScrapes scrapes over one kept connection, as Prometheus does.
func (s *service) printScrapes(ctx context.Context, out io.Writer, n int) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\nscrape\tkB\tmedian\tp99\tlongest\t\n")
	for _, k := range kinds() {
		var took []time.Duration
		var bytes int64
		for range n {
			if k.fresh {
				if err := s.publish(ctx); err != nil {
					return err
				}
			}
			d, size, err := s.scrape(ctx, k)
			if err != nil {
				return fmt.Errorf("scraping (%s): %w", k.name, err)
			}
			took, bytes = append(took, d), size
		}
		slices.Sort(took)
		fmt.Fprintf(tw, "%s\t%.0f\t%.2f ms\t%.2f ms\t%.2f ms\t\n", k.name, float64(bytes)/1e3,
			ms(took[n/2]), ms(took[min(n-1, n*99/100)]), ms(took[n-1]))
	}
	return tw.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// scrape asks for the page once and reads it to the end.
func (s *service) scrape(ctx context.Context, k kind) (took time.Duration, size int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Accept", k.accept)
	req.Header.Set("Accept-Encoding", map[bool]string{false: "identity", true: "gzip"}[k.gzip])
	start := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	size, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return time.Since(start), size, err
}

// publish makes the service publish a new snapshot: it reads its configuration again. The next scrape comes some time
// after, up to a second: Prometheus does not know either when a snapshot is published.
func (s *service) publish(ctx context.Context) error {
	if err := s.reload(); err != nil {
		return err
	}
	return rest(ctx, time.Duration(rand.Int64N(int64(time.Second))))
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
