package blockdev

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// controller adds an NVMe controller and its place in a subsystem ("" none, as on old kernels).
func controller(x tree, name, pci, subsystem string, a attrs) string {
	dir := fmt.Sprintf("devices/pci0000:00/%s/nvme/%s", pci, name)
	all := attrs{
		"model": "Samsung SSD 980 PRO 1TB                 ", "serial": "S5P2NG0R000001      ", "firmware_rev": "5B2QGXA7",
		"transport": "pcie", "state": "live", "cntrltype": "io",
	}
	maps.Copy(all, a)
	for k, v := range all {
		x.file(dir+"/"+k, v)
	}
	x.link("class/nvme/"+name, dir)
	if subsystem != "" {
		sub := "devices/virtual/nvme-subsystem/" + subsystem
		for _, k := range []string{"model", "serial", "firmware_rev"} {
			x.file(sub+"/"+k, all[k])
		}
		x.link(sub+"/"+name, dir)
		x.mkdir("class/nvme-subsystem")
		if !exists(x, "class/nvme-subsystem/"+subsystem) {
			x.link("class/nvme-subsystem/"+subsystem, sub)
		}
	}
	return dir
}

func exists(x tree, name string) bool {
	return len(entries(x.sys().path(name))) > 0
}

// namespace adds one below a controller or subsystem.
func namespace(x tree, owner, name, number string, a attrs) {
	dir := x.block(owner[len("devices/"):]+"/"+name, number, a)
	x.link(dir+"/device", owner)
}

func TestOneNVMeControllerIsOneDisk(t *testing.T) {
	x := newTree(t)
	c := controller(x, "nvme0", "0000:01:00.0", "nvme-subsys0", nil)
	namespace(x, c, "nvme0n1", "259:0", attrs{"size": "1000", "wwid": "eui.0025385b11001234", "eui": "00 25 38 5b 11 00 12 34"})
	namespace(x, c, "nvme0n2", "259:1", attrs{"size": "2000", "wwid": "eui.0025385b11001235"})
	x.block("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1", "259:2", attrs{"partition": "1"})
	want := []Disk{{
		Identity: Identity{
			Model: "Samsung SSD 980 PRO 1TB", Serial: "S5P2NG0R000001", WWN: "eui.0025385b11001234", Firmware: "5B2QGXA7",
			Transport: "nvme", Kernel: "nvme0n1",
		},
		Device: "/dev/nvme0", Namespaces: []string{"nvme0n1", "nvme0n2"}, Major: 259, Capacity: 3000 * 512, Logical: 512,
	}}
	got := listIn(t, x)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("-want +got\n%s", d)
	}
	for kernel, has := range map[string]bool{"nvme0n1": true, "nvme0n2": true, "nvme0n3": false, "": false} {
		if got[0].Has(kernel) != has {
			t.Errorf("Has(%q) = %v", kernel, !has)
		}
	}
}

func TestMultipathNVMeIsOneDiskAndAsksALiveController(t *testing.T) {
	x := newTree(t)
	dead := controller(x, "nvme2", "0000:01:00.0", "nvme-subsys7", attrs{"state": "connecting"})
	live := controller(x, "nvme10", "0000:02:00.0", "nvme-subsys7", nil)
	sub := "devices/virtual/nvme-subsystem/nvme-subsys7"
	namespace(x, sub, "nvme7n1", "259:0", attrs{"wwid": "uuid.0a0b0c0d-0000-4000-8000-000000000001"})
	namespace(x, dead, "nvme7c2n1", "0:1", attrs{"hidden": "1"})
	namespace(x, live, "nvme7c10n1", "0:2", attrs{"hidden": "1"})
	got := listIn(t, x)
	if len(got) != 1 {
		t.Fatalf("%d disks, want 1: %+v", len(got), got)
	}
	d := got[0]
	if d.Device != "/dev/nvme10" || d.Kernel != "nvme7n1" || d.Serial != "S5P2NG0R000001" || d.Transport != "nvme" {
		t.Errorf("got %+v, want nvme7n1 asked through /dev/nvme10", d)
	}
	if d.WWN != "uuid.0a0b0c0d-0000-4000-8000-000000000001" {
		t.Errorf("WWN = %q", d.WWN)
	}
}

func TestTwoPathsWithoutNativeMultipathCountOnce(t *testing.T) {
	x := newTree(t)
	a := controller(x, "nvme0", "0000:01:00.0", "nvme-subsys0", nil)
	b := controller(x, "nvme1", "0000:02:00.0", "nvme-subsys0", nil)
	namespace(x, a, "nvme0n1", "259:0", attrs{"size": "1000", "wwid": "eui.0025385b11001234"})
	namespace(x, b, "nvme1n1", "259:1", attrs{"size": "1000", "wwid": "eui.0025385b11001234"})
	got := listIn(t, x)
	if len(got) != 1 || got[0].Capacity != 1000*512 {
		t.Fatalf("got %+v, want one disk of 512000 bytes", got)
	}
	if d := cmp.Diff([]string{"nvme0n1", "nvme1n1"}, got[0].Namespaces); d != "" {
		t.Errorf("namespaces: -want +got\n%s", d)
	}
}

func TestNamespaceNumberIsNotTheControllerNumber(t *testing.T) {
	x := newTree(t)
	// As after a hot-plug: the namespaces of nvme1 are called nvme0n1 and the other way round.
	a := controller(x, "nvme0", "0000:01:00.0", "nvme-subsys1", attrs{"serial": "AAAA"})
	b := controller(x, "nvme1", "0000:02:00.0", "nvme-subsys0", attrs{"serial": "BBBB"})
	namespace(x, a, "nvme1n1", "259:0", nil)
	namespace(x, b, "nvme0n1", "259:1", nil)
	got := map[string]string{}
	for _, d := range listIn(t, x) {
		got[d.Kernel] = d.Device + " " + d.Serial
	}
	if d := cmp.Diff(map[string]string{"nvme0n1": "/dev/nvme1 BBBB", "nvme1n1": "/dev/nvme0 AAAA"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestNVMeWithoutNamespacesIsStillListed(t *testing.T) {
	x := newTree(t)
	controller(x, "nvme0", "0000:01:00.0", "nvme-subsys0", attrs{"state": "dead"})
	controller(x, "nvme1", "0000:02:00.0", "nvme-subsys1", attrs{"cntrltype": "discovery"})
	controller(x, "nvme2", "0000:03:00.0", "", attrs{"cntrltype": "", "subsysnqn": "nqn.2014-08.org.nvmexpress.discovery"})
	controller(x, "nvme3", "0000:04:00.0", "", attrs{"serial": "", "model": ""})
	want := []Disk{{
		Identity: Identity{Model: "Samsung SSD 980 PRO 1TB", Serial: "S5P2NG0R000001", Firmware: "5B2QGXA7", Transport: "nvme", Kernel: "nvme0"},
		Device:   "/dev/nvme0",
	}}
	if d := cmp.Diff(want, listIn(t, x)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestMultipathNVMeOverAFabric(t *testing.T) {
	x := newTree(t)
	controller(x, "nvme4", "0000:01:00.0", "nvme-subsys4", attrs{"transport": "tcp"})
	namespace(x, "devices/virtual/nvme-subsystem/nvme-subsys4", "nvme4n1", "259:0", nil)
	got := listIn(t, x)
	if len(got) != 1 || got[0].Transport != "nvme-tcp" || got[0].Device != "/dev/nvme4" {
		t.Errorf("got %+v, want one nvme-tcp disk asked through /dev/nvme4", got)
	}
}

func TestPathsOfMultipathNVMeAreNoDisksOnKernelsThatDoNotMarkThem(t *testing.T) {
	x := newTree(t)
	c := controller(x, "nvme0", "0000:01:00.0", "nvme-subsys0", nil)
	namespace(x, "devices/virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", "259:0", attrs{"size": "1000"})
	namespace(x, c, "nvme0c0n1", "259:1", attrs{"size": "1000"})
	got := listIn(t, x)
	if len(got) != 1 {
		t.Fatalf("got %+v, want one disk", got)
	}
	if d := cmp.Diff([]string{"nvme0n1"}, got[0].Namespaces); d != "" {
		t.Errorf("namespaces: -want +got\n%s", d)
	}
}

func TestNVMeNumbersThatAreNone(t *testing.T) {
	x := newTree(t)
	c := controller(x, "nvme0", "0000:01:00.0", "nvme-subsys0", attrs{"transport": "tcp"})
	namespace(x, c, "nvme0n1", "259:0", attrs{
		"eui": "00 00 00 00 00 00 00 00", "nguid": "00000000-0000-0000-0000-000000000000", "wwid": "nvme.144d-53355032-53616d73-00000001",
	})
	got := listIn(t, x)
	if len(got) != 1 || got[0].WWN != "" || got[0].Transport != "nvme-tcp" {
		t.Errorf("got %+v, want no WWN and transport nvme-tcp", got)
	}
}
