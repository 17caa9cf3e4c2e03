package blockdev

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mounted is a file system and the place where it is seen best.
type Mounted struct {
	// Filesystem is as Resolve tells it for MountPoint, but no mount point was touched: FreeBytes, DirectMem and
	// DirectOffset are 0 (unknown), SizeBytes is that of the devices it lies on (0 unknown), and where only the file
	// system itself could tell more (overlay, loop), Leaves are empty and Why says so.
	Filesystem
	Points []string // all its mount points but those hidden below another mount on the same point; MountPoint first
}

// Mounts lists every file system that is mounted here once, sorted by mount point, pseudo file systems included. Of
// several mounts of one file system (bind mounts, subvolumes of btrfs) MountPoint is the one that can be written to,
// then the one that shows the largest part of it, then the one with the shortest path; mounts of single files, as
// containers have them below /etc and /dev, come last.
//
// Unlike Resolve it never hangs with a hung file system: it reads mountinfo and sysfs and asks no mounted file system.
func Mounts(r Roots) ([]Mounted, error) {
	r = r.WithDefaults()
	table, err := readMountinfo(r.Procfs)
	if err != nil {
		return nil, fmt.Errorf("listing mounted file systems (is --path.procfs right?): %w", err)
	}
	v := view{roots: r, sys: sysfs(r.Sysfs), mounts: parseMountinfo(table)}
	v.locate = func(path string) (place, error) {
		if m, ok := v.mounts.longest(func(m mount) bool { return m.above(path) }); !ok || m.fsType != "devtmpfs" {
			return place{}, errors.New("it was not looked at")
		}
		return locate(path) // a device node: devtmpfs is in RAM
	}
	return v.mounted(), nil
}

// HoldsPath is the file system that a path is on, by the mount points alone; nil when none is above it. The path must
// be absolute and free of symbolic links; it need not exist.
func HoldsPath(ms []Mounted, path string) *Mounted {
	var best *Mounted
	length := -1
	for i := range ms {
		for _, p := range ms[i].Points {
			if len(p) > length && (mount{point: p}).above(path) {
				best, length = &ms[i], len(p)
			}
		}
	}
	return best
}

func (v view) mounted() []Mounted {
	byNumber := map[devno][]mount{}
	for i, m := range v.mounts {
		if !v.mounts[i+1:].cover(m.point) {
			byNumber[m.dev] = append(byNumber[m.dev], m)
		}
	}
	all := make([]Mounted, 0, len(byNumber))
	for _, same := range byNumber {
		slices.SortStableFunc(same, betterMount)
		f := Mounted{Filesystem: v.describe(same[0])}
		for _, m := range same {
			f.Points = append(f.Points, m.point)
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Mounted) int { return cmp.Compare(a.MountPoint, b.MountPoint) })
	return all
}

// cover tells whether a later mount lies on the same point and hides what was mounted there before.
func (ms mounts) cover(point string) bool {
	return slices.ContainsFunc(ms, func(m mount) bool { return m.point == point })
}

// betterMount orders the mounts of one file system, the best first.
func betterMount(a, b mount) int {
	return cmp.Or(
		order(a.readOnly, b.readOnly),
		order(a.fileBind(), b.fileBind()),
		cmp.Compare(depth(a.root), depth(b.root)),
		cmp.Compare(len(a.point), len(b.point)),
		cmp.Compare(a.point, b.point),
	)
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// depth is how many folders deep a path lies.
func depth(path string) int { return strings.Count(strings.TrimSuffix(path, "/"), "/") }

// fileBind tells of a part of a file system that is mounted where programs expect single files: /etc/hosts in a
// container, /dev/termination-log in a pod. Only looking there would make sure.
func (m mount) fileBind() bool {
	return m.root != "/" && (strings.HasPrefix(m.point, "/etc/") || strings.HasPrefix(m.point, "/dev/") || strings.HasPrefix(m.point, "/proc/") || strings.HasPrefix(m.point, "/sys/"))
}

// describe is what a mount and the device tree tell of a file system.
func (v view) describe(m mount) Filesystem {
	w := walk{view: v, seen: map[string]bool{}}
	f := Filesystem{Type: m.fsType, MountPoint: m.point, Source: m.source, ReadOnly: m.readOnly}
	w.filesystem(m, true, place{path: m.point, dev: m.dev}, 0)
	w.conclude(&f)
	if m.fileBind() {
		f.Leaves, f.Why = nil, "only single files of it are mounted here"
	}
	switch {
	case len(f.Leaves) == 0:
	case m.dev.anonymous(): // btrfs
		_, devices, err := w.volume(m)
		if err != nil {
			break
		}
		for _, d := range devices {
			f.SizeBytes += size(v.sys.block(d, "size"), sectorSize)
		}
	default:
		f.SizeBytes = size(v.sys.block(f.Stack[0], "size"), sectorSize)
	}
	return f
}
