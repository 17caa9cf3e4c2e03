package blockdev

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nvmeController is the kernel name of a controller; its node takes S.M.A.R.T. commands.
var nvmeController = regexp.MustCompile(`^nvme([0-9]+)$`)

// nvmeDisk is a Disk while its namespaces are being collected.
type nvmeDisk struct {
	Disk
	seen map[string]bool // ids of namespaces already counted
}

// addNamespace adds a namespace to its disk. Which one that is, only the device link tells: the first number in
// "nvme0n1" is that of the subsystem, and need not be that of the controller. The link leads to the controller, or
// for a multipath namespace to the subsystem; both have the same attributes.
func (s *scan) addNamespace(ns Disk) {
	dir := s.sys.block(ns.Kernel, "device")
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return // unplugged
	}
	owner := filepath.Base(target)
	key := owner
	if subsystem, ok := s.subsystems()[owner]; ok {
		key = subsystem
	}
	id := cmp.Or(text(s.sys.block(ns.Kernel, "wwid")), ns.Kernel)
	d := s.nvme[key]
	if d == nil {
		d = &nvmeDisk{Disk: ns, seen: map[string]bool{id: true}}
		d.Identity = s.identifyNVMe(dir, ns.Kernel)
		d.WWN = s.namespaceWWN(ns.Kernel)
		controller := owner
		if !nvmeController.MatchString(owner) {
			controller = s.controllerOf(dir)
			d.Transport = s.nvmeTransport(s.sys.path("class", "nvme", controller))
		}
		if controller != "" {
			d.Device = s.roots.node(controller)
		}
		s.nvme[key] = d
	} else {
		if !d.seen[id] { // without native multipath one namespace shows up once per controller
			d.Capacity += ns.Capacity
		}
		d.seen[id] = true
		d.ReadOnly = d.ReadOnly && ns.ReadOnly
	}
	d.Namespaces = append(d.Namespaces, ns.Kernel)
}

// subsystems maps each controller to its subsystem.
func (s *scan) subsystems() map[string]string {
	if s.subsystemOf == nil {
		s.subsystemOf = map[string]string{}
		for _, subsystem := range entries(s.sys.path("class", "nvme-subsystem")) {
			for _, c := range entries(s.sys.path("class", "nvme-subsystem", subsystem)) {
				if nvmeController.MatchString(c) {
					s.subsystemOf[c] = subsystem
				}
			}
		}
	}
	return s.subsystemOf
}

// controllerOf picks the controller in a subsystem's folder that S.M.A.R.T. commands go to: the first live one.
func (s *scan) controllerOf(subsystem string) string {
	var all []string
	for _, name := range entries(subsystem) {
		if nvmeController.MatchString(name) {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(controllerNumber(a), controllerNumber(b)) })
	for _, name := range all {
		if text(filepath.Join(subsystem, name, "state")) == "live" {
			return name
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

func controllerNumber(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "nvme"))
	if err != nil {
		return 0
	}
	return n
}

// identifyNVMe reads a controller's or subsystem's identity.
func (s *scan) identifyNVMe(dir, kernel string) Identity {
	return Identity{
		Model:     text(filepath.Join(dir, "model")),
		Serial:    knownSerial(text(filepath.Join(dir, "serial"))),
		Firmware:  text(filepath.Join(dir, "firmware_rev")),
		Transport: s.nvmeTransport(dir),
		Kernel:    kernel,
	}
}

// nvmeTransport is "nvme" for a local disk and "nvme-tcp" and the like over a fabric. Old kernels do not say, and
// know little but PCI Express.
func (s *scan) nvmeTransport(controller string) string {
	switch t := text(filepath.Join(controller, "transport")); t {
	case "", "pcie", "apple-nvme":
		return "nvme"
	default:
		return "nvme-" + t
	}
}

// namespaceWWN prefers the EUI-64, which is the shortest and what S.M.A.R.T. tools print first. The kernel's own wwid
// comes last: where the drive has no number, it is made of the serial number, which is no WWN.
func (s *scan) namespaceWWN(ns string) string {
	for _, attr := range []string{"eui", "nguid"} {
		id := strings.ToLower(strings.Map(dropSeparators, text(s.sys.block(ns, attr))))
		if knownWWN(id) != "" {
			return "eui." + id
		}
	}
	id := strings.ToLower(text(s.sys.block(ns, "wwid")))
	if (strings.HasPrefix(id, "eui.") || strings.HasPrefix(id, "uuid.")) && knownWWN(id) != "" {
		return id
	}
	return ""
}

func dropSeparators(r rune) rune {
	if r == ' ' || r == '-' || r == ':' {
		return -1
	}
	return r
}

// addControllers adds the disks whose namespaces are gone: a failed drive, or one without a namespace. Discovery and
// administrative controllers of fabrics are no disks.
func (s *scan) addControllers() {
	for _, name := range entries(s.sys.path("class", "nvme")) {
		if !nvmeController.MatchString(name) {
			continue
		}
		key := cmp.Or(s.subsystems()[name], name)
		dir := s.sys.path("class", "nvme", name)
		if s.nvme[key] != nil || !isIOController(dir) {
			continue
		}
		id := s.identifyNVMe(dir, name)
		if id.Serial == "" {
			continue
		}
		s.nvme[key] = &nvmeDisk{Disk: Disk{Identity: id, Device: s.roots.node(name)}}
	}
}

func isIOController(dir string) bool {
	kind := text(filepath.Join(dir, "cntrltype")) // newer kernels only
	return (kind == "" || kind == "io") &&
		text(filepath.Join(dir, "subsysnqn")) != "nqn.2014-08.org.nvmexpress.discovery"
}
