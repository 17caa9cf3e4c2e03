package blockdev

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seen is what Mounts says of the fixture, with mountinfo lines as the kernel writes them.
func seen(t *testing.T, x tree, lines ...string) []Mounted {
	t.Helper()
	x.file("self/mountinfo", strings.Join(lines, "\n"))
	ms, err := Mounts(x.roots())
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func TestMountsShowEachFileSystemOnce(t *testing.T) {
	const mib = 2048 // sectors
	tests := []struct {
		story string
		build func(tree)
		lines []string
		want  []Mounted
	}{{
		story: "a partition, and a file system in RAM",
		lines: []string{"20 1 8:1 / / rw - ext4 /dev/sda1 rw", "21 20 0:30 / /run rw - tmpfs tmpfs rw"},
		want: []Mounted{
			{Filesystem{Type: "ext4", MountPoint: "/", Source: "/dev/sda1", Leaves: []string{"sda"}, Stack: []string{"sda1", "sda"}, SizeBytes: 1000 << 20}, []string{"/"}},
			{Filesystem{Type: "tmpfs", MountPoint: "/run", Source: "tmpfs", Memory: true, Why: "tmpfs is in RAM"}, []string{"/run"}},
		},
	}, {
		story: "a bind mount of a folder is the same file system, and shows less of it",
		lines: []string{"20 1 8:1 / /srv/long/way rw - ext4 /dev/sda1 rw", "21 20 8:1 /sub /x rw - ext4 /dev/sda1 rw"},
		want: []Mounted{
			{Filesystem{Type: "ext4", MountPoint: "/srv/long/way", Source: "/dev/sda1", Leaves: []string{"sda"}, Stack: []string{"sda1", "sda"}, SizeBytes: 1000 << 20}, []string{"/srv/long/way", "/x"}},
		},
	}, {
		story: "of a read-only and a writable mount, the writable one",
		lines: []string{"20 1 8:1 / /a ro - ext4 /dev/sda1 rw", "21 20 8:1 /b /long/b rw - ext4 /dev/sda1 rw"},
		want: []Mounted{
			{Filesystem{Type: "ext4", MountPoint: "/long/b", Source: "/dev/sda1", Leaves: []string{"sda"}, Stack: []string{"sda1", "sda"}, SizeBytes: 1000 << 20}, []string{"/long/b", "/a"}},
		},
	}, {
		story: "in a container the volume counts, not the files below /etc",
		lines: []string{
			"20 1 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w",
			"21 20 8:2 /docker/1/hosts /etc/hosts rw - ext4 /dev/sda2 rw",
			"22 20 8:2 /docker/volumes/v/_data /data rw - ext4 /dev/sda2 rw",
			"23 20 8:17 /x/resolv.conf /etc/resolv.conf rw - ext4 /dev/sdb1 rw",
		},
		want: []Mounted{
			{Filesystem{Type: "overlay", MountPoint: "/", Source: "overlay", Why: "overlay: its upper folder /u is not visible from here; use a folder that is mounted from the host"}, []string{"/"}},
			{Filesystem{Type: "ext4", MountPoint: "/data", Source: "/dev/sda2", Leaves: []string{"sda"}, Stack: []string{"sda2", "sda"}, SizeBytes: 1000 << 20}, []string{"/data", "/etc/hosts"}},
			{Filesystem{Type: "ext4", MountPoint: "/etc/resolv.conf", Source: "/dev/sdb1", Stack: []string{"sdb1", "sdb"}, Why: "only single files of it are mounted here"}, []string{"/etc/resolv.conf"}},
		},
	}, {
		story: "what lies hidden below another mount on the same point is not there",
		lines: []string{"20 1 8:1 / /mnt rw - ext4 /dev/sda1 rw", "21 20 8:17 / /mnt rw - xfs /dev/sdb1 rw"},
		want: []Mounted{
			{Filesystem{Type: "xfs", MountPoint: "/mnt", Source: "/dev/sdb1", Leaves: []string{"sdb"}, Stack: []string{"sdb1", "sdb"}, SizeBytes: 1000 << 20}, []string{"/mnt"}},
		},
	}, {
		story: "subvolumes of one btrfs over two devices",
		build: func(x tree) {
			x.link("fs/btrfs/1111/devices/sda1", "class/block/sda1")
			x.link("fs/btrfs/1111/devices/sdb1", "class/block/sdb1")
		},
		lines: []string{"20 1 0:30 /@ / rw - btrfs /dev/sda1 rw", "21 20 0:30 /@home /home rw - btrfs /dev/sda1 rw"},
		want: []Mounted{
			{Filesystem{Type: "btrfs", MountPoint: "/", Source: "/dev/sda1", Leaves: []string{"sda", "sdb"}, Stack: []string{"sda1", "sda", "sdb1", "sdb"}, SizeBytes: 2000 << 20}, []string{"/", "/home"}},
		},
	}, {
		story: "a loop device is not followed: its file would have to be asked",
		build: func(x tree) { x.virtual("loop0", "7:0", attrs{"size": "8", "loop/backing_file": "/snap.img"}) },
		lines: []string{"20 1 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro"},
		want: []Mounted{
			{Filesystem{Type: "squashfs", MountPoint: "/snap/core/1", Source: "/dev/loop0", ReadOnly: true, Stack: []string{"loop0"}, Software: true, Why: "the file of loop0 is not visible from here: it was not looked at", Cached: "loop0 answers from the page cache; losetup --direct-io=on /dev/loop0 changes that"}, []string{"/snap/core/1"}},
		},
	}, {
		story: "a disk that is write-protected",
		build: func(x tree) { x.file("class/block/sdb/ro", "1") },
		lines: []string{"20 1 8:17 / /mnt rw - ext4 /dev/sdb1 rw"},
		want: []Mounted{
			{Filesystem{Type: "ext4", MountPoint: "/mnt", Source: "/dev/sdb1", ReadOnly: true, Leaves: []string{"sdb"}, Stack: []string{"sdb1", "sdb"}, SizeBytes: 1000 << 20}, []string{"/mnt"}},
		},
	}}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			twoDisks(x)
			for _, part := range []string{"sda1", "sda2", "sdb1"} {
				x.file("class/block/"+part+"/size", itoa(1000*mib))
			}
			if tc.build != nil {
				tc.build(x)
			}
			if d := cmp.Diff(tc.want, seen(t, x, tc.lines...)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestHoldsPathGoesByTheLongestMountPoint(t *testing.T) {
	x := newTree(t)
	twoDisks(x)
	ms := seen(
		t, x,
		"20 1 8:1 / / rw - ext4 /dev/sda1 rw",
		"21 20 8:2 / /srv rw - ext4 /dev/sda2 rw",
		"22 21 0:30 / /srv/tmp rw - tmpfs tmpfs rw",
		"23 20 8:2 /data /var/lib/x rw - ext4 /dev/sda2 rw",
	)
	for path, want := range map[string]string{
		"/": "/", "/etc": "/", "/srvx": "/", "/srv": "/srv", "/srv/a/b": "/srv", "/srv/tmp/x": "/srv/tmp", "/var/lib/x/state": "/srv", "/var/lib": "/",
	} {
		if got := HoldsPath(ms, path); got == nil || got.MountPoint != want {
			t.Errorf("%s is on %v, want %s", path, got, want)
		}
	}
	if got := HoldsPath(ms[1:2], "/etc"); got != nil {
		t.Errorf("/etc is on %s, though nothing is mounted above it", got.MountPoint)
	}
}

func TestMountsWithoutProcfsSaysWhichFlag(t *testing.T) {
	_, err := Mounts(Roots{Procfs: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "--path.procfs") {
		t.Errorf("error %v", err)
	}
}

func TestMachineMountsAgreeWithResolve(t *testing.T) {
	dir := t.TempDir()
	want := resolveHere(t, dir)
	ms, err := Mounts(Roots{})
	if err != nil {
		t.Fatal(err)
	}
	got := HoldsPath(ms, want.MountPoint)
	if got == nil {
		t.Fatalf("no file system holds %s", want.MountPoint)
	}
	if got.Type != want.Type || got.Source != want.Source {
		t.Errorf("%s on %s, Resolve says %s on %s", got.Type, got.Source, want.Type, want.Source)
	}
	if want.Type == "overlay" || want.Type == "btrfs" || len(want.Leaves) == 0 {
		t.Skipf("SKIP: %s on %s cannot be told without asking the file system; set TMPDIR to a folder on ext4 or xfs", want.Type, want.Source)
	}
	if d := cmp.Diff(want.Leaves, got.Leaves); d != "" {
		t.Errorf("leaves: -Resolve +Mounts\n%s", d)
	}
}
