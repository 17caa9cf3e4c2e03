package blockdev

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sectorSize is the unit of every size and sector count in sysfs, whatever the device's own block size
// (Documentation/ABI/stable/sysfs-block).
const sectorSize = 512

// WithDefaults returns r with /sys, /proc and /dev in place of what is empty.
func (r Roots) WithDefaults() Roots {
	return Roots{
		Sysfs:  cmp.Or(r.Sysfs, "/sys"),
		Procfs: cmp.Or(r.Procfs, "/proc"),
		Dev:    cmp.Or(r.Dev, "/dev"),
	}
}

// node is the path of the device node of a kernel name. The kernel writes the slash of a node's name as an
// exclamation mark in sysfs: cciss!c0d0 is /dev/cciss/c0d0.
func (r Roots) node(kernel string) string {
	return filepath.Join(r.Dev, strings.ReplaceAll(kernel, "!", "/"))
}

// sysfs is the mount point of a sysfs. Its methods read attributes; what is absent or cannot be read is the zero
// value with ok false, because attributes come and go with kernels, drivers and hot-plug.
type sysfs string

func (s sysfs) path(elem ...string) string {
	return filepath.Join(append([]string{string(s)}, elem...)...)
}

// block is the path of an attribute of a block device or partition.
func (s sysfs) block(kernel string, elem ...string) string {
	return s.path(append([]string{"class", "block", kernel}, elem...)...)
}

// exists tells whether the kernel knows a block device or partition by this name.
func (s sysfs) exists(kernel string) bool {
	if !validName(kernel) {
		return false
	}
	_, err := os.Stat(s.block(kernel))
	return err == nil
}

// byNumber is the kernel name of the block device with a device number. Podman and buildah hide <sysfs>/dev in their
// containers, but not class/block, where it only takes longer to find.
func (s sysfs) byNumber(n devno) (string, error) {
	link, err := os.Readlink(s.path("dev", "block", n.String()))
	if err == nil {
		return filepath.Base(link), nil
	}
	for _, name := range entries(s.path("class", "block")) {
		if text(s.block(name, "dev")) == n.String() {
			return name, nil
		}
	}
	return "", fmt.Errorf("block device %s: %w", n, err)
}

// hardware is the directory of a block device inside the device tree, relative to the root of the sysfs:
// "devices/pci0000:00/…/block/sda". It tells the bus, and for a partition its disk.
func (s sysfs) hardware(kernel string) (string, error) {
	root, err := filepath.EvalSymlinks(string(s))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(s.block(kernel))
	if err != nil {
		return "", err
	}
	return filepath.Rel(root, real)
}

// validName refuses what would lead out of a sysfs folder: names also come from mountinfo and from callers.
func validName(kernel string) bool {
	return kernel != "" && kernel != "." && kernel != ".." && !strings.ContainsAny(kernel, "/\x00")
}

// text is the content of an attribute without surrounding white space and NULs.
func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return trim(string(b))
}

// number is the content of a decimal attribute.
func number(path string) (uint64, bool) {
	n, err := strconv.ParseUint(text(path), 10, 64)
	return n, err == nil
}

// size is number for what must fit an int64 after scaling; 0 when unknown or absurd.
func size(path string, unit int64) int64 {
	n, ok := number(path)
	if !ok || n > uint64((1<<63-1)/unit) {
		return 0
	}
	return int64(n) * unit
}

// flag tells whether a 0/1 attribute is 1; false when unknown.
func flag(path string) bool {
	return text(path) == "1"
}

// entries are the sorted names in a folder; none when it is absent.
func entries(path string) []string {
	dir, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(dir))
	for _, e := range dir {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// gone tells whether err means that a device was unplugged while it was being read.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist)
}
