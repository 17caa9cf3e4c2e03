package probefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

const (
	recordFormat  = 1
	maxRecordSize = 64 << 10
)

// record is probe.json: what proves that probe.bin is ours, and how far it is filled.
type record struct {
	Format  int    `json:"format"`
	UUID    string `json:"uuid"`
	Inode   uint64 `json:"inode"`                   // of probe.bin; 0: about to be created
	Birth   int64  `json:"birth_time_ns,omitempty"` // of probe.bin, Unix nanoseconds; 0: the file system does not tell
	Size    int64  `json:"size"`                    // bytes, when filled
	Created int64  `json:"created"`                 // Unix seconds: the start of the fill
	// Position is how many bytes from the start are filled and synced.
	Position int64  `json:"position"`
	FilledAt int64  `json:"filled_at,omitempty"` // Unix seconds; 0: not filled
	Extents  string `json:"extents,omitempty"`   // of a filled file: "verified" by FIEMAP, or "unverified"
}

const (
	extentsVerified   = "verified"
	extentsUnverified = "unverified"
)

func (r record) filled() bool { return r.FilledAt != 0 }

func (r record) state(dir string) State {
	return State{Dir: dir, UUID: r.UUID, Size: r.Size, Created: r.Created, Filled: r.filled(), Position: r.Position}
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// parseRecord accepts only what encodeRecord makes. Anything else is no proof of anything.
func parseRecord(b []byte) (record, error) {
	var version struct{ Format int }
	if err := json.Unmarshal(b, &version); err != nil {
		return record{}, fmt.Errorf("not a record: %w", err)
	}
	if version.Format != recordFormat {
		return record{}, fmt.Errorf("format %d, this version knows %d", version.Format, recordFormat)
	}
	var r record
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return record{}, fmt.Errorf("not a record: %w", err)
	}
	switch {
	case !uuidForm.MatchString(r.UUID):
		return record{}, fmt.Errorf("%q is not a UUID", r.UUID)
	case r.Size < blockSize || r.Size%blockSize != 0:
		return record{}, fmt.Errorf("size %d is not a positive multiple of 1 MiB", r.Size)
	case r.Position < 0 || r.Position > r.Size || r.Position%blockSize != 0:
		return record{}, fmt.Errorf("position %d does not fit size %d", r.Position, r.Size)
	case r.filled() && (r.Position != r.Size || r.Inode == 0):
		return record{}, fmt.Errorf("filled, but only to position %d of %d", r.Position, r.Size)
	case r.FilledAt < 0 || r.Created < 0:
		return record{}, errors.New("a time before 1970")
	}
	return r, nil
}

func encodeRecord(r record) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", RecordName, err)
	}
	return append(b, '\n'), nil
}

// readRecord reads the record; nil when there is none.
func (d *folder) readRecord() (*record, error) {
	path := filepath.Join(d.path, RecordName)
	fd, err := unix.Openat(d.fd(), RecordName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // no record is an answer
	case errors.Is(err, unix.ELOOP):
		return nil, d.refuse(RecordName, "symlink", fixRecord)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if reason := notOurs(st); reason != "" {
		return nil, d.refuse(RecordName, reason, fixRecord)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRecordSize))
	if err != nil {
		return nil, err
	}
	r, err := parseRecord(b)
	if err != nil {
		return nil, d.refuse(RecordName, "it is damaged or not ours: "+err.Error(), fixRecord)
	}
	return &r, nil
}

const fixRecord = "nothing was touched; if the folder is not needed, delete it by hand"

// writeRecord replaces the record durably: synced, renamed, and the folder synced.
func (d *folder) writeRecord(r record) error {
	b, err := encodeRecord(r)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, tempName)
	// A temporary file that a crash has left is in our own folder, under our lock.
	switch err := unix.Unlinkat(d.fd(), tempName, 0); {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, unix.EISDIR):
		return d.refuse(tempName, "not a regular file", "delete it")
	default:
		return &fs.PathError{Op: "unlink", Path: path, Err: err}
	}
	fd, err := unix.Openat(d.fd(), tempName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := unix.Renameat(d.fd(), tempName, d.fd(), RecordName); err != nil {
		return &fs.PathError{Op: "rename", Path: path, Err: err}
	}
	if err := d.f.Sync(); err != nil {
		return fmt.Errorf("syncing the folder: %w", err)
	}
	return nil
}
