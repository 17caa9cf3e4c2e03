package blockdev

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoDisks is the ground of most cases: sda and sdb with two partitions each.
func twoDisks(x tree) {
	x.sata("sda", 0, 2)
	x.sata("sdb", 16, 2)
}

func TestResolveFollowsEveryStackToItsDisks(t *testing.T) {
	tests := []struct {
		story  string
		build  func(tree)
		mounts []string
		places places
		path   string
		want   Filesystem
	}{{
		story:  "ext4 on a partition",
		mounts: []string{"8:1 / ext4 /dev/sda1 rw"},
		places: places{"/srv": folder("8:1")},
		path:   "/srv",
		want: Filesystem{
			Type: "ext4", MountPoint: "/", Source: "/dev/sda1", Leaves: []string{"sda"}, Stack: []string{"sda1", "sda"},
			SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story: "a container that hides the folder of device numbers",
		build: func(x tree) {
			if err := os.RemoveAll(x.root + "/dev/block"); err != nil {
				x.tb.Fatal(err)
			}
		},
		mounts: []string{"8:17 /data ext4 /dev/sdb1 rw"},
		places: places{"/data": folder("8:17")},
		path:   "/data",
		want: Filesystem{
			Type: "ext4", MountPoint: "/data", Source: "/dev/sdb1", Leaves: []string{"sdb"}, Stack: []string{"sdb1", "sdb"},
			SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story: "LVM on LUKS on RAID 1 on two partitions",
		build: func(x tree) {
			x.virtual("md1", "9:1", attrs{"md/sync_action": "idle"}, "sda2", "sdb2")
			x.virtual("dm-0", "253:0", attrs{"dm/name": "crypt"}, "md1")
			x.virtual("dm-1", "253:1", attrs{"dm/name": "vg-root"}, "dm-0")
		},
		mounts: []string{"253:1 / xfs /dev/mapper/vg-root rw"},
		places: places{"/srv": folder("253:1")},
		path:   "/srv",
		want: Filesystem{
			Type: "xfs", MountPoint: "/", Source: "/dev/mapper/vg-root", Leaves: []string{"sda", "sdb"},
			Stack:     []string{"dm-1", "dm-0", "md1", "sda2", "sda", "sdb2", "sdb"},
			SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story: "an array that recovers",
		build: func(x tree) {
			x.virtual("md1", "9:1", attrs{"md/sync_action": "recover"}, "sda1", "sdb1")
		},
		mounts: []string{"9:1 /srv ext4 /dev/md1 rw"},
		places: places{"/srv": folder("9:1")},
		path:   "/srv",
		want: Filesystem{
			Type: "ext4", MountPoint: "/srv", Source: "/dev/md1", Leaves: []string{"sda", "sdb"},
			Stack: []string{"md1", "sda1", "sda", "sdb1", "sdb"}, Rebuild: true,
			SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story: "btrfs over two devices, whose device number no mount has",
		build: func(x tree) {
			x.file("fs/btrfs/features/x", "")
			x.file("fs/btrfs/1111-2222/sectorsize", "4096")
			x.link("fs/btrfs/1111-2222/devices/sda1", "class/block/sda1")
			x.link("fs/btrfs/1111-2222/devices/sdb1", "class/block/sdb1")
			x.link("fs/btrfs/3333-4444/devices/sda2", "class/block/sda2")
		},
		mounts: []string{"0:30 /srv btrfs /dev/sda1 rw", "0:33 /other btrfs /dev/sda2 rw"},
		places: places{"/srv/sub": folder("0:31")},
		path:   "/srv/sub",
		want: Filesystem{
			Type: "btrfs", MountPoint: "/srv", Source: "/dev/sda1", Leaves: []string{"sda", "sdb"},
			Stack:     []string{"sda1", "sda", "sdb1", "sdb"},
			SizeBytes: 1000, FreeBytes: 500, DirectMem: 4096, DirectOffset: 4096,
		},
	}, {
		story: "btrfs on LVM: mountinfo names the mapper, sysfs the kernel name",
		build: func(x tree) {
			x.virtual("dm-0", "253:0", attrs{"dm/name": "vg-home"}, "sda1")
			x.link("fs/btrfs/1111/devices/dm-0", "class/block/dm-0")
		},
		mounts: []string{"0:30 /home btrfs /dev/mapper/vg-home rw"},
		places: places{"/home": folder("0:31")},
		path:   "/home",
		want: Filesystem{
			Type: "btrfs", MountPoint: "/home", Source: "/dev/mapper/vg-home", Leaves: []string{"sda"},
			Stack: []string{"dm-0", "sda1", "sda"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story:  "btrfs by a link that only /dev knows",
		build:  func(x tree) { x.link("fs/btrfs/1111/devices/sda1", "class/block/sda1") },
		mounts: []string{"0:30 /home btrfs /dev/disk/by-uuid/1111 rw"},
		places: places{"/home": folder("0:31"), "/dev/disk/by-uuid/1111": blockNode("8:1")},
		path:   "/home",
		want: Filesystem{
			Type: "btrfs", MountPoint: "/home", Source: "/dev/disk/by-uuid/1111", Leaves: []string{"sda"},
			Stack: []string{"sda1", "sda"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story:  "overlay whose upper folder is on ext4 and visible",
		mounts: []string{"8:1 / ext4 /dev/sda1 rw", `0:40 /merged overlay overlay rw,lowerdir=/l,upperdir=/up\0541,workdir=/w`},
		places: places{"/merged": folder("0:40"), "/up,1": folder("8:1")},
		path:   "/merged",
		want: Filesystem{
			Type: "overlay", MountPoint: "/merged", Source: "overlay", Leaves: []string{"sda"},
			Stack: []string{"sda1", "sda"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story: "NVMe multipath: the leaf is the visible namespace, not a path",
		build: func(x tree) {
			x.block("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0", nil)
			x.block("virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p2", "259:2", attrs{"partition": "2"})
			x.block("pci0000:00/0000:01:00.0/nvme/nvme3/nvme0c3n1", "0:99", attrs{"hidden": "1"})
		},
		mounts: []string{"259:2 / ext4 /dev/nvme0n1p2 rw"},
		places: places{"/": folder("259:2")},
		path:   "/",
		want: Filesystem{
			Type: "ext4", MountPoint: "/", Source: "/dev/nvme0n1p2", Leaves: []string{"nvme0n1"},
			Stack: []string{"nvme0n1p2", "nvme0n1"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story: "loop device on ext4, with sectors of 4096 bytes",
		build: func(x tree) {
			x.virtual("loop3", "7:3", attrs{
				"size": "2048", "loop/backing_file": "/var/disk.img", "loop/offset": "0",
				"loop/sizelimit": "0", "loop/dio": "1", "queue/logical_block_size": "4096",
			})
		},
		mounts: []string{"8:1 / ext4 /dev/sda1 rw", "7:3 /mnt xfs /dev/loop3 rw"},
		places: places{"/mnt": folder("7:3"), "/var/disk.img": regular("8:1", 2048*512)},
		path:   "/mnt",
		want: Filesystem{
			Type: "xfs", MountPoint: "/mnt", Source: "/dev/loop3", Leaves: []string{"sda"},
			Stack: []string{"loop3", "sda1", "sda"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 4096,
		},
	}, {
		story: "loop device that goes through the page cache",
		build: func(x tree) {
			x.virtual("loop3", "7:3", attrs{
				"size": "2048", "loop/backing_file": "/var/disk.img", "loop/offset": "0",
				"loop/sizelimit": "0", "loop/dio": "0",
			})
		},
		mounts: []string{"8:1 / ext4 /dev/sda1 rw", "7:3 /mnt xfs /dev/loop3 rw"},
		places: places{"/mnt": folder("7:3"), "/var/disk.img": regular("8:1", 2048*512)},
		path:   "/mnt",
		want: Filesystem{
			Type: "xfs", MountPoint: "/mnt", Source: "/dev/loop3", Leaves: []string{"sda"},
			Stack: []string{"loop3", "sda1", "sda"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
			Cached: "loop3 answers from the page cache; losetup --direct-io=on /dev/loop3 changes that",
		},
	}, {
		story: "loop device of a kernel that does not tell how it reads",
		build: func(x tree) {
			x.virtual("loop3", "7:3", attrs{
				"size": "2048", "loop/backing_file": "/var/disk.img", "loop/offset": "0",
				"loop/sizelimit": "0",
			})
		},
		mounts: []string{"8:1 / ext4 /dev/sda1 rw", "7:3 /mnt xfs /dev/loop3 rw"},
		places: places{"/mnt": folder("7:3"), "/var/disk.img": regular("8:1", 2048*512)},
		path:   "/mnt",
		want: Filesystem{
			Type: "xfs", MountPoint: "/mnt", Source: "/dev/loop3", Leaves: []string{"sda"},
			Stack: []string{"loop3", "sda1", "sda"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
			Cached: "loop3 answers from the page cache; losetup --direct-io=on /dev/loop3 changes that",
		},
	}, {
		story:  "XFS with its log on another disk",
		mounts: []string{"8:1 / xfs /dev/sda1 rw,logdev=/dev/sdb2,noquota"},
		places: places{"/": folder("8:1")},
		path:   "/",
		want: Filesystem{
			Type: "xfs", MountPoint: "/", Source: "/dev/sda1", Leaves: []string{"sda", "sdb"},
			Stack: []string{"sda1", "sda", "sdb2", "sdb"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story:  "a raw disk by its node",
		places: places{"/dev/sdb": blockNode("8:16")},
		path:   "/dev/sdb",
		want: Filesystem{
			Source: "/dev/sdb", Leaves: []string{"sdb"}, Stack: []string{"sdb"},
			SizeBytes: 2048000 * 512, DirectMem: 512, DirectOffset: 512,
		},
	}, {
		story:  "a hardware partition of an eMMC",
		build:  func(x tree) { emmc(x); x.block(emmcPlace+"/mmcblk0gp0", "179:8", nil) },
		mounts: []string{"179:8 /data ext4 /dev/mmcblk0gp0 rw"},
		places: places{"/data": folder("179:8")},
		path:   "/data",
		want: Filesystem{
			Type: "ext4", MountPoint: "/data", Source: "/dev/mmcblk0gp0", Leaves: []string{"mmcblk0"},
			Stack: []string{"mmcblk0gp0", "mmcblk0"}, SizeBytes: 1000, FreeBytes: 500, DirectMem: 512, DirectOffset: 512,
		},
	}}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			twoDisks(x)
			if tc.build != nil {
				tc.build(x)
			}
			got := resolveIn(t, x, tc.mounts, tc.places, tc.path)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("Resolve(%s): -want +got\n%s", tc.path, d)
			}
			requireLeavesAreDisks(t, x, got)
		})
	}
}

func resolveIn(t *testing.T, x tree, lines []string, ps places, path string) Filesystem {
	t.Helper()
	v := view{roots: x.roots(), sys: x.sys(), mounts: mountTable(lines...), locate: ps.locate}
	p, err := ps.locate(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.resolve(p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// requireLeavesAreDisks holds what callers rely on when they join the two.
func requireLeavesAreDisks(t *testing.T, x tree, f Filesystem) {
	t.Helper()
	disks, err := Disks(x.roots())
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range f.Leaves {
		if !strings.HasPrefix(leaf, "nvme") && !anyHas(disks, leaf) {
			t.Errorf("leaf %s is not among Disks", leaf)
		}
	}
}

func anyHas(disks []Disk, kernel string) bool {
	for _, d := range disks {
		if d.Has(kernel) {
			return true
		}
	}
	return false
}

func TestResolveReadOnly(t *testing.T) {
	tests := []struct {
		story string
		line  string
		build func(tree)
		place place
		want  bool
	}{
		{"writable", "8:1 / ext4 /dev/sda1 rw,errors=remount-ro", nil, folder("8:1"), false},
		{"file system went read-only after an error", "8:1 / ext4 /dev/sda1 ro,errors=remount-ro", nil, folder("8:1"), true},
		{"statfs says so", "8:1 / ext4 /dev/sda1 rw", nil, func() place { p := folder("8:1"); p.readOnly = true; return p }(), true},
		{"partition is write-protected", "8:1 / ext4 /dev/sda1 rw", func(x tree) {
			x.file("class/block/sda1/ro", "1")
		}, folder("8:1"), true},
		{"disk is write-protected", "8:1 / ext4 /dev/sda1 rw", func(x tree) {
			x.file("class/block/sda/ro", "1")
		}, folder("8:1"), true},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			twoDisks(x)
			if tc.build != nil {
				tc.build(x)
			}
			if got := resolveIn(t, x, []string{tc.line}, places{"/": tc.place}, "/"); got.ReadOnly != tc.want {
				t.Errorf("ReadOnly = %v, want %v", got.ReadOnly, tc.want)
			}
		})
	}
}

func TestResolveStopsInAnEndlessTower(t *testing.T) {
	x := newTree(t)
	// Each loop device lies in a file on the file system of the next.
	ps := places{"/mnt": folder("7:0")}
	for i := range 100 {
		name, file := "loop"+itoa(i), "/f"+itoa(i)
		x.virtual(name, "7:"+itoa(i), attrs{"size": "8", "loop/backing_file": file, "loop/offset": "0", "loop/sizelimit": "0"})
		ps[file] = regular("7:"+itoa(i+1), 4096)
	}
	got := resolveIn(t, x, []string{"7:0 /mnt ext4 /dev/loop0 rw"}, ps, "/mnt")
	if got.Leaves != nil || !strings.Contains(got.Why, "levels") {
		t.Errorf("leaves %v, why %q; want none and a word about the levels", got.Leaves, got.Why)
	}
}

func TestResolveStopsInAnEndlessStackOfMappings(t *testing.T) {
	x := newTree(t)
	x.sata("sda", 0, 0)
	below := "sda"
	for i := range 100 {
		name := "dm-" + itoa(i)
		x.virtual(name, "253:"+itoa(i), nil, below)
		below = name
	}
	got := resolveIn(t, x, []string{"253:99 /mnt ext4 /dev/dm-99 rw"}, places{"/mnt": folder("253:99")}, "/mnt")
	if got.Leaves != nil || !strings.Contains(got.Why, "levels") {
		t.Errorf("leaves %v, why %q; want none and a word about the levels", got.Leaves, got.Why)
	}
}

func TestResolveKeepsTheKernelsAlignment(t *testing.T) {
	x := newTree(t)
	twoDisks(x)
	p := regular("8:1", 1<<20)
	p.directMem, p.directOffset = 4, 4096
	got := resolveIn(t, x, []string{"8:1 / ext4 /dev/sda1 rw"}, places{"/f": p}, "/f")
	if got.DirectMem != 4 || got.DirectOffset != 4096 {
		t.Errorf("alignment = %d/%d, want the 4/4096 that statx said", got.DirectMem, got.DirectOffset)
	}
}

func TestResolveClaimsNoDirectIOForFileSystemsThatHaveNone(t *testing.T) {
	x := newTree(t)
	twoDisks(x)
	got := resolveIn(t, x, []string{"8:1 /mnt fuseblk /dev/sda1 rw"}, places{"/mnt": folder("8:1")}, "/mnt")
	if got.DirectMem != 0 || got.DirectOffset != 0 {
		t.Errorf("alignment = %d/%d, want 0/0", got.DirectMem, got.DirectOffset)
	}
	if d := cmp.Diff([]string{"sda"}, got.Leaves); d != "" {
		t.Errorf("leaves: -want +got\n%s", d)
	}
}
