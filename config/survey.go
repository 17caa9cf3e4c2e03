package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"ssd_exporter/blockdev"
)

// Survey is what a host has to offer for probing; Generate makes a configuration of it.
type Survey struct {
	Mounts []blockdev.Mounted
	Disks  []blockdev.Disk
	State  string // the state folder: absolute, symbolic links resolved
	Used   bool   // the state folder holds a history: the target there keeps the name that it has without a configuration
}

// probeFolder is the folder of a target on a file system that does not hold the state folder.
const probeFolder = ".ssd_exporter"

// leastFileSystem is the size in bytes below which a probe file of the least size would be more than 5 percent of even an
// empty file system.
const leastFileSystem = 20 * int64(minFileSize)

// proposal is one file system that could be probed.
type proposal struct {
	fs    *blockdev.Mounted
	disks []blockdev.Disk
	name  string
	path  string // "" is the state folder
	off   string // why it comes commented out; "" when it does not
	note  string
}

// proposals are the file systems on local disks that can be written to, sorted by mount point, and in words those that were
// left out though somebody might look for them.
func (s *Survey) proposals() (all []proposal, left []string) {
	home := blockdev.HoldsPath(s.Mounts, s.State)
	for i := range s.Mounts {
		fs := &s.Mounts[i]
		if why, worthSaying := unsuitable(fs); why != "" {
			if worthSaying || fs == home {
				left = append(left, fmt.Sprintf("%s: %s", shown(fs.MountPoint), shown(why)))
			}
			continue
		}
		p := proposal{fs: fs, disks: s.disksBelow(fs), path: filepath.Join(fs.MountPoint, probeFolder), name: targetNameOf(fs.MountPoint)}
		if fs == home {
			p.path = ""
			if s.Used {
				p.name = Default().Targets[0].Name
			}
		}
		p.off, p.note = p.doubts()
		all = append(all, p)
	}
	distinguish(all)
	oneEach(all)
	return all, left
}

// unsuitable says why a file system is no place for a probe file; "" when it is one. worthSaying is false for what nobody
// takes for a disk.
func unsuitable(fs *blockdev.Mounted) (why string, worthSaying bool) {
	switch fs.Type {
	case "overlay", "squashfs", "erofs", "cramfs", "iso9660", "udf":
		return fs.Type + " is no file system of its own disk", false
	case "vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "hfs", "hfsplus":
		return fs.Type + " does not keep owners and permissions, by which the probe file is proven to be ours", true
	}
	onDevice := strings.HasPrefix(fs.Source, "/dev/") || fs.Type == "zfs" || fs.Type == "btrfs"
	switch {
	case fs.Memory:
		return fs.Type + " is in RAM", false
	case fs.Network:
		return fs.Why, true
	case slices.ContainsFunc(fs.Stack, func(d string) bool { return strings.HasPrefix(d, "loop") }):
		return "it lies in a file (loop device)", true
	case len(fs.Leaves) == 0:
		return cmp.Or(fs.Why, "its disks are unknown"), onDevice
	case fs.ReadOnly:
		return "it is read-only", true
	case isBoot(fs.MountPoint):
		return "it holds what the machine starts from", true
	case !utf8.ValidString(fs.MountPoint):
		return "its mount point is not UTF-8, which a configuration must be", true
	}
	return "", false
}

func isBoot(point string) bool {
	return point == "/boot" || strings.HasPrefix(point, "/boot/") || point == "/efi"
}

func (s *Survey) disksBelow(fs *blockdev.Mounted) []blockdev.Disk {
	var below []blockdev.Disk
	for _, d := range s.Disks {
		if slices.ContainsFunc(fs.Leaves, d.Has) {
			below = append(below, d)
		}
	}
	return below
}

// doubts are why a file system is better not probed unasked, and what else should be known of it.
func (p *proposal) doubts() (off, note string) {
	for _, d := range p.disks {
		switch {
		case d.Transport == "mmc":
			return fmt.Sprintf("%s is an eMMC or SD card, to which nothing is ever written; as a device it can be read, with path: %s and profile: read_only", d.Kernel, shown(d.Device)), ""
		case d.Removable:
			return d.Kernel + " is removable", ""
		case d.Rotational != nil && *d.Rotational && isVirtual(d):
			note = fmt.Sprintf("The kernel calls %s rotational, which it says of virtual disks whatever they lie on.", d.Kernel)
		case d.Rotational != nil && *d.Rotational:
			return d.Kernel + " is rotational: a hard disk, says the kernel", ""
		}
	}
	if n := p.fs.SizeBytes; n > 0 && n < leastFileSystem {
		return fmt.Sprintf("it is too small: a probe file takes at most 5 percent of the free space, and not less than %s", minFileSize), ""
	}
	return "", note
}

// isVirtual says that a disk is made by a hypervisor, which does not know or tell what it lies on.
func isVirtual(d blockdev.Disk) bool {
	return d.Transport == "virtio" || d.Transport == "xen" || strings.HasPrefix(d.Model, "QEMU ")
}

// distinguish gives equal names numbers. The state folder's name stays: it may have a history.
func distinguish(all []proposal) {
	taken := map[string]bool{}
	for _, p := range all {
		if p.path == "" {
			taken[p.name] = true
		}
	}
	for i := range all {
		if all[i].path == "" {
			continue
		}
		name := all[i].name
		for n := 2; taken[name]; n++ {
			suffix := fmt.Sprintf("-%d", n)
			name = all[i].name[:min(len(all[i].name), 64-len(suffix))] + suffix
		}
		all[i].name, taken[name] = name, true
	}
}

// oneEach leaves at most one target on each disk: the largest file system, and of equals the one with the state folder.
func oneEach(all []proposal) {
	bySize := make([]*proposal, 0, len(all))
	for i := range all {
		if all[i].off == "" {
			bySize = append(bySize, &all[i])
		}
	}
	slices.SortStableFunc(bySize, func(a, b *proposal) int {
		return cmp.Or(cmp.Compare(b.fs.SizeBytes, a.fs.SizeBytes), cmp.Compare(min(len(a.path), 1), min(len(b.path), 1)))
	})
	owner := map[string]string{} // target by disk
	for _, p := range bySize {
		disks := p.diskNames()
		if i := slices.IndexFunc(disks, func(d string) bool { return owner[d] != "" }); i >= 0 {
			p.off = fmt.Sprintf("target %s is on %s too, and no smaller; two would take turns there and share one write budget", owner[disks[i]], disks[i])
			continue
		}
		for _, d := range disks {
			owner[d] = p.name
		}
	}
}

// diskNames are the kernel names of the disks below; namespaces of one NVMe disk are one.
func (p *proposal) diskNames() []string {
	var names []string
	for _, leaf := range p.fs.Leaves {
		name := leaf
		for _, d := range p.disks {
			if d.Has(leaf) {
				name = d.Kernel
			}
		}
		names = append(names, name)
	}
	return names
}

// notInName is what a target's name may not have.
var notInName = regexp.MustCompile(`[^a-zA-Z0-9_.]+`)

// targetNameOf makes a mount point a name: "/" is root, "/srv/db" is srv-db.
func targetNameOf(point string) string {
	if point == "/" {
		return "root"
	}
	name := strings.Trim(notInName.ReplaceAllString(point, "-"), "-")
	return cmp.Or(name[:min(len(name), 64)], "target")
}

// about says in a line what a proposal is: where, how large, on what.
func (p *proposal) about() string {
	var b strings.Builder
	b.WriteString(shown(p.fs.MountPoint) + ": " + shown(p.fs.Type))
	if p.fs.SizeBytes > 0 {
		b.WriteString(", " + humanize.Bytes(uint64(p.fs.SizeBytes)))
	}
	for i, leaf := range p.fs.Leaves {
		b.WriteString([]string{" on ", " and "}[min(i, 1)] + leaf)
		for _, d := range p.disks {
			if d.Has(leaf) {
				b.WriteString(inBrackets(d.Model, d.Transport))
			}
		}
	}
	return b.String()
}

func inBrackets(words ...string) string {
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return ""
	}
	return " (" + shown(strings.Join(words, ", ")) + ")"
}

// shown is text of a disk or a file system as it may stand in a comment: on one line, and not endless.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}
