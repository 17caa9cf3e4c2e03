package blockdev

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Disks lists the whole disks that the kernel knows, sorted by kernel name. Partitions, stacked devices (dm, md,
// bcache), files and RAM (loop, zram), network block devices, optical and floppy drives, empty card readers and the
// hidden paths of multipath NVMe are none. One NVMe disk is one Disk, however many namespaces and, within one
// subsystem, controllers it has; one that lost its namespaces is still listed, by the name of its controller, because
// it can still be asked why. Only sysfs is read: no disk is opened or woken. A disk that is unplugged meanwhile is
// left out.
func Disks(r Roots) ([]Disk, error) {
	r = r.WithDefaults()
	sys := sysfs(r.Sysfs)
	dir := sys.path("class", "block")
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing disks (is --path.sysfs right?): %w", err)
	}
	s := scan{roots: r, sys: sys, nvme: map[string]*nvmeDisk{}}
	for _, e := range names {
		s.add(e.Name())
	}
	return s.finish(), nil
}

// scan is one pass over the block devices.
type scan struct {
	roots Roots
	sys   sysfs
	disks []Disk
	nvme  map[string]*nvmeDisk // by subsystem, or by controller where sysfs has no subsystems

	subsystemOf map[string]string // by controller; nil: not read yet
}

func (s *scan) add(name string) {
	hw, err := s.sys.hardware(name)
	if err != nil {
		return // unplugged
	}
	if k, _ := classify(name, hw); k != wholeDisk {
		return
	}
	if _, isPart := s.sys.parent(name); isPart || flag(s.sys.block(name, "hidden")) {
		return
	}
	if len(entries(s.sys.block(name, "slaves"))) > 0 {
		return
	}
	d, ok := s.describe(name)
	if !ok {
		return
	}
	if strings.HasPrefix(name, "nvme") {
		s.addNamespace(d)
		return
	}
	d.Device = s.roots.node(name)
	d.Identity = s.identify(name, hw)
	if life := text(s.sys.block(name, "device", "life_time")); life != "" {
		d.LifeTime = strings.Fields(life)
	}
	d.PreEOL = text(s.sys.block(name, "device", "pre_eol_info"))
	s.disks = append(s.disks, d)
}

// describe reads what the block layer knows. It is false for a device without a medium.
func (s *scan) describe(name string) (Disk, bool) {
	attr := func(elem ...string) string { return s.sys.block(name, elem...) }
	dev, ok := parseDevno(text(attr("dev")))
	if !ok {
		return Disk{}, false
	}
	d := Disk{
		Identity:   Identity{Kernel: name},
		Major:      dev.major,
		Minor:      dev.minor,
		Capacity:   size(attr("size"), sectorSize),
		ReadOnly:   flag(attr("ro")),
		Removable:  flag(attr("removable")),
		Logical:    int(size(attr("queue", "logical_block_size"), 1)),
		Physical:   int(size(attr("queue", "physical_block_size"), 1)),
		MaxIOBytes: size(attr("queue", "max_sectors_kb"), 1024),
		Scheduler:  activeScheduler(text(attr("queue", "scheduler"))),
		WriteCache: text(attr("queue", "write_cache")),
	}
	switch text(attr("queue", "rotational")) {
	case "0":
		d.Rotational = new(false)
	case "1":
		d.Rotational = new(true)
	}
	return d, d.Capacity > 0
}

func (s *scan) finish() []Disk {
	s.addControllers()
	for _, d := range s.nvme {
		s.disks = append(s.disks, d.Disk)
	}
	slices.SortFunc(s.disks, func(a, b Disk) int { return cmp.Compare(a.Kernel, b.Kernel) })
	return s.disks
}

// Has tells whether a block device, such as a leaf of Resolve, is this disk or one of its namespaces.
func (d Disk) Has(kernel string) bool {
	return kernel != "" && (d.Kernel == kernel || slices.Contains(d.Namespaces, kernel))
}

// activeScheduler is the one in brackets: "[mq-deadline] kyber none".
func activeScheduler(s string) string {
	for f := range strings.FieldsSeq(s) {
		if name, ok := strings.CutPrefix(f, "["); ok {
			return strings.TrimSuffix(name, "]")
		}
	}
	if !strings.Contains(s, " ") {
		return s // devices with no choice print "none"
	}
	return ""
}
