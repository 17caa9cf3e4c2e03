package blockdev

import (
	"path"
	"regexp"
	"strings"
)

// kind is what stands behind a block device that has no devices below it in sysfs.
type kind int

const (
	notDisk   kind = iota // something else, or not known
	wholeDisk             // a disk, local or as good as local: SATA, NVMe, virtio, iSCSI …
	inMemory
	remote
)

// classify tells what a device without devices below it is, by its kernel name and its place in the device tree, with
// a note in words for all but disks. Everything below devices/virtual/block is made by software: it is a disk in no
// case, and where its data really is, only some of it says.
func classify(name, hardware string) (kind, string) {
	switch base := strings.TrimRight(name, "0123456789"); base {
	case "zram", "ram", "nullb":
		return inMemory, "is in RAM"
	case "nbd", "rbd":
		return remote, "is a network block device"
	case "sr", "fd", "mtdblock":
		return notDisk, "is no disk"
	case "dm-", "md", "md_d", "bcache":
		return notDisk, "has no devices below it"
	case "loop":
		return notDisk, "is a file"
	}
	switch {
	case nvmePath.MatchString(name):
		return notDisk, "is one path to a multipath disk"
	case strings.HasPrefix(hardware, softwarePlace):
		return notDisk, "is made by software that does not tell where its data is"
	}
	return wholeDisk, ""
}

// softwarePlace is where in the device tree the block devices are that software makes, partitions on them included.
const softwarePlace = "devices/virtual/block/"

// virtual tells whether a device or the disk of a partition is made by software; false when that is not known.
func (s sysfs) virtual(kernel string) bool {
	hw, err := s.hardware(kernel)
	return err == nil && strings.HasPrefix(hw, softwarePlace)
}

var (
	// nvmePath is a hidden path device of a multipath NVMe namespace: nvme0c1n1.
	nvmePath = regexp.MustCompile(`^nvme[0-9]+c[0-9]+n[0-9]+$`)
	// mmcPart is a hardware partition of an eMMC, which sysfs shows as a disk: mmcblk0boot0.
	mmcPart = regexp.MustCompile(`^(mmcblk[0-9]+)(?:boot|gp)[0-9]+$`)
)

// parent is the disk of a partition, or of a hardware partition of an eMMC. Other devices have none.
func (s sysfs) parent(kernel string) (string, bool) {
	if m := mmcPart.FindStringSubmatch(kernel); m != nil {
		return m[1], true
	}
	if _, ok := number(s.block(kernel, "partition")); !ok {
		return "", false
	}
	hw, err := s.hardware(kernel)
	if err != nil {
		return "", false
	}
	return path.Base(path.Dir(hw)), true
}

// byMapperName is the kernel name of a device-mapper device: "vg-root" is "dm-0".
func (s sysfs) byMapperName(name string) (string, bool) {
	for _, dev := range entries(s.path("class", "block")) {
		if strings.HasPrefix(dev, "dm-") && text(s.block(dev, "dm", "name")) == name {
			return dev, true
		}
	}
	return "", false
}

// directIO tells whether a file system on block devices passes direct I/O on to them; false when not known. It is
// asked only where the kernel does not say itself (STATX_DIOALIGN).
func directIO(fsType string) bool {
	switch fsType {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "reiserfs", "vfat", "exfat", "ntfs3", "gfs2", "ocfs2":
		return true
	}
	return false
}

// diskless says why a file system with a made-up device number has no disks.
func (w *walk) diskless(m mount) {
	switch base, _, _ := strings.Cut(m.fsType, "."); m.fsType {
	case "tmpfs", "ramfs", "devtmpfs", "rootfs", "hugetlbfs":
		w.memory = append(w.memory, m.fsType+" is in RAM")
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "afs", "lustre", "beegfs", "gpfs", "orangefs", "coda", "ncpfs",
		"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.s3fs", "fuse.rclone", "fuse.juicefs", "fuse.davfs2":
		w.network = append(w.network, m.fsType+" from "+m.source+" is on another machine")
	case "9p", "virtiofs", "vboxsf", "fuse.vmhgfs-fuse", "prl_fs":
		w.network = append(w.network, m.fsType+" is served by the host of this virtual machine")
	case "zfs":
		w.stop("ZFS does not tell the kernel which disks the pool of %s is on", m.source)
	default:
		if base == "fuse" {
			w.stop("%s is a program (FUSE): where its data is, the kernel does not know", m.fsType)
			return
		}
		w.stop("the file system %s does not tell which disks it is on", m.fsType)
	}
}
