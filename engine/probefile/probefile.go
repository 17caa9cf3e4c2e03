package probefile

import (
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"ssd_exporter/blockdev"
)

// Names inside a target's folder.
const (
	Folder     = "ssd_exporter.probe" // 0700, ours alone
	DataName   = "probe.bin"
	RecordName = "probe.json"
)

// Sizes of a probe file in bytes.
const (
	DefaultSize = 1 << 30
	MinSize     = 256 << 20 // smaller files say little about a disk: no probe below it
)

// blockSize is what a fill writes at once, and what sizes and positions are multiples of, in bytes.
const blockSize = 1 << 20

// Spec says which probe file is wanted.
type Spec struct {
	Dir      string // the target's folder, which exists
	Size     int64  // wanted size in bytes; PlannedSize may lower it on small file systems. 0 is DefaultSize
	MinSize  int64  // no file below it; 0 is MinSize
	FillRate int64  // bytes per second while filling; 0 is unlimited
}

// State is what is known of a probe file; it survives JSON.
type State struct {
	Dir      string
	UUID     string
	Size     int64
	Created  int64 // Unix seconds; also the age of the cold half once filled
	Filled   bool
	Position int64 // bytes filled and synced so far: Size - Position is what a continued fill still writes
	Written  int64 // bytes written by the Prepare that returned this State: what the ledger is charged
}

// ErrBusy says that another process has the probe file open.
var ErrBusy = errors.New("another process is using the probe file")

// ErrUnsupported says that this is no place for a probe file, however much space there is: it lives in memory or
// on the network, or knows no direct I/O.
var ErrUnsupported = errors.New("not a place that can be probed")

// ErrNotFilled says that the probe file is ours but not (completely) written yet: Prepare does that.
var ErrNotFilled = errors.New("the probe file is not filled yet")

// RefusedError says why a file was not touched and what a person can do about it.
type RefusedError struct {
	Path   string
	Reason string // "symlink", "not a regular file", "2 hard links", …
	Fix    string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: refused: %s; %s", e.Path, e.Reason, e.Fix)
}

// SpaceError says that a free-space floor would be broken.
type SpaceError struct {
	Path              string
	Free, Need, Total int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: not enough free space: %s of %s free, %s needed; free some space or choose another folder",
		e.Path, humanBytes(e.Free), humanBytes(e.Total), humanBytes(e.Need))
}

// PlannedSize is the size of the probe file for a file system: the smaller of want and 5 % of the free space, rounded
// down to MiB. An error (SpaceError) when that is below smallest, or when creating it would leave less than the floor: the
// larger of 3 × file and 5 % of the file system must be free. want and smallest may be 0 for DefaultSize and MinSize.
func PlannedSize(want, smallest int64, fs blockdev.Filesystem) (int64, error) {
	if want == 0 {
		want = DefaultSize
	}
	if smallest == 0 {
		smallest = MinSize
	}
	if smallest < blockSize || want < smallest {
		return 0, fmt.Errorf("a probe file of %s is too small, it needs at least %s",
			humanBytes(want), humanBytes(max(smallest, blockSize)))
	}
	size := min(want, fs.FreeBytes/20) / blockSize * blockSize
	if size < smallest {
		return 0, &SpaceError{Path: fs.MountPoint, Free: fs.FreeBytes, Need: 20 * smallest, Total: fs.SizeBytes}
	}
	if need := createFloor(size, fs.SizeBytes); fs.FreeBytes < need {
		return 0, &SpaceError{Path: fs.MountPoint, Free: fs.FreeBytes, Need: need, Total: fs.SizeBytes}
	}
	return size, nil
}

// createFloor is what must be free before a file of that size is begun.
func createFloor(size, total int64) int64 { return max(3*size, total/20) }

// writeFloor is what must stay free while anything is written.
func writeFloor(total int64) int64 { return total / 50 }

// supported refuses file systems on which a probe would measure something else than a local disk.
func supported(dir string, fs blockdev.Filesystem) error {
	switch {
	case fs.Memory:
		return fmt.Errorf("%s: %w: it lives in memory (%s); choose a folder on the disk", dir, ErrUnsupported, fs.Type)
	case fs.Network:
		return fmt.Errorf("%s: %w: it lives on the network (%s); choose a folder on a local disk", dir, ErrUnsupported, fs.Type)
	case fs.Cached != "":
		return fmt.Errorf("%s: %w: %s", dir, ErrUnsupported, fs.Cached)
	}
	return nil
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
