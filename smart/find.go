package smart

import (
	"fmt"
	"slices"
	"strings"

	"ssd_exporter/blockdev"
)

// Find lists the disks that may have S.M.A.R.T., in the order of blockdev.Disks: every NVMe disk and every disk of the SCSI
// layer (SATA, SAS, USB, and the virtual ones that pretend to be such, which then say themselves that they have nothing),
// and each eMMC that tells its life time. Disks that have no way to be asked are left out: virtio, Xen and other
// paravirtual disks, SD cards. Only sysfs is read, so that it may be called before every poll: nothing is opened or woken.
func Find(r blockdev.Roots) ([]blockdev.Disk, error) {
	disks, err := blockdev.Disks(r)
	if err != nil {
		return nil, fmt.Errorf("looking for disks with S.M.A.R.T.: %w", err)
	}
	return slices.DeleteFunc(disks, func(d blockdev.Disk) bool { return wayOf(d) == noWay }), nil
}

// way is how a disk is asked.
type way int

const (
	noWay way = iota
	wayNVMe
	waySD  // SCSI layer, then ATA or SCSI
	wayMMC // sysfs
)

// wayOf goes by the kernel's driver, which the kernel name tells: that is what takes the commands, whatever the transport.
func wayOf(d blockdev.Disk) way {
	switch {
	case strings.HasPrefix(d.Kernel, "nvme"):
		return wayNVMe
	case strings.HasPrefix(d.Kernel, "sd"):
		return waySD
	case strings.HasPrefix(d.Kernel, "mmcblk") && len(d.LifeTime) > 0:
		return wayMMC
	}
	return noWay
}
