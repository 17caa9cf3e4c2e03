package blockdev

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree builds a sysfs of real folders and relative links, as the kernel's.
type tree struct {
	tb   testing.TB
	root string
}

func newTree(tb testing.TB) tree {
	tb.Helper()
	x := tree{tb, tb.TempDir()}
	for _, dir := range []string{"class/block", "dev/block", "devices"} {
		x.mkdir(dir)
	}
	return x
}

func (x tree) sys() sysfs   { return sysfs(x.root) }
func (x tree) roots() Roots { return Roots{Sysfs: x.root, Procfs: x.root, Dev: "/dev"} }

func (x tree) mkdir(dir string) {
	x.tb.Helper()
	if err := os.MkdirAll(filepath.Join(x.root, dir), 0o755); err != nil {
		x.tb.Fatal(err)
	}
}

// file writes an attribute with the newline that the kernel prints.
func (x tree) file(name, content string) {
	x.tb.Helper()
	x.bytes(name, []byte(content+"\n"))
}

func (x tree) bytes(name string, content []byte) {
	x.tb.Helper()
	x.mkdir(path.Dir(name))
	if err := os.WriteFile(filepath.Join(x.root, name), content, 0o644); err != nil {
		x.tb.Fatal(err)
	}
}

// link makes name, relative to the root, a relative link to target, relative to the root.
func (x tree) link(name, target string) {
	x.tb.Helper()
	x.mkdir(path.Dir(name))
	rel, err := filepath.Rel(path.Dir(name), target)
	if err != nil {
		x.tb.Fatal(err)
	}
	if err := os.Symlink(rel, filepath.Join(x.root, name)); err != nil {
		x.tb.Fatal(err)
	}
}

// attrs are attributes by their name below the device.
type attrs map[string]string

// block adds a block device or partition at a place below devices/ and returns that place.
func (x tree) block(hw, number string, a attrs) string {
	x.tb.Helper()
	dir := path.Join("devices", hw)
	all := attrs{"size": "2048000", "dev": number, "ro": "0"}
	if _, isPart := a["partition"]; !isPart {
		maps.Copy(all, attrs{"removable": "0", "queue/logical_block_size": "512", "queue/dma_alignment": "3"})
	}
	maps.Copy(all, a)
	for name, content := range all {
		x.file(path.Join(dir, name), content)
	}
	x.link("class/block/"+path.Base(hw), dir)
	x.link("dev/block/"+number, dir)
	return dir
}

// sata adds a disk on a SATA port and its partitions 1…n.
func (x tree) sata(name string, minor, partitions int) {
	x.tb.Helper()
	hw := fmt.Sprintf("pci0000:00/0000:00:17.0/ata%d/host%d/target%d:0:0/%d:0:0:0/block/%s", minor, minor, minor, minor, name)
	x.block(hw, fmt.Sprintf("8:%d", minor), nil)
	for p := 1; p <= partitions; p++ {
		x.block(fmt.Sprintf("%s/%s%d", hw, name, p), fmt.Sprintf("8:%d", minor+p), attrs{"partition": fmt.Sprint(p)})
	}
}

// virtual adds a device made by software, on top of others.
func (x tree) virtual(name, number string, a attrs, slaves ...string) {
	x.tb.Helper()
	dir := x.block("virtual/block/"+name, number, a)
	x.mkdir(dir + "/slaves")
	for _, s := range slaves {
		real, err := filepath.EvalSymlinks(filepath.Join(x.root, "class/block", s))
		if err != nil {
			x.tb.Fatal(err)
		}
		rel, err := filepath.Rel(x.resolvedRoot(), real)
		if err != nil {
			x.tb.Fatal(err)
		}
		x.link(dir+"/slaves/"+s, rel)
	}
}

func (x tree) resolvedRoot() string {
	x.tb.Helper()
	root, err := filepath.EvalSymlinks(x.root)
	if err != nil {
		x.tb.Fatal(err)
	}
	return root
}

// places answers for the paths of a fixture, as locate does for those of the machine.
type places map[string]place

func (ps places) locate(path string) (place, error) {
	p, ok := ps[path]
	if !ok {
		return place{}, &os.PathError{Op: "stat", Path: path, Err: os.ErrNotExist}
	}
	p.path = path
	return p, nil
}

// folder is a folder on the file system with a device number.
func folder(number string) place {
	n, ok := parseDevno(number)
	if !ok {
		panic(number)
	}
	return place{mode: unix.S_IFDIR | 0o755, dev: n, total: 1000, free: 500}
}

func regular(number string, size int64) place {
	p := folder(number)
	p.mode, p.size = unix.S_IFREG|0o644, size
	return p
}

func blockNode(number string) place {
	p := folder("0:6")
	p.mode = unix.S_IFBLK | 0o660
	p.rdev, _ = parseDevno(number)
	return p
}

// mountTable writes mountinfo lines from "M:m point type source options".
func mountTable(lines ...string) mounts {
	var b strings.Builder
	for i, l := range lines {
		f := strings.Fields(l)
		fmt.Fprintf(&b, "%d 1 %s / %s rw,relatime shared:1 - %s %s %s\n", 20+i, f[0], f[1], f[2], f[3], f[4])
	}
	return parseMountinfo(b.String())
}
