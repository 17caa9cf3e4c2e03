package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Resolve finds the file system that a folder or file lives on, and the whole disks below it. A path to a block
// device's node is resolved as that device, with an empty Type and the node as Source. What could not be found out is
// said in Why and is no error. It is an error when the path itself cannot be asked about; one that does not exist yet
// gives an error that Is fs.ErrNotExist, and no parent is tried in its place, since something else may be mounted
// there later.
//
// Mounts are read from <procfs>/self/mountinfo, which is right in a container too when --path.procfs is the
// host's /proc: "self" is then still this process, and the path is looked up in its mounts. Where that /proc does not
// know this process, 1/mountinfo tells at least the file systems by their device numbers.
//
// Leaves are names of block devices; the leaf of an NVMe disk is one of its Disk.Namespaces (see Disk.Has). Further
// devices that a file system has but does not tell of (f2fs over several, an ext4 journal of its own) are not found.
func Resolve(r Roots, path string) (Filesystem, error) {
	r = r.WithDefaults()
	p, err := locate(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Filesystem{}, fmt.Errorf("finding the disk below %s: it does not exist; create it first: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return Filesystem{}, fmt.Errorf("finding the disk below %s: every folder on the way needs x permission for this user: %w", path, err)
	case err != nil:
		return Filesystem{}, fmt.Errorf("finding the disk below %s: %w", path, err)
	}
	table, err := readMountinfo(r.Procfs)
	if err != nil {
		return Filesystem{}, fmt.Errorf("finding the disk below %s: reading the mounts (is --path.procfs right?): %w", path, err)
	}
	v := view{roots: r, sys: sysfs(r.Sysfs), mounts: parseMountinfo(table), locate: locate}
	return v.resolve(p)
}

func readMountinfo(procfs string) (string, error) {
	b, err := os.ReadFile(filepath.Join(procfs, "self", "mountinfo"))
	if errors.Is(err, fs.ErrNotExist) {
		b, err = os.ReadFile(filepath.Join(procfs, "1", "mountinfo"))
	}
	return string(b), err
}

// view is one look at a system: its mounts, its sysfs, and a way to ask about other paths that turn up (the files of
// loop devices, the upper folder of an overlay). resolve is a function of these alone.
type view struct {
	roots  Roots
	sys    sysfs
	mounts mounts
	locate func(path string) (place, error)
}

func (v view) resolve(p place) (Filesystem, error) {
	w := walk{view: v, seen: map[string]bool{}}
	var f Filesystem
	switch {
	case p.is(unix.S_IFBLK):
		f.Source = p.path
		w.direct = true
		w.number(p.rdev, 0)
	case p.is(unix.S_IFDIR), p.is(unix.S_IFREG):
		m, known := v.mounts.find(p)
		f.Type, f.MountPoint, f.Source = m.fsType, m.point, m.source
		f.ReadOnly = m.readOnly || p.readOnly
		f.SizeBytes, f.FreeBytes = p.total, p.free
		w.filesystem(m, known, p, 0)
	default:
		return Filesystem{}, fmt.Errorf("finding the disk below %s: it is neither a folder nor a file nor a disk", p.path)
	}
	w.conclude(&f)
	if p.is(unix.S_IFBLK) && len(f.Stack) > 0 {
		f.SizeBytes = size(v.sys.block(f.Stack[0], "size"), sectorSize)
	}
	f.DirectMem, f.DirectOffset = p.directMem, p.directOffset
	if f.DirectOffset == 0 && w.direct {
		f.DirectMem, f.DirectOffset = v.alignment(f.Stack, w.blockSize)
	}
	return f, nil
}

// conclude writes what the walk has found. One branch that leads nowhere makes all leaves unknown: a part of
// the truth would charge and blame the wrong disks.
func (w *walk) conclude(f *Filesystem) {
	slices.Reverse(w.order)
	f.Stack = w.order
	f.Rebuild = w.rebuild
	f.Cached = strings.Join(w.cached, "; ") // a cache answers, whether or not the disks below it are known
	slices.Sort(w.leaves)
	if len(f.Stack) > 0 {
		f.ReadOnly = f.ReadOnly || flag(w.sys.block(f.Stack[0], "ro"))
	}
	for _, leaf := range w.leaves {
		f.ReadOnly = f.ReadOnly || flag(w.sys.block(leaf, "ro"))
	}
	if len(w.leaves) > 0 && len(w.memory)+len(w.network) > 0 {
		w.stop("only a part of it is on local disks: %s", strings.Join(slices.Concat(w.memory, w.network), "; "))
	}
	switch {
	case len(w.unknown) > 0:
		f.Why = strings.Join(w.unknown, "; ")
	case len(w.leaves) > 0:
		f.Leaves = w.leaves
	case len(w.memory)+len(w.network) > 0:
		f.Memory, f.Network = len(w.memory) > 0, len(w.network) > 0
		f.Why = strings.Join(slices.Concat(w.memory, w.network), "; ")
	default:
		f.Why = "no disk was found below it"
	}
	f.Software = len(f.Leaves) == 0 && len(f.Stack) > 0 && w.sys.virtual(f.Stack[0])
}

// alignment is what direct I/O needs at least where the kernel does not say (folders, Linux before 6.1): the logical
// block size of the top device, which already contains that of the devices below; blockSize is the file system's own
// unit if that is larger.
func (v view) alignment(stack []string, blockSize int) (mem, offset int) {
	if len(stack) == 0 {
		return 0, 0
	}
	top := stack[0]
	if disk, ok := v.sys.parent(top); ok {
		top = disk // partitions have no queue
	}
	logical, ok := number(v.sys.block(top, "queue", "logical_block_size"))
	if !ok || logical == 0 || logical > 1<<20 {
		return 0, 0
	}
	// 512 is the default of the block layer and the least that every driver takes; some need more.
	mem = sectorSize
	if dma, ok := number(v.sys.block(top, "queue", "dma_alignment")); ok && dma < 1<<20 {
		mem = max(mem, int(dma)+1)
	}
	return max(mem, blockSize), max(int(logical), blockSize)
}
