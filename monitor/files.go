package monitor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// Bounds on smart.files: more is somebody's mistake, and must not become memory.
const (
	fileMost  = 16 << 20 // bytes of one file
	filesMost = 4096     // files altogether
	clockSlip = time.Hour
)

// fileReport is one report of one file, or why there is none.
type fileReport struct {
	path   string
	health *smart.Health
	asleep bool
	at     time.Time // when the disk was read
	err    error
}

// pollFiles reads smart.files again, apart from everything else: the folder may lie on a file system that hangs.
func (m *Monitor) pollFiles(ctx context.Context, o Options) {
	if m.filesBusy.Swap(true) {
		return
	}
	done := make(chan []fileReport, 1)
	go func() {
		defer m.filesBusy.Store(false)
		done <- readReports(o.Smart.Files)
	}()
	t := time.NewTimer(o.Smart.Timeout)
	defer t.Stop()
	select {
	case reports := <-done:
		m.change(func() { m.takeReports(reports, o.Smart.MaxAge, time.Now()) })
	case <-t.C:
		m.change(func() {
			m.note("files", fmt.Sprintf("smart.files: %s could not be read within %v", strings.Join(o.Smart.Files, ", "), o.Smart.Timeout))
		})
	case <-ctx.Done():
	}
}

// readReports reads every file of the globs once.
func readReports(globs []string) []fileReport {
	var all []fileReport
	var paths []string
	for _, g := range globs {
		found, err := filepath.Glob(g)
		if err != nil {
			all = append(all, fileReport{path: g, err: fmt.Errorf("smart.files: %q is not a file name pattern: %w", g, err)})
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > filesMost {
		all = append(all, fileReport{err: fmt.Errorf("smart.files: %d files match, only the first %d are read", len(paths), filesMost)})
		paths = paths[:filesMost]
	}
	for _, p := range paths {
		all = append(all, readReport(p)...)
	}
	return all
}

func readReport(path string) (all []fileReport) {
	fail := func(err error) []fileReport {
		return append(all, fileReport{path: path, err: fmt.Errorf("smart.files: %s: %w", path, err)})
	}
	defer func() {
		if p := recover(); p != nil {
			all = fail(fmt.Errorf("panic: %v", p))
		}
	}()
	content, written, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since the glob
	}
	if err != nil {
		return fail(err)
	}
	err = smart.Decode(bytes.NewReader(content), "file:"+path, func(r *smart.Reading, err error) error {
		if err != nil || r == nil {
			all = fail(cmp.Or(err, errors.New("it holds no report")))
			return nil
		}
		at := r.At
		if at.IsZero() || at.After(time.Now().Add(clockSlip)) {
			at = written
		}
		all = append(all, fileReport{path: path, health: smart.Interpret(r), asleep: asleep(r), at: at})
		return nil
	})
	if err != nil {
		return fail(err)
	}
	if len(all) == 0 {
		return fail(errors.New("it holds no report of smartctl (smartctl -x -j)"))
	}
	return all
}

func readBounded(path string) (content []byte, written time.Time, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not block us
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, time.Time{}, errors.New("not a regular file")
	}
	content, err = io.ReadAll(io.LimitReader(f, fileMost+1))
	if err == nil && len(content) > fileMost {
		err = fmt.Errorf("larger than %d MiB", fileMost>>20)
	}
	return content, info.ModTime(), err
}

// takeReports merges what the files say into the disks: by equal serial number or WWN, never by device name when either has a
// serial number. A disk whose reports are gone goes too, unless the kernel knows it.
func (m *Monitor) takeReports(reports []fileReport, maxAge time.Duration, now time.Time) {
	latest := map[*disk]fileReport{}
	kernels := slices.DeleteFunc(m.sortedDisks(), func(d *disk) bool { return d.kernel == nil })
	var problems []string
	for _, r := range reports {
		if r.err != nil || r.health == nil {
			problems = append(problems, fmt.Sprint(cmp.Or(r.err, fmt.Errorf("smart.files: %s: a report without meaning", r.path))))
			continue
		}
		d := m.diskOf(kernels, r.health.Identity)
		if d == nil {
			problems = append(problems, fmt.Sprintf("smart.files: %s: a report that names no disk", r.path))
			continue
		}
		if had, twice := latest[d]; !twice || r.at.After(had.at) {
			latest[d] = r
		}
	}
	var touched []*disk
	for _, key := range m.diskKeys() {
		d := m.disks[key]
		r, ok := latest[d]
		switch {
		case ok:
			m.takeReport(d, r, maxAge, now)
		case d.file == nil:
			continue
		case broken(reports, d.file.path()):
			d.fail(d.file, smart.Parse, "the report can no longer be read", 0)
		case d.kernel == nil:
			delete(m.disks, key)
			continue
		default:
			d.file = nil
		}
		touched = append(touched, d)
	}
	m.published(touched...)
	m.note("files", strings.Join(firstFew(problems, 3), "; "))
}

func (m *Monitor) takeReport(d *disk, r fileReport, maxAge time.Duration, now time.Time) {
	if d.file == nil {
		d.file = &source{}
	}
	f, before := d.file, d.file.Reason
	d.said = r.health.Identity
	age := now.Sub(r.at)
	switch {
	case age > maxAge:
		f.Source, f.LastRead = r.health.Source, r.at
		if !r.asleep && (d.known == nil || r.health.At.After(d.known.At)) {
			d.known = r.health // too old to be shown, and yet the disk is no less worn since
		}
		d.fail(f, smart.Stale, fmt.Sprintf("%s is %v old (limit %v): does the timer that writes it still run?", r.path, age.Round(time.Minute), maxAge), 0)
	case r.asleep:
		f.Source = r.health.Source
		f.sleep(0)
	case f.health != nil && f.LastRead.Equal(r.at) && f.health.Source == r.health.Source:
		// The same report as at the last poll: only the clock went on.
		f.Polled, f.Success, f.failed, f.Reason, f.Problem = true, true, 0, "", ""
	default:
		f.succeed(r.health, r.at, 0)
	}
	m.logChange(readLevel(cmp.Or(f.Reason, before)), "reading a S.M.A.R.T. report", r.path, string(before), string(f.Reason), f.Problem)
}

// path is the file of a source that is one.
func (s *source) path() string { return strings.TrimPrefix(s.Source, "file:") }

func broken(reports []fileReport, path string) bool {
	return slices.ContainsFunc(reports, func(r fileReport) bool { return r.err != nil && r.path == path })
}

// diskOf is the disk that an identity is of, which is made when there is none; nil when the identity says nothing. Disks that the
// kernel knows come first: one may have been plugged in since its report was first read.
func (m *Monitor) diskOf(kernels []*disk, id blockdev.Identity) *disk {
	for _, d := range kernels {
		if d.identity.Same(id) || d.kernel.Identity.Same(id) {
			return d
		}
	}
	name := id.ID()
	if name == "" {
		return nil
	}
	key := "file:" + string(name)
	if m.disks[key] == nil {
		m.disks[key] = &disk{marks: newMarks(history.Marks{}), file: &source{}, identity: id, said: id}
	}
	return m.disks[key]
}

func firstFew(s []string, n int) []string {
	if len(s) > n {
		return append(slices.Clone(s[:n]), fmt.Sprintf("and %d more", len(s)-n))
	}
	return s
}
