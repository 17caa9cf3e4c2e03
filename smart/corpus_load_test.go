package smart

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
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
		e := expectation{
			path: get("source_path"), protocol: get("protocol"), family: get("family"), confidence: get("confidence"),
			basis: get("expected_basis"), wear: get("expected_wear_used"), host: get("expected_host_bytes_written"),
			nand: get("expected_nand_bytes_written"), bound: get("bound") == "ge",
		}
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
