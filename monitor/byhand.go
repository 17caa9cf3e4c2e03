package monitor

import (
	"fmt"
	"slices"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/smart"
)

// Charges are the disks below a file system and the daily allowance of each, for a command that a person runs by hand: by
// the service's own rules, so that both charge the same records. health tells what a disk says of itself, nil when that is
// not known: a worn disk is then not recognised, and its ID is the one that the kernel's names make. The error says that
// the disks below are not known.
func Charges(fs *blockdev.Filesystem, o Options, health func(blockdev.Disk) *smart.Health) ([]ledger.Charge, error) {
	if len(fs.Leaves) == 0 {
		return nil, fmt.Errorf("the disks below %s are not known: %s", fs.Source, fs.Why)
	}
	disks, err := blockdev.Disks(o.Roots)
	if err != nil {
		return nil, fmt.Errorf("looking for the disks below %s: %w; check --path.sysfs", fs.Source, err)
	}
	guards := o.Guards.withDefaults()
	var charges []ledger.Charge
	for _, leaf := range fs.Leaves {
		l := leafDisk{id: blockdev.Identity{Kernel: leaf}.ID(), kernel: leaf}
		var rated *Rating
		if i := slices.IndexFunc(disks, func(d blockdev.Disk) bool { return d.Has(leaf) }); i >= 0 {
			l.info, l.mmc = &disks[i], disks[i].Transport == "mmc"
			id := disks[i].Identity
			if l.known = health(disks[i]); l.known != nil {
				id = spelt(id, l.known.Identity)
			}
			l.id, rated = id.ID(), rating(o.Ratings, id.Model)
		}
		c := ledger.Charge{Disk: l.id, PerDay: allowance(l, rated, guards, o.PerDay)}
		if !slices.Contains(charges, c) { // two namespaces of one controller are one disk
			charges = append(charges, c)
		}
	}
	return charges, nil
}
