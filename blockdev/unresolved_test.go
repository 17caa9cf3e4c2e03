package blockdev

import (
	"strings"
	"testing"
)

// Every case must have no leaf disks, a reason in words, and no alignment made up.
func TestResolveWithoutLocalDiskSaysWhy(t *testing.T) {
	tests := []struct {
		story   string
		build   func(tree)
		mounts  []string
		places  places
		path    string
		why     string
		memory  bool
		network bool
		cached  string // what Cached says
	}{{
		story:  "tmpfs is memory",
		mounts: []string{"0:23 /dev/shm tmpfs tmpfs rw"},
		places: places{"/dev/shm/x": folder("0:23")},
		path:   "/dev/shm/x", why: "RAM", memory: true,
	}, {
		story:  "overlay with its upper folder on tmpfs is memory",
		mounts: []string{"0:23 /run tmpfs tmpfs rw", "0:40 / overlay overlay rw,lowerdir=/l,upperdir=/run/up,workdir=/run/w"},
		places: places{"/": folder("0:40"), "/run/up": folder("0:23")},
		path:   "/", why: "RAM", memory: true,
	}, {
		story: "loop device on tmpfs is memory",
		build: func(x tree) {
			x.virtual("loop0", "7:0", attrs{"size": "8", "loop/backing_file": "/run/img", "loop/offset": "0", "loop/sizelimit": "0"})
		},
		mounts: []string{"0:23 /run tmpfs tmpfs rw", "7:0 /mnt ext4 /dev/loop0 rw"},
		places: places{"/mnt": folder("7:0"), "/run/img": regular("0:23", 4096)},
		path:   "/mnt", why: "RAM", memory: true, cached: "loop0 answers from the page cache",
	}, {
		story:  "zram is memory",
		build:  func(x tree) { x.virtual("zram0", "252:0", nil) },
		mounts: []string{"252:0 /tmp ext4 /dev/zram0 rw"},
		places: places{"/tmp": folder("252:0")},
		path:   "/tmp", why: "zram0 is in RAM", memory: true,
	}, {
		story:  "NFS is another machine",
		mounts: []string{"0:50 /home nfs4 server:/home rw"},
		places: places{"/home": folder("0:50")},
		path:   "/home", why: "server:/home", network: true,
	}, {
		story:  "network block device",
		build:  func(x tree) { x.virtual("nbd0", "43:0", nil) },
		mounts: []string{"43:0 /mnt ext4 /dev/nbd0 rw"},
		places: places{"/mnt": folder("43:0")},
		path:   "/mnt", why: "network block device", network: true,
	}, {
		story:  "overlay inside a container: the upper folder is the host's",
		mounts: []string{"0:40 / overlay overlay rw,lowerdir=/l,upperdir=/var/lib/docker/x/diff,workdir=/w"},
		places: places{"/": folder("0:40")},
		path:   "/", why: "not visible from here; use a folder that is mounted from the host",
	}, {
		story: "overlay inside a container with another folder of that name",
		mounts: []string{
			"0:40 / overlay overlay rw,lowerdir=/l,upperdir=/var/lib/docker/x/diff,workdir=/w",
			"8:1 /var/lib/docker ext4 /dev/sda1 rw",
		},
		places: places{"/": folder("0:40"), "/var/lib/docker/x/diff": sized(folder("8:1"), 77)},
		path:   "/", why: "is something else",
	}, {
		story:  "overlay whose upper folder's name leads back into the overlay",
		mounts: []string{"0:40 / overlay overlay rw,lowerdir=/l,upperdir=/up,workdir=/w"},
		places: places{"/": folder("0:40"), "/up": folder("0:40")},
		path:   "/", why: "is something else",
	}, {
		story:  "overlay for reading only",
		mounts: []string{"0:40 / overlay overlay ro,lowerdir=/a:/b"},
		places: places{"/": folder("0:40")},
		path:   "/", why: "no upper folder",
	}, {
		story: "loop device whose file was deleted",
		build: func(x tree) {
			x.virtual("loop0", "7:0", attrs{"loop/backing_file": "/var/img (deleted)"})
		},
		mounts: []string{"7:0 /mnt ext4 /dev/loop0 rw"},
		places: places{"/mnt": folder("7:0")},
		path:   "/mnt", why: "not visible from here", cached: "loop0 answers from the page cache",
	}, {
		story: "loop device with direct I/O of its own whose file was deleted",
		build: func(x tree) {
			x.virtual("loop0", "7:0", attrs{"loop/backing_file": "/var/img (deleted)", "loop/dio": "1"})
		},
		mounts: []string{"7:0 /mnt ext4 /dev/loop0 rw"},
		places: places{"/mnt": folder("7:0")},
		path:   "/mnt", why: "not visible from here",
	}, {
		story: "loop device set up in other mounts: a smaller file of that name here",
		build: func(x tree) {
			x.virtual("loop0", "7:0", attrs{"size": "2048", "loop/backing_file": "/var/img", "loop/offset": "0", "loop/sizelimit": "0"})
		},
		mounts: []string{"7:0 /mnt ext4 /dev/loop0 rw", "8:1 / ext4 /dev/sda1 rw"},
		places: places{"/mnt": folder("7:0"), "/var/img": regular("8:1", 4096)},
		path:   "/mnt", why: "another size", cached: "loop0 answers from the page cache",
	}, {
		story:  "ZFS",
		mounts: []string{"0:44 /tank zfs tank/data rw"},
		places: places{"/tank": folder("0:44")},
		path:   "/tank", why: "tank/data",
	}, {
		story:  "FUSE",
		mounts: []string{"0:44 /m fuse.mergerfs a:b rw"},
		places: places{"/m": folder("0:44")},
		path:   "/m", why: "fuse.mergerfs is a program",
	}, {
		story:  "btrfs on a device that is in no volume",
		mounts: []string{"0:30 /srv btrfs /dev/sda1 rw"},
		places: places{"/srv": folder("0:31")},
		path:   "/srv", why: "no volume in sysfs has that device",
	}, {
		story:  "btrfs on /dev/root, which nothing knows",
		mounts: []string{"0:30 / btrfs /dev/root rw"},
		places: places{"/": folder("0:31")},
		path:   "/", why: "btrfs on /dev/root",
	}, {
		story:  "block device that this sysfs does not have",
		mounts: []string{"254:0 / ext4 /dev/vda rw"},
		places: places{"/": folder("254:0")},
		path:   "/", why: "--path.sysfs",
	}, {
		story:  "device mapper without a table",
		build:  func(x tree) { x.virtual("dm-0", "253:0", nil) },
		mounts: []string{"253:0 / ext4 /dev/dm-0 rw"},
		places: places{"/": folder("253:0")},
		path:   "/", why: "dm-0 has no devices below it",
	}, {
		story:  "ZFS volume, DRBD and other software disks",
		build:  func(x tree) { x.virtual("zd0", "230:0", nil) },
		mounts: []string{"230:0 / ext4 /dev/zd0 rw"},
		places: places{"/": folder("230:0")},
		path:   "/", why: "zd0 is made by software",
	}, {
		story: "partition of a ZFS volume",
		build: func(x tree) {
			x.virtual("zd0", "230:0", nil)
			x.block("virtual/block/zd0/zd0p1", "230:1", attrs{"partition": "1"})
		},
		mounts: []string{"230:1 / ext4 /dev/zd0p1 rw"},
		places: places{"/": folder("230:1")},
		path:   "/", why: "zd0 is made by software",
	}, {
		story: "half of a mirror on a network block device: not half an answer",
		build: func(x tree) {
			x.virtual("nbd0", "43:0", nil)
			x.virtual("md0", "9:0", nil, "sda1", "nbd0")
		},
		mounts: []string{"9:0 / ext4 /dev/md0 rw"},
		places: places{"/": folder("9:0")},
		path:   "/", why: "only a part of it is on local disks: nbd0",
	}, {
		story: "one leg of an array unknown: no leaves at all",
		build: func(x tree) {
			x.virtual("zd0", "230:0", nil)
			x.virtual("md0", "9:0", nil, "sda1", "zd0")
		},
		mounts: []string{"9:0 / ext4 /dev/md0 rw"},
		places: places{"/": folder("9:0")},
		path:   "/", why: "zd0 is made by software",
	}, {
		story: "devices that stand on each other in a circle",
		build: func(x tree) {
			x.virtual("dm-0", "253:0", nil)
			x.virtual("dm-1", "253:1", nil, "dm-0")
			x.link("devices/virtual/block/dm-0/slaves/dm-1", "class/block/dm-1")
		},
		mounts: []string{"253:0 / ext4 /dev/dm-0 rw"},
		places: places{"/": folder("253:0")},
		path:   "/", why: "no disk was found",
	}, {
		story:  "mount that mountinfo does not have",
		mounts: []string{"8:1 / ext4 /dev/sda1 rw"},
		places: places{"/x": folder("0:99")},
		path:   "/x", why: "not in mountinfo",
	}}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			twoDisks(x)
			if tc.build != nil {
				tc.build(x)
			}
			got := resolveIn(t, x, tc.mounts, tc.places, tc.path)
			if len(got.Leaves) != 0 {
				t.Errorf("leaves = %v, want none", got.Leaves)
			}
			if !strings.Contains(got.Why, tc.why) {
				t.Errorf("why = %q, want it to say %q", got.Why, tc.why)
			}
			virtual := len(got.Stack) > 0 && !strings.HasPrefix(got.Stack[0], "sd")
			if got.Software != virtual {
				t.Errorf("software = %v with %v on top", got.Software, got.Stack)
			}
			if (got.Cached != "") != (tc.cached != "") || !strings.Contains(got.Cached, tc.cached) {
				t.Errorf("cached = %q, want it to say %q", got.Cached, tc.cached)
			}
			if got.Memory != tc.memory || got.Network != tc.network {
				t.Errorf("memory, network = %v, %v, want %v, %v", got.Memory, got.Network, tc.memory, tc.network)
			}
		})
	}
}

func sized(p place, total int64) place {
	p.total = total
	return p
}
