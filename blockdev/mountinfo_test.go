package blockdev

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestParseMount(t *testing.T) {
	tests := []struct {
		story, line string
		want        mount
		ok          bool
	}{
		{
			"optional fields", "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue",
			mount{id: 36, dev: devno{98, 0}, root: "/mnt1", point: "/mnt2", fsType: "ext3", source: "/dev/root", super: "rw,errors=continue"},
			true,
		},
		{
			"no optional fields", "36 35 98:0 / / rw - ext3 /dev/root rw",
			mount{id: 36, dev: devno{98, 0}, root: "/", point: "/", fsType: "ext3", source: "/dev/root", super: "rw"},
			true,
		},
		{
			"spaces, tabs, newlines and backslashes in names", `36 35 98:0 / /my\040new\011\012\134disk rw - ext3 /dev/my\040root rw`,
			mount{id: 36, dev: devno{98, 0}, root: "/", point: "/my new\t\n\\disk", fsType: "ext3", source: "/dev/my root", super: "rw"},
			true,
		},
		{
			"a source that is a hyphen", "42 27 0:39 / /tmp/m rw,relatime - tmpfs - rw",
			mount{id: 42, dev: devno{0, 39}, root: "/", point: "/tmp/m", fsType: "tmpfs", source: "-", super: "rw"},
			true,
		},
		{
			"an empty source", "42 27 0:39 / /tmp/m rw,relatime - tmpfs  rw",
			mount{id: 42, dev: devno{0, 39}, root: "/", point: "/tmp/m", fsType: "tmpfs", super: "rw"},
			true,
		},
		{
			"read-only mount", "36 35 98:0 / / ro,nosuid - ext3 /dev/root rw",
			mount{id: 36, dev: devno{98, 0}, root: "/", point: "/", fsType: "ext3", source: "/dev/root", super: "rw", readOnly: true},
			true,
		},
		{
			"read-only file system", "36 35 98:0 / / rw - ext3 /dev/root ro,errors=remount-ro",
			mount{id: 36, dev: devno{98, 0}, root: "/", point: "/", fsType: "ext3", source: "/dev/root", super: "ro,errors=remount-ro", readOnly: true},
			true,
		},
		{"cut off", "36 35 98:0 / / rw - ext3", mount{}, false},
		{"no separator", "36 35 98:0 / / rw shared:1 ext3 /dev/root rw", mount{}, false},
		{"device number out of range", "36 35 98:4294967296 / / rw - ext3 /dev/root rw", mount{}, false},
		{"relative mount point", "36 35 98:0 / mnt rw - ext3 /dev/root rw", mount{}, false},
		{"blank", "", mount{}, false},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			got, ok := parseMount(tc.line)
			if ok != tc.ok {
				t.Fatalf("ok = %v, want %v", ok, tc.ok)
			}
			if got != tc.want {
				t.Errorf("got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestOneBadMountLineHidesNoOther(t *testing.T) {
	ms := parseMountinfo("36 35 98:0 / / rw - ext3 /dev/root rw\nnonsense\n37 35 98:1 / /a rw - ext3 /dev/b rw")
	var points []string
	for _, m := range ms {
		points = append(points, m.point)
	}
	if d := cmp.Diff([]string{"/", "/a"}, points); d != "" {
		t.Errorf("mount points: -want +got\n%s", d)
	}
}

func TestFindMount(t *testing.T) {
	table := `20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 8:2 / /srv rw - ext4 /dev/sda2 rw
22 21 8:2 /data /srv/data/bind rw - ext4 /dev/sda2 rw
23 20 0:50 / /mnt rw - nfs server:/x rw
24 23 0:51 / /mnt/a\040b rw - tmpfs tmpfs rw
25 20 0:30 /sub /vol rw - btrfs /dev/sdb1 rw
26 20 8:3 / /srv/data rw - ext4 /dev/sda3 rw
27 26 8:4 / /srv/data rw - ext4 /dev/sda4 rw
28 20 0:60 / /over rw - btrfs /dev/sdc1 rw
29 28 0:61 / /over rw - btrfs /dev/sdd1 rw
30 29 0:60 / /over/deep rw - btrfs /dev/sdc1 rw
`
	tests := []struct {
		story  string
		place  place
		point  string // "" not found
		source string // "" any
	}{
		{"root", place{path: "/etc", dev: devno{8, 1}}, "/", ""},
		{"nested mount", place{path: "/srv/x", dev: devno{8, 2}}, "/srv", ""},
		{"a name that only starts like a mount point", place{path: "/srvx", dev: devno{8, 1}}, "/", ""},
		{"bind mount of a folder", place{path: "/srv/data/bind/x", dev: devno{8, 2}}, "/srv/data/bind", ""},
		{"the upper of two mounts on one point", place{path: "/srv/data/x", dev: devno{8, 4}}, "/srv/data", ""},
		{"anonymous", place{path: "/mnt/x", dev: devno{0, 50}}, "/mnt", ""},
		{"space in the mount point", place{path: "/mnt/a b/x", dev: devno{0, 51}}, "/mnt/a b", ""},
		{"btrfs subvolume with a number of its own", place{path: "/vol/sub", dev: devno{0, 77}}, "/vol", ""},
		{"the mount id is exact where the path is not", place{path: "/srv/data/bind/x", dev: devno{8, 2}, mountID: 21}, "/srv", ""},
		{"a mount id of another table is not believed", place{path: "/etc", dev: devno{8, 1}, mountID: 24}, "/", ""},
		{"mounted elsewhere in that table", place{path: "/host", dev: devno{8, 3}}, "/srv/data", ""},
		{"block device that is not mounted there", place{path: "/etc", dev: devno{9, 9}}, "", ""},
		{"the upper of two btrfs on one point", place{path: "/over/sub", dev: devno{0, 99}}, "/over", "/dev/sdd1"},
		{"anonymous with only block devices above", place{path: "/etc", dev: devno{0, 99}}, "", ""},
	}
	ms := parseMountinfo(table)
	if len(ms) != strings.Count(table, "\n") {
		t.Fatalf("%d mounts parsed of %d", len(ms), strings.Count(table, "\n"))
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			m, ok := ms.find(tc.place)
			if tc.source != "" && m.source != tc.source {
				t.Errorf("found %s, want %s", m.source, tc.source)
			}
			if m.point != tc.point || ok != (tc.point != "") {
				t.Errorf("found %q, %v; want %q", m.point, ok, tc.point)
			}
		})
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n")
	f.Add(`36 35 0:40 / / rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c\054d,workdir=/w` + "\n")
	f.Add("42 27 0:39 / /tmp/m rw - tmpfs - rw\n\n - - - - - - - -\n")
	f.Add(`1 1 1:1 / /\777\04 rw - a b c\`)
	f.Fuzz(func(t *testing.T, text string) {
		ms := parseMountinfo(text)
		if len(ms) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d mounts from %d lines", len(ms), strings.Count(text, "\n")+1)
		}
		for _, m := range ms {
			if !strings.HasPrefix(m.point, "/") {
				t.Errorf("mount point %q", m.point)
			}
			got, ok := ms.find(place{path: m.point, dev: m.dev, mountID: m.id})
			if !ok || got.dev != m.dev && !got.above(m.point) {
				t.Errorf("%q is on a mount in the table, but %+v, %v was found", m.point, got, ok)
			}
			_ = m.option("upperdir")
		}
	})
}

func FuzzUnescapeUndoesTheKernelsEscapes(f *testing.F) {
	f.Add("a b\t\n\\#,=:")
	f.Add(`\040`)
	f.Add("\x00\xff\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		var b strings.Builder
		for _, c := range []byte(s) {
			if strings.ContainsRune(" \t\n\\#,=", rune(c)) {
				o := strconv.FormatUint(uint64(c), 8)
				b.WriteString(`\` + strings.Repeat("0", 3-len(o)) + o)
			} else {
				b.WriteByte(c)
			}
		}
		if got := unescape(b.String()); got != s {
			t.Errorf("unescape(%q) = %q, want %q", b.String(), got, s)
		}
	})
}
