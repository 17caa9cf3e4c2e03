package blockdev

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// devno is a device number.
type devno struct{ major, minor uint32 }

// String is the kernel's way to write it: "8:1".
func (n devno) String() string { return fmt.Sprintf("%d:%d", n.major, n.minor) }

// anonymous tells that no block device has this number: the kernel makes numbers with major 0 up for file systems
// without a single device below (tmpfs, overlay, NFS, btrfs).
func (n devno) anonymous() bool { return n.major == 0 }

// mount is one line of mountinfo.
type mount struct {
	id       uint64
	dev      devno
	root     string // the folder or file of the file system that is seen there; "/" is all of it
	point    string // relative to the root of the process whose mountinfo it is
	fsType   string
	source   string
	readOnly bool   // of the mount or of the whole file system
	super    string // options of the file system, still escaped
}

// mounts is the table of mounts of a process, in the order of the kernel.
type mounts []mount

// parseMountinfo reads the format of proc_pid_mountinfo(5). A line that cannot be understood is left out and does not
// hide the others. (github.com/prometheus/procfs gives up on all of them for one mount whose source is "-", and
// leaves escapes as they are.)
func parseMountinfo(text string) mounts {
	var ms mounts
	for line := range strings.Lines(text) {
		if m, ok := parseMount(strings.TrimSuffix(line, "\n")); ok {
			ms = append(ms, m)
		}
	}
	return ms
}

// parseMount reads one line:
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	id parent dev root point options optional… - type source super-options
func parseMount(line string) (mount, bool) {
	const fixed = 6 // fields before the optional ones, which end with "-"
	f := strings.Split(line, " ")
	if len(f) < fixed {
		return mount{}, false
	}
	sep := slices.Index(f[fixed:], "-")
	if sep < 0 || len(f) < fixed+sep+4 {
		return mount{}, false
	}
	last := f[fixed+sep+1:]
	id, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return mount{}, false
	}
	dev, ok := parseDevno(f[2])
	if !ok || !strings.HasPrefix(f[4], "/") {
		return mount{}, false
	}
	super := strings.Join(last[2:], " ")
	return mount{
		id:       id,
		dev:      dev,
		root:     unescape(f[3]),
		point:    unescape(f[4]),
		fsType:   unescape(last[0]),
		source:   unescape(last[1]),
		readOnly: hasOption(f[5], "ro") || hasOption(super, "ro"),
		super:    super,
	}, true
}

func parseDevno(s string) (devno, bool) {
	major, minor, ok := strings.Cut(s, ":")
	if !ok {
		return devno{}, false
	}
	ma, err1 := strconv.ParseUint(major, 10, 32)
	mi, err2 := strconv.ParseUint(minor, 10, 32)
	return devno{uint32(ma), uint32(mi)}, err1 == nil && err2 == nil
}

// find is the mount that a place lives on. The mount id that statx tells is exact. Without it (before Linux 5.8, or
// when the table is of another process), the device number picks the file system and the longest mount point above
// the path the mount; btrfs and overlay show device numbers to stat that no mount has, so there the mount point alone
// decides.
func (ms mounts) find(p place) (mount, bool) {
	if p.mountID != 0 {
		for _, m := range ms {
			if m.id == p.mountID && (m.dev == p.dev || m.above(p.path)) {
				return m, true
			}
		}
	}
	byDevice := func(m mount) bool { return m.dev == p.dev }
	for _, fits := range []func(mount) bool{
		func(m mount) bool { return byDevice(m) && m.above(p.path) },
		byDevice,
		func(m mount) bool { return p.dev.anonymous() && m.dev.anonymous() && m.above(p.path) },
	} {
		if m, ok := ms.longest(fits); ok {
			return m, true
		}
	}
	return mount{}, false
}

// longest is the fitting mount with the longest mount point. Of several on one point the last one is on top.
func (ms mounts) longest(fits func(mount) bool) (mount, bool) {
	var best mount
	found := false
	for _, m := range ms {
		if fits(m) && (!found || len(m.point) >= len(best.point)) {
			best, found = m, true
		}
	}
	return best, found
}

// above tells whether a path is at or below the mount point.
func (m mount) above(path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(m.point, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// option is the value of an option of the file system, "" when it is not set.
func (m mount) option(key string) string {
	for o := range strings.SplitSeq(m.super, ",") {
		if k, v, ok := strings.Cut(o, "="); ok && k == key {
			return unescape(v)
		}
	}
	return ""
}

func hasOption(list, name string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if o == name {
			return true
		}
	}
	return false
}

// unescape undoes the kernel's octal escapes of white space, backslash, comma and the like: `\040` is a space.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unquote takes the backslashes out that overlay wants before commas, colons and backslashes in its options.
func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
