package smart

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart/smarttest"
)

func TestFindThenRead(t *testing.T) {
	m, err := smarttest.NewMachine(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for kernel, d := range map[string]smarttest.Disk{
		"sda": hg5d(), "sdb": px05(), "nvme0": micron7300(), "sdc": smarttest.Refusing(unix.EPERM),
		"vda": smarttest.Refusing(unix.ENOTTY), // a paravirtual disk: there is nothing to ask
	} {
		if err := m.Add(kernel, d); err != nil {
			t.Fatal(err)
		}
	}
	roots := blockdev.Roots{Sysfs: m.Sysfs, Dev: m.Dev, Procfs: t.TempDir()}
	disks, err := Find(roots)
	if err != nil {
		t.Fatal(err)
	}
	n := NewNative(roots)
	n.open = func(path string) (commander, error) { return fakeNode{m.Nodes[path], new([]string)}, nil }
	var found []string
	for _, d := range disks {
		found = append(found, filepath.Base(d.Device))
		r, err := n.Read(t.Context(), d)
		switch {
		case d.Kernel == "sdc":
			wantReadError(t, err, Permission)
		case err != nil:
			t.Errorf("%s: %v", d.Kernel, err)
		case d.Transport != "sas" && r.Identity.ID() != d.ID(): // SCSI's serial number is not in this sysfs
			t.Errorf("%s: S.M.A.R.T. names it %s, the kernel %s", d.Kernel, r.Identity.ID(), d.ID())
		}
	}
	equal(t, "disks found", found, []string{"nvme0", "sda", "sdb", "sdc"})
}

func TestFindWithoutSysfs(t *testing.T) {
	_, err := Find(blockdev.Roots{Sysfs: filepath.Join(t.TempDir(), "no-sysfs")})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

// BenchmarkNativeRead measures the processor time of one read without the disk's: parsing, mostly.
func BenchmarkNativeRead(b *testing.B) {
	for name, c := range map[string]struct {
		disk blockdev.Disk
		sim  smarttest.Disk
	}{"ATA": {diskAt("sda", "sata"), hg5d()}, "NVMe": {diskAt("nvme0n1", "nvme"), micron7300()}, "SCSI": {diskAt("sda", "sas"), px05()}} {
		b.Run(name, func(b *testing.B) {
			c.disk.Device = "/dev/" + c.disk.Kernel
			n := NewNative(blockdev.Roots{Sysfs: b.TempDir()})
			n.open = func(string) (commander, error) { return fakeNode{c.sim, new([]string)}, nil }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.Read(b.Context(), c.disk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
