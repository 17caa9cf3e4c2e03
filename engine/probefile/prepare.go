package probefile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
)

// Prepare opens the probe file, creating and filling it where it is missing or unfinished. An existing filled file
// is proven and kept, whatever size s asks for. beat, which may be nil, is told the bytes filled and the size after
// every MiB.
//
// The State is also returned with an error: its Written is what has been written until then and must be charged. A fill
// that was cancelled or failed is continued by the next Prepare; one that ran out of space gives up its space at once.
// Errors are RefusedError, SpaceError, ErrBusy, ErrUnsupported, fs.ErrNotExist (no such Dir), the cause of ctx's end, or wrap an errno.
func Prepare(ctx context.Context, s Spec, fs blockdev.Filesystem, beat func(done, total int64)) (State, error) {
	if err := supported(s.Dir, fs); err != nil {
		return State{Dir: s.Dir}, err
	}
	d, err := folderFor(s, fs)
	if err != nil {
		return State{Dir: s.Dir}, fmt.Errorf("preparing the probe file: %w", err)
	}
	defer d.close()
	p := &preparation{spec: s, fsys: fs, d: d, beat: beat}
	err = p.run(ctx)
	st := p.rec.state(s.Dir)
	st.Written = p.written
	if err != nil {
		return st, fmt.Errorf("preparing the probe file: %w", err)
	}
	return st, nil
}

// folderFor opens and locks the folder, and makes it when a file of that size may be created there.
func folderFor(s Spec, fsys blockdev.Filesystem) (*folder, error) {
	d, err := openFolder(s.Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := PlannedSize(s.Size, s.MinSize, fsys); err != nil {
			return nil, err
		}
		d, err = openFolder(s.Dir, true)
	}
	if err != nil {
		return nil, err
	}
	if err := d.acquire(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// preparation is one call of Prepare.
type preparation struct {
	spec Spec
	fsys blockdev.Filesystem
	d    *folder
	beat func(done, total int64)

	rec     record // as it is on disk
	written int64
}

func (p *preparation) run(ctx context.Context) error {
	f, err := p.d.find()
	if err != nil {
		return err
	}
	defer func() { f.close() }()
	if f.rec != nil {
		p.rec = *f.rec
	}
	if f.data != nil && p.rec.filled() {
		return nil
	}
	if err := p.d.explain(); err != nil {
		return err
	}
	if f.data == nil || p.rec.Inode == 0 {
		f.close()
		if f, err = p.create(); err != nil {
			return err
		}
	}
	return p.complete(ctx, f)
}

// create makes an empty data file. The intention is recorded first: should we crash before the file's inode is
// recorded, the next Prepare knows the empty file for ours.
func (p *preparation) create() (found, error) {
	size, err := PlannedSize(p.spec.Size, p.spec.MinSize, p.fsys)
	if err != nil {
		return found{}, err
	}
	r := record{Format: recordFormat, UUID: newUUID(), Size: size, Created: time.Now().Unix()}
	if err := p.d.writeRecord(r); err != nil {
		return found{}, err
	}
	p.rec = r
	if err := p.d.unlinkEmpty(); err != nil {
		return found{}, err
	}
	fd, err := unix.Openat(p.d.fd(), DataName, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return found{}, &fs.PathError{Op: "create", Path: p.d.dataPath(), Err: err}
	}
	f := found{data: os.NewFile(uintptr(fd), p.d.dataPath())}
	if err := p.adopt(&f); err != nil {
		f.close()
		return found{}, fmt.Errorf("%s: %w", p.d.dataPath(), err)
	}
	return f, nil
}

// adopt records the file that was just created.
func (p *preparation) adopt(f *found) error {
	fd := int(f.data.Fd())
	if err := unix.Fchmod(fd, 0o600); err != nil { // the umask may have taken bits away
		return fmt.Errorf("chmod: %w", err)
	}
	if p.fsys.Type == "btrfs" {
		if err := setNocow(fd); err != nil {
			return fmt.Errorf("%w: on btrfs the file must be without copy-on-write: %w", ErrUnsupported, err)
		}
	}
	if err := unix.Fstat(fd, &f.st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	birth, err := birthTime(fd)
	if err != nil {
		return err
	}
	if err := p.d.f.Sync(); err != nil {
		return fmt.Errorf("syncing the folder: %w", err)
	}
	r := p.rec
	r.Inode, r.Birth = f.st.Ino, birth
	if err := p.d.writeRecord(r); err != nil {
		return err
	}
	p.rec = r
	f.rec = &r
	return nil
}

// unlinkEmpty deletes the empty data file of a create that crashed, if there is one. find has proven it.
func (d *folder) unlinkEmpty() error {
	err := unix.Unlinkat(d.fd(), DataName, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "unlink", Path: d.dataPath(), Err: err}
	}
	return nil
}

// complete fills the rest of the file and proves its extents.
func (p *preparation) complete(ctx context.Context, f found) error {
	// A file shorter than recorded was cut while it was unfinished: what is beyond its end is written again.
	p.rec.Position = min(p.rec.Position, f.st.Size/blockSize*blockSize)
	if p.rec.Position == 0 {
		p.rec.Created = time.Now().Unix()
	}
	if err := p.checkFillFloor(); err != nil {
		return p.release(f, err)
	}
	data, err := reopen(f.data, f.st, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer data.Close()
	if err := measurable(data, p.fsys); err != nil {
		return err
	}
	if err := p.fill(ctx, data); err != nil {
		if outOfSpace(err) {
			return p.release(f, err)
		}
		return err
	}
	known, reason, err := checkExtents(int(data.Fd()), p.rec.Size)
	if err != nil {
		return fmt.Errorf("%s: %w", data.Name(), err)
	}
	if reason != "" {
		return p.d.refuse(DataName, reason+", although it was just written",
			"this file system does not keep data in place; choose a folder on another one")
	}
	r := p.rec
	r.FilledAt, r.Extents = time.Now().Unix(), extentsUnverified
	if known {
		r.Extents = extentsVerified
	}
	if err := p.d.writeRecord(r); err != nil {
		return err
	}
	p.rec = r
	return nil
}

// checkFillFloor holds the floor of creating a file for one that is partly written: what it holds was free before.
func (p *preparation) checkFillFloor() error {
	free, total := p.fsys.FreeBytes, p.fsys.SizeBytes
	if need := createFloor(p.rec.Size, total) - p.rec.Position; free < need {
		return &SpaceError{Path: p.d.path, Free: free, Need: need, Total: total}
	}
	return nil
}

// release gives an unfinished file's space back, so that others on a full disk have it; why is returned. The file
// itself stays, empty, and the next Prepare starts over.
func (p *preparation) release(f found, why error) error {
	data, err := reopen(f.data, f.now(), unix.O_RDWR)
	if err != nil {
		return errors.Join(why, err)
	}
	defer data.Close()
	if err := data.Truncate(0); err != nil {
		return errors.Join(why, fmt.Errorf("giving its space back: %w", err))
	}
	p.rec.Position = 0
	return errors.Join(why, p.d.writeRecord(p.rec))
}

// now is the state of the file after we have written to it: only its size and times may have changed.
func (f found) now() unix.Stat_t {
	st := f.st
	var now unix.Stat_t
	if unix.Fstat(int(f.data.Fd()), &now) == nil {
		st.Size = now.Size
	}
	return st
}

func outOfSpace(err error) bool {
	var s *SpaceError
	return errors.As(err, &s) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// newUUID is a random UUID, version 4 (RFC 9562).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
