package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ssd_exporter/engine"
	"ssd_exporter/engine/probefile"
)

func TestEveryFailureHasItsKind(t *testing.T) {
	wrap := func(err error) error {
		return fmt.Errorf("doing it: %w", &fs.PathError{Op: "open", Path: "/x", Err: err})
	}
	for _, c := range []struct {
		err   error
		kind  Kind
		errno string
	}{
		{wrap(unix.ENOSPC), NoSpace, "ENOSPC"},
		{wrap(unix.EDQUOT), NoSpace, "EDQUOT"},
		{wrap(unix.EROFS), ReadOnly, "EROFS"},
		{wrap(unix.EACCES), Permission, "EACCES"},
		{wrap(unix.EPERM), Permission, "EPERM"},
		{wrap(unix.ENOENT), Missing, "ENOENT"},
		{wrap(unix.ENOTDIR), Missing, "ENOTDIR"},
		{wrap(unix.EIO), IO, "EIO"},
		{wrap(unix.ENODEV), IO, "ENODEV"},
		{wrap(unix.ENXIO), IO, "ENXIO"},
		{wrap(unix.EUCLEAN), IO, "EUCLEAN"},
		{wrap(unix.EOPNOTSUPP), Unsupported, "EOPNOTSUPP"},
		{wrap(unix.EMFILE), Internal, "EMFILE"},
		{wrap(unix.EFBIG), Internal, "EFBIG"},
		{fmt.Errorf("x: %w: %w", probefile.ErrUnsupported, unix.EINVAL), Unsupported, "EINVAL"},
		{fmt.Errorf("x: %w", &probefile.RefusedError{Path: "/x", Reason: "symlink"}), Refused, ""},
		{fmt.Errorf("x: %w", &probefile.SpaceError{Path: "/x"}), NoSpace, ""},
		{fmt.Errorf("x: %w", probefile.ErrBusy), Busy, ""},
		{fmt.Errorf("x: %w", probefile.ErrNotFilled), Missing, ""},
		{fmt.Errorf("x: %w", engine.ErrUnfit), Unsupported, ""},
		{fmt.Errorf("x: %w", &foreignError{iops: 900, limit: 200}), ForeignIO, ""},
		{fmt.Errorf("x: %w", errAborted), Aborted, ""},
		{errors.New("x"), Internal, ""},
	} {
		e := describe("/x", c.err)
		if e.Kind != c.kind || e.Errno != c.errno {
			t.Errorf("%v: kind %s, errno %q; want %s, %q", c.err, e.Kind, e.Errno, c.kind, c.errno)
		}
		if !strings.Contains(e.Message, "/x") && !strings.HasPrefix(e.Message, "/x") {
			t.Errorf("%q does not say which path", e.Message)
		}
	}
}

func TestTheTailKeepsTheBeginningAndTheEnd(t *testing.T) {
	tl := newTail()
	close(tl.ended)
	tl.keep([]byte("panic: first\n"))
	for range 1000 {
		tl.keep([]byte("goroutine in the middle\n"))
	}
	tl.keep([]byte("last"))
	got := tl.wait()
	if !strings.HasPrefix(got, "panic: first") || !strings.HasSuffix(got, "last") || len(got) > maxTail {
		t.Errorf("%d bytes: %.20q … %q", len(got), got, got[max(0, len(got)-20):])
	}
}
