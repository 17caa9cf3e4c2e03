package blockdev

import "time"

// Roots says where the kernel's file systems are mounted. The zero value means /sys, /proc and /dev.
type Roots struct {
	Sysfs  string // --path.sysfs
	Procfs string // --path.procfs
	Dev    string // --path.dev
}

// ID names one disk for as long as it lives: "model_serial", as in /dev/disk/by-id. It is unique on a host
// (monitor resolves collisions), not in a fleet. Identity.ID is the only maker of IDs.
type ID string

// Identity is what is known of a disk's name: without privileges from sysfs and the udev database, or as
// S.M.A.R.T. said it. Empty fields are unknown.
type Identity struct {
	Model     string `json:"model,omitempty"`
	Serial    string `json:"serial,omitempty"`
	WWN       string `json:"wwn,omitempty"` // "eui.…", "naa.…", "0x…" without separators, lower case; "" when blank or all zero
	Firmware  string `json:"firmware,omitempty"`
	Transport string `json:"transport,omitempty"` // "sata", "nvme", "sas", "usb", "mmc", "virtio", …
	Kernel    string `json:"kernel,omitempty"`    // kernel name now: "sda", "nvme0n1"; never part of an identity that has a serial
}

// Disk is one whole disk as the kernel describes it. One NVMe controller is one Disk however many
// namespaces it has; Namespaces then holds their kernel names, and Identity.Kernel the first of them (that of the
// controller when it has none left). Its Capacity is that of all namespaces, its I/O the sum of theirs.
type Disk struct {
	Identity
	Device     string   // path of the node that S.M.A.R.T. commands are sent to: /dev/sda, /dev/nvme0
	Namespaces []string // NVMe only
	Major      uint32
	Minor      uint32
	Capacity   int64 // bytes; 0 unknown
	Rotational *bool // as the kernel says; virtual disks lie, so it is never a gate for probing
	ReadOnly   bool
	Removable  bool
	Logical    int // logical block size in bytes; 0 unknown
	Physical   int // physical block size in bytes; 0 unknown

	MaxIOBytes int64  // the largest request the driver takes in one piece (queue/max_sectors_kb); 0 unknown
	Scheduler  string // the active one
	WriteCache string // "write back", "write through"

	LifeTime []string // eMMC only: the two fields of life_time, for example "0x02", "0x01"
	PreEOL   string   // eMMC only: pre_eol_info
}

// Counters are the kernel's I/O counters of one block device since boot (Documentation/block/stat.rst).
type Counters struct {
	At                                      time.Time // when they were read, with a monotonic clock
	ReadIOs, WriteIOs, DiscardIOs, FlushIOs uint64
	ReadBytes, WriteBytes, DiscardBytes     uint64
	ReadTime, WriteTime                     time.Duration // summed over all I/Os, so it may run faster than the clock
	Busy                                    time.Duration // time with at least one I/O in flight
	InFlight                                int           // now, not a counter
}

// Filesystem is where a path lives and what lies below it.
type Filesystem struct {
	Type       string // as in mountinfo: "ext4", "btrfs", "tmpfs"
	MountPoint string
	Source     string // as in mountinfo: "/dev/mapper/root"
	// Leaves are the kernel names of the whole disks below the path, sorted; dm, md, partitions, loop files and
	// btrfs volumes are followed. Empty when unknown: Why then says in words what stood in the way.
	Leaves []string
	Why    string
	// Stack are the kernel names of all block devices between the path and the leaves, top first ("dm-0", "md1",
	// "sda2", …, leaves included).
	Stack    []string
	ReadOnly bool
	Memory   bool // served from RAM: tmpfs, ramfs, or an overlay or loop on one
	Network  bool // NFS, CIFS, …: there is no local disk
	// Cached says in words what answers in the disks' place although direct I/O is asked for, and what to do about it: the
	// page cache under a loop device. It is said whether or not Leaves are known, which are right all the same, since what is
	// written gets there in the end. "" is nothing.
	Cached string
	// Software is that Leaves are unknown and the top of Stack is made by software (a ZFS volume, a loop device), which may
	// answer direct I/O from a cache of its own: what the kernel says of direct I/O there ends at that device.
	Software  bool
	Rebuild   bool // an md array below is resyncing, rebuilding or checking
	SizeBytes int64
	FreeBytes int64 // for an unprivileged user (f_bavail)
	// DirectMem and DirectOffset are the alignments in bytes of direct I/O on a regular file there
	// (STATX_DIOALIGN, else the device's logical block size); 0 when direct I/O is not supported or unknown. Folders
	// do not tell, so that whoever opens a file there asks DirectAlign again.
	DirectMem, DirectOffset int
}
