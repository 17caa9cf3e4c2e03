package config

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ssd_exporter/blockdev"
)

// ssd is a disk that is not rotational.
func ssd(kernel, model, transport string) blockdev.Disk {
	return blockdev.Disk{Identity: blockdev.Identity{Kernel: kernel, Model: model, Transport: transport}, Device: "/dev/" + kernel, Rotational: new(false)}
}

// mounted is a file system of so many GB on disks.
func mounted(point, fsType string, gb int64, leaves ...string) blockdev.Mounted {
	stack := append([]string{"dm-0"}, leaves...)
	return blockdev.Mounted{Points: []string{point}, Filesystem: blockdev.Filesystem{
		Type: fsType, MountPoint: point, Source: "/dev/x", Leaves: leaves, Stack: stack, SizeBytes: gb * 1e9,
	}}
}

func changed[T any](v T, f func(*T)) T { f(&v); return v }

// enabled are the targets of a draft as "name path".
func enabled(t *testing.T, d *Draft) []string {
	t.Helper()
	c, err := Parse("draft.yml", d.YAML)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.YAML)
	}
	var got []string
	for _, tg := range c.Targets {
		got = append(got, strings.TrimSpace(tg.Name+" "+tg.Path))
	}
	return got
}

func TestGenerateChoosesTargets(t *testing.T) {
	disks := []blockdev.Disk{
		ssd("sda", "SAMSUNG MZ7LH480", "sata"), ssd("sdb", "", "sata"),
		changed(ssd("sdc", "WDC WD40EFRX", "sata"), func(d *blockdev.Disk) { d.Rotational = new(true) }),
		changed(ssd("sdd", "Ultra Fit", "usb"), func(d *blockdev.Disk) { d.Removable = true }),
		changed(ssd("vda", "", "virtio"), func(d *blockdev.Disk) { d.Rotational = new(true) }),
		changed(ssd("sde", "QEMU HARDDISK", "scsi"), func(d *blockdev.Disk) { d.Rotational = new(true) }),
		changed(ssd("nvme0n1", "X", "nvme"), func(d *blockdev.Disk) { d.Namespaces = []string{"nvme0n1", "nvme0n2"} }),
		ssd("mmcblk0", "DG4016", "mmc"),
	}
	root := mounted("/", "ext4", 100, "sda")
	for _, tc := range []struct {
		story  string
		mounts []blockdev.Mounted
		used   bool
		want   []string
		says   []string
		off    int
	}{{
		story:  "no disk at all",
		mounts: nil, want: nil, says: []string{"targets: [] # nothing is probed: no file system on a local disk"},
	}, {
		story:  "one disk with the state folder needs nothing made",
		mounts: []blockdev.Mounted{root}, want: []string{"root"},
		says: []string{"# /: ext4, 100 GB on sda (SAMSUNG MZ7LH480, sata)", "state folder (--state.path), now /var/lib/ssd_exporter."},
	}, {
		story:  "a state folder with a history keeps the name that the history has",
		mounts: []blockdev.Mounted{mounted("/data", "xfs", 500, "sdb"), root}, used: true, want: []string{"data-2 /data/.ssd_exporter", "data"},
	}, {
		story:  "each disk is probed once, in its largest file system",
		mounts: []blockdev.Mounted{root, mounted("/home", "ext4", 300, "sda"), mounted("/srv", "xfs", 50, "sdb")},
		want:   []string{"home /home/.ssd_exporter", "srv /srv/.ssd_exporter"}, off: 1,
		says: []string{"# Not probed: target home is on sda too, and no smaller;", "\n  #- name: root\n"},
	}, {
		story:  "of two of one size, the one with the state folder",
		mounts: []blockdev.Mounted{mounted("/a", "ext4", 100, "sda"), changed(root, func(m *blockdev.Mounted) { m.Points = append(m.Points, "/var") })},
		want:   []string{"root"}, off: 1, says: []string{"\n  #- name: a\n  #  path: /a/.ssd_exporter\n"},
	}, {
		story:  "an array claims all its disks",
		mounts: []blockdev.Mounted{mounted("/raid", "xfs", 900, "sda", "sdb"), mounted("/home", "ext4", 10, "sdb"), mounted("/srv", "ext4", 5000, "nvme0n1")},
		want:   []string{"raid /raid/.ssd_exporter", "srv /srv/.ssd_exporter"}, off: 1,
		says: []string{"900 GB on sda (SAMSUNG MZ7LH480, sata) and sdb (sata)"},
	}, {
		story:  "two namespaces are one disk",
		mounts: []blockdev.Mounted{mounted("/a", "xfs", 10, "nvme0n1"), mounted("/b", "xfs", 20, "nvme0n2")},
		want:   []string{"b /b/.ssd_exporter"}, off: 1,
	}, {
		story:  "a hard disk comes turned off, and takes no other's place",
		mounts: []blockdev.Mounted{mounted("/tank", "xfs", 4000, "sdc"), mounted("/mirror", "xfs", 4000, "sda", "sdc"), root},
		want:   []string{"root"}, off: 2, says: []string{"# Not probed: sdc is rotational: a hard disk, says the kernel."},
	}, {
		story:  "only hard disks",
		mounts: []blockdev.Mounted{mounted("/tank", "xfs", 4000, "sdc")},
		want:   nil, off: 1, says: []string{"targets: [] # nothing is probed; take the [] away"},
	}, {
		story:  "virtual disks call themselves rotational and are probed",
		mounts: []blockdev.Mounted{mounted("/a", "xfs", 40, "vda"), mounted("/b", "xfs", 40, "sde")},
		want:   []string{"a /a/.ssd_exporter", "b /b/.ssd_exporter"}, says: []string{"The kernel calls vda rotational", "The kernel calls sde rotational"},
	}, {
		story:  "what can be pulled out, what is never written to, and what is too small come turned off",
		mounts: []blockdev.Mounted{mounted("/usb", "ext4", 64, "sdd"), mounted("/card", "ext4", 64, "mmcblk0"), mounted("/tiny", "ext4", 5, "sda")},
		want:   nil, off: 3,
		says: []string{"Not probed: sdd is removable.", "with path: /dev/mmcblk0 and profile: read_only.", "Not probed: it is too small"},
	}, {
		story:  "a disk that the kernel does not list is still one",
		mounts: []blockdev.Mounted{mounted("/a", "xfs", 40, "sdz")}, want: []string{"a /a/.ssd_exporter"}, says: []string{"40 GB on sdz\n"},
	}, {
		story: "no places: RAM, network, read-only, boot, FAT, images, overlays, unknown disks",
		mounts: []blockdev.Mounted{
			changed(mounted("/run", "tmpfs", 0), func(m *blockdev.Mounted) { m.Memory, m.Source = true, "tmpfs" }),
			changed(mounted("/nas", "nfs4", 0), func(m *blockdev.Mounted) {
				m.Network, m.Source, m.Why = true, "nas:/x", "nfs4 from nas:/x is on another machine"
			}),
			changed(mounted("/ro", "ext4", 100, "sda"), func(m *blockdev.Mounted) { m.ReadOnly = true }),
			mounted("/boot", "ext4", 100, "sda"), mounted("/boot/x", "ext4", 100, "sda"), mounted("/boot/efi", "vfat", 100, "sda"),
			changed(mounted("/snap/core/1", "squashfs", 1), func(m *blockdev.Mounted) { m.Stack = []string{"loop1"} }),
			changed(mounted("/image", "ext4", 100), func(m *blockdev.Mounted) { m.Stack = []string{"loop2"} }),
			changed(mounted("/merged", "overlay", 0), func(m *blockdev.Mounted) { m.Source = "overlay" }),
			changed(mounted("/tank", "zfs", 0), func(m *blockdev.Mounted) { m.Source, m.Why = "tank", "ZFS does not tell" }),
			changed(mounted("/proc", "proc", 0), func(m *blockdev.Mounted) { m.Source = "proc" }),
			mounted("/bad\xff", "ext4", 100, "sda"),
		},
		want: nil,
		says: []string{
			"  # No place for a probe file:\n", "* /nas: nfs4 from nas:/x is on another machine", "* /ro: it is read-only", "* /boot: it holds what the machine starts from",
			"* /boot/efi: vfat does not keep owners", "* /image: it lies in a file", "* /tank: ZFS does not tell", "* /bad?: its mount point is not UTF-8",
		},
	}, {
		story:  "where the state folder cannot be probed, that is said",
		mounts: []blockdev.Mounted{changed(mounted("/", "tmpfs", 0), func(m *blockdev.Mounted) { m.Memory = true }), mounted("/a", "xfs", 40, "sda")},
		want:   []string{"a /a/.ssd_exporter"}, says: []string{"* /: tmpfs is in RAM"},
	}} {
		t.Run(tc.story, func(t *testing.T) {
			d, err := Generate(Survey{Mounts: tc.mounts, Disks: disks, State: "/var/lib/ssd_exporter", Used: tc.used})
			if err != nil {
				t.Fatal(err)
			}
			got := enabled(t, d)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets: -want +got\n%s", diff)
			}
			if d.Targets != len(tc.want) || d.Off != tc.off {
				t.Errorf("%d targets and %d turned off, want %d and %d", d.Targets, d.Off, len(tc.want), tc.off)
			}
			folders := 0
			for _, w := range tc.want {
				folders += strings.Count(w, " ")
			}
			if len(d.Folders) != folders {
				t.Errorf("folders to make %q, want %d", d.Folders, folders)
			}
			for _, w := range tc.says {
				if !strings.Contains(string(d.YAML), w) && !strings.Contains(unwrapped(d.YAML), w) {
					t.Errorf("does not say %q:\n%s", w, d.YAML)
				}
			}
		})
	}
}

// unwrapped joins the lines of each remark.
func unwrapped(text []byte) string {
	return regexp.MustCompile(`\n *# (\S)`).ReplaceAllString(string(text), " $1")
}

func TestGenerateBoundsTheListOfWhatWasLeftOut(t *testing.T) {
	var s Survey
	for i := range 50 {
		s.Mounts = append(s.Mounts, mounted(fmt.Sprintf("/boot/%d", i), "ext4", 10, "sda"))
	}
	d, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(d.YAML), "* /boot/"); n != mostLeftOut || !strings.Contains(string(d.YAML), "# and 30 more") {
		t.Errorf("%d are listed:\n%s", n, d.YAML)
	}
}

// turnOn takes the # of every setting away, as a person would.
func turnOn(text []byte) []byte {
	return regexp.MustCompile(`(?m)^( *)#(\S|  )`).ReplaceAll(text, []byte("$1$2"))
}

func TestGenerateShowsEveryDefault(t *testing.T) {
	d, err := Generate(Survey{Mounts: []blockdev.Mounted{mounted("/", "ext4", 100, "sda")}, State: "/data"})
	if err != nil {
		t.Fatal(err)
	}
	on := turnOn(d.YAML)
	c, err := Parse("on.yml", on)
	if err != nil {
		t.Fatalf("%v\n%s", err, on)
	}
	want := Default()
	want.Targets[0].Name = "root"
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("with every setting turned on it is not the default: -want +got\n%s", diff)
	}
	for _, k := range allKeys() {
		_, name, _ := strings.Cut(k, ".")
		name = strings.TrimPrefix(name, "ratings[].")
		if !regexp.MustCompile(`(?m)^ *#?(- | )?`+regexp.QuoteMeta(name)+`: |\b`+regexp.QuoteMeta(name)+`: `).Match(d.YAML) && k != "targets[].path" {
			t.Errorf("nothing is said of %s:\n%s", k, d.YAML)
		}
	}
}

func TestGenerateTurnedOffTargetsCanBeTurnedOn(t *testing.T) {
	d, err := Generate(Survey{
		State: "/data", Disks: []blockdev.Disk{ssd("sda", "M", "sata")},
		Mounts: []blockdev.Mounted{mounted("/a b", "ext4", 100, "sda"), mounted("/home", "ext4", 300, "sda"), mounted("/z", "ext4", 1, "sdb")},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.YAML = turnOn(d.YAML)
	want := []string{"a-b /a b/.ssd_exporter", "home /home/.ssd_exporter", "z /z/.ssd_exporter"}
	if diff := cmp.Diff(want, enabled(t, d)); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, d.YAML)
	}
}

func FuzzGenerateIsAlwaysAccepted(f *testing.F) {
	f.Add("/srv/db", "ext4", "SAMSUNG MZ7", int64(1e12))
	f.Add("/mnt/ü: x #y", "xfs", "a\nb: c", int64(0))
	f.Add("/true", "ext4\n- name: x", "\x00\xff", int64(1))
	f.Add("/"+strings.Repeat("long/", 40), "btrfs", strings.Repeat("m", 300), int64(5e10))
	f.Add("/\u2028\"'\\\t\x7f{}", "zfs", "", int64(-1))
	f.Fuzz(func(t *testing.T, point, fsType, model string, size int64) {
		if !strings.HasPrefix(point, "/") || strings.Contains(point, "\x00") {
			t.Skip("no mount point")
		}
		m := mounted(point, fsType, 0, "sda")
		m.SizeBytes = size
		other := mounted("/other", "ext4", 1000, "sdb")
		d, err := Generate(Survey{
			Mounts: []blockdev.Mounted{m, other}, State: "/other/x",
			Disks: []blockdev.Disk{ssd("sda", model, model), changed(ssd("sdb", model, "usb"), func(d *blockdev.Disk) { d.Removable = true })},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("draft.yml", d.YAML)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Targets) != d.Targets || d.Targets+d.Off > 2 {
			t.Fatalf("%d targets, said were %d:\n%s", len(c.Targets), d.Targets, d.YAML)
		}
		for _, tg := range c.Targets {
			if tg.Path != d.Folders[0] || !strings.HasSuffix(tg.Path, "/.ssd_exporter") || !targetName.MatchString(tg.Name) {
				t.Fatalf("target %+v, folders %q", tg, d.Folders)
			}
		}
		if want := Default(); cmp.Diff(want.Guards, c.Guards) != "" {
			t.Fatalf("guards changed:\n%s", d.YAML)
		}
	})
}
