package blockdev

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDepth bounds how many devices may stand on each other. Real stacks have five or six; only a broken or hostile
// tree has more.
const maxDepth = 32

// walk goes down from a path to its disks and collects what it meets.
type walk struct {
	view
	seen    map[string]bool
	order   []string // each device after all devices below it
	leaves  []string
	memory  []string // why there is no disk: RAM
	network []string // why there is no local disk
	unknown []string // what stood in the way
	cached  []string // what keeps direct I/O away from the disks
	rebuild bool

	direct    bool // the path's own file system does direct I/O on a block device
	blockSize int  // smallest unit of direct I/O that the file system itself needs, in bytes; 0 none
}

func (w *walk) stop(format string, args ...any) {
	w.unknown = append(w.unknown, fmt.Sprintf(format, args...))
}

// place goes on with another path: the file of a loop device, the upper folder of an overlay.
func (w *walk) place(p place, depth int) {
	if p.is(unix.S_IFBLK) {
		w.number(p.rdev, depth)
		return
	}
	m, known := w.mounts.find(p)
	w.filesystem(m, known, p, depth)
}

// filesystem goes on with the devices of the file system of p, which is mounted as m.
func (w *walk) filesystem(m mount, known bool, p place, depth int) {
	if depth == 0 {
		w.direct = directIO(m.fsType)
	}
	switch {
	case depth > maxDepth:
		w.stop("%s: more than %d levels of devices and file systems", p.path, maxDepth)
	case !p.dev.anonymous():
		// XFS may keep its log and its file data on other devices than the one that is mounted, which comes last, because the
		// order is turned around at the end and the top of the stack is the device that is mounted.
		for _, key := range []string{"logdev", "rtdev"} {
			if node := m.option(key); node != "" {
				w.source(m.fsType, node, depth)
			}
		}
		w.number(p.dev, depth)
	case !known:
		w.stop("the mount of %s is not in mountinfo", p.path)
	case m.fsType == "btrfs":
		w.btrfs(m, depth)
	case m.fsType == "overlay":
		w.overlay(m, p, depth)
	default:
		w.diskless(m)
	}
}

// number goes on with a block device by its number.
func (w *walk) number(n devno, depth int) {
	name, err := w.sys.byNumber(n)
	if err != nil {
		w.stop("%v (is --path.sysfs right?)", err)
		return
	}
	w.device(name, depth)
}

// source goes on with a block device by the name that a file system gives for it.
func (w *walk) source(fsType, node string, depth int) {
	name, err := w.kernelName(node)
	if err != nil {
		w.stop("%s on %s: %v", fsType, node, err)
		return
	}
	w.device(name, depth)
}

// device goes down from one block device.
func (w *walk) device(name string, depth int) {
	if w.seen[name] {
		return
	}
	w.seen[name] = true
	if depth > maxDepth {
		w.stop("%s: more than %d levels of devices and file systems", name, maxDepth)
		return
	}
	switch text(w.sys.block(name, "md", "sync_action")) {
	case "resync", "recover", "check", "repair", "reshape":
		w.rebuild = true
	}
	below := entries(w.sys.block(name, "slaves"))
	disk, isPart := w.sys.parent(name)
	switch {
	case isPart:
		w.device(disk, depth+1)
	case len(below) > 0: // dm, md, bcache
		// In reverse, because the order is turned around at the end.
		for _, slave := range slices.Backward(below) {
			w.device(slave, depth+1)
		}
	case strings.HasPrefix(name, "loop"):
		w.loop(name, depth)
	default:
		w.leaf(name)
	}
	w.order = append(w.order, name)
}

// leaf ends a branch at a device without devices below it.
func (w *walk) leaf(name string) {
	hw, err := w.sys.hardware(name)
	if err != nil {
		w.stop("%s is not in sysfs: %v", name, err)
		return
	}
	switch kind, note := classify(name, hw); kind {
	case wholeDisk:
		w.leaves = append(w.leaves, name)
	case inMemory:
		w.memory = append(w.memory, name+" "+note)
	case remote:
		w.network = append(w.network, name+" "+note)
	default:
		w.stop("%s %s", name, note)
	}
}

// loop goes on with the file of a loop device. The name of that file is of the mounts of whoever set the device up,
// so a file of that name here counts only when its size fits.
func (w *walk) loop(name string, depth int) {
	file := text(w.sys.block(name, "loop", "backing_file"))
	if file == "" {
		w.stop("%s has no backing file", name)
		return
	}
	// Without direct I/O of its own, a loop device reads and writes its file through the page cache, whatever flags the file
	// systems above were opened with. Linux before 4.4 does not tell, and knows no other way.
	// That is so too when the file cannot be seen from here.
	if text(w.sys.block(name, "loop", "dio")) != "1" {
		w.cached = append(w.cached, fmt.Sprintf("%s answers from the page cache; losetup --direct-io=on /dev/%[1]s changes that", name))
	}
	p, err := w.locate(file)
	if err != nil {
		w.stop("the file of %s is not visible from here: %v", name, err)
		return
	}
	if p.is(unix.S_IFREG) && !w.fits(name, p.size) {
		w.stop("the file of %s is not visible from here: %s has another size", name, file)
		return
	}
	w.place(p, depth+1)
}

// fits tells whether a file of so many bytes can be that of a loop device.
func (w *walk) fits(name string, fileSize int64) bool {
	sectors, ok := number(w.sys.block(name, "size"))
	if !ok {
		return false
	}
	want := fileSize - size(w.sys.block(name, "loop", "offset"), 1)
	if limit := size(w.sys.block(name, "loop", "sizelimit"), 1); limit > 0 {
		want = min(want, limit)
	}
	// A file may have grown since, which the device does not notice.
	return want >= 0 && sectors <= uint64(want)/sectorSize
}

// btrfs goes on with all devices of the volume that one of them, the source of the mount, belongs to.
func (w *walk) btrfs(m mount, depth int) {
	uuid, devices, err := w.volume(m)
	if err != nil {
		w.stop("%v", err)
		return
	}
	if depth == 0 {
		w.blockSize = int(min(size(w.sys.path("fs", "btrfs", uuid, "sectorsize"), 1), 1<<20))
	}
	for _, d := range slices.Backward(devices) {
		w.device(d, depth+1)
	}
}

// volume finds the btrfs volume that the source of a mount belongs to, and the kernel names of all its devices. They
// are links in <sysfs>/fs/btrfs/<uuid>/devices.
func (w *walk) volume(m mount) (uuid string, devices []string, err error) {
	name, err := w.kernelName(m.source)
	if err != nil {
		return "", nil, fmt.Errorf("btrfs on %s: %w", m.source, err)
	}
	for _, uuid := range entries(w.sys.path("fs", "btrfs")) {
		if devices := entries(w.sys.path("fs", "btrfs", uuid, "devices")); slices.Contains(devices, name) {
			return uuid, devices, nil
		}
	}
	return "", nil, fmt.Errorf("btrfs on %s: no volume in sysfs has that device", m.source)
}

// overlay goes on with the upper folder, where all writes go. Its name is of the mounts of whoever mounted the
// overlay: inside a container it means nothing, or something else. Since an overlay passes on the size of the file
// system of its upper folder, equal sizes tell the right folder.
func (w *walk) overlay(m mount, p place, depth int) {
	stop := func(format string, args ...any) {
		w.stop("overlay: "+format+"; use a folder that is mounted from the host", args...)
	}
	upper := m.option("upperdir")
	switch {
	case upper == "":
		stop("it has no upper folder, so nothing can be written")
		return
	case !filepath.IsAbs(upper):
		stop("its upper folder %q is relative to where it was mounted", upper)
		return
	}
	up, err := w.locate(upper)
	if err != nil { // some kernels show the backslashes with which commas were given to mount
		up, err = w.locate(unquote(upper))
	}
	if err != nil {
		stop("its upper folder %s is not visible from here", upper)
		return
	}
	if up.total != p.total || up.dev == p.dev || !up.is(unix.S_IFDIR) {
		stop("its upper folder is not visible from here: %s is something else", upper)
		return
	}
	if depth == 0 {
		m, _ := w.mounts.find(up)
		w.direct = directIO(m.fsType)
	}
	w.place(up, depth+1)
}

// kernelName is the kernel name of a device by the path of its node, as mountinfo gives it: from sysfs when the
// name is there, else from the node.
func (w *walk) kernelName(node string) (string, error) {
	rest, ok := strings.CutPrefix(node, "/dev/")
	if !ok {
		return "", errors.New("not the path of a device")
	}
	if name := strings.ReplaceAll(rest, "/", "!"); w.sys.exists(name) {
		return name, nil
	}
	if mapped, ok := strings.CutPrefix(rest, "mapper/"); ok {
		if name, ok := w.sys.byMapperName(mapped); ok {
			return name, nil
		}
	}
	p, err := w.locate(filepath.Join(w.roots.Dev, rest))
	if err != nil {
		return "", fmt.Errorf("no such device here: %w", err)
	}
	if !p.is(unix.S_IFBLK) {
		return "", errors.New("not a block device")
	}
	return w.sys.byNumber(p.rdev)
}
