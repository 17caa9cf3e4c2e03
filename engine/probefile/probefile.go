package probefile

import (
	"fmt"

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

// Spec says which probe file is wanted.
type Spec struct {
	Dir      string // the target's folder, which exists
	Size     int64  // wanted size in bytes; PlannedSize may lower it on small file systems. 0 is DefaultSize
	MinSize  int64  // no file below it; 0 is MinSize
	FillRate int64  // bytes per second while filling; 0 is unlimited
}

// State is what is known of a probe file; it survives JSON.
type State struct {
	Dir     string
	UUID    string
	Size    int64
	Created int64 // Unix seconds; also the age of the cold half once filled
	Filled  bool
	Written int64 // bytes written by the Prepare that returned this State: what the ledger is charged
}

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

// PlannedSize is the size of the probe file for a file system: the smaller of want and 5 % of the free space, rounded
// down to MiB. An error (SpaceError) when that is below min, or when creating it would leave less than the floor: the
// larger of 3 × file and 5 % of the file system must be free.
func PlannedSize(want, min int64, fs blockdev.Filesystem) (int64, error) { return 0, nil }
