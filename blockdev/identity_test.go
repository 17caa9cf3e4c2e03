package blockdev

import (
	"strings"
	"testing"
)

func TestID(t *testing.T) {
	tests := []struct {
		story string
		id    Identity
		want  ID
	}{
		{"model and serial", Identity{Model: "Samsung SSD 870", Serial: "S5Y1", Kernel: "sda"}, "Samsung_SSD_870_S5Y1"},
		{"padding of fixed-width fields", Identity{Model: "KINGSTON  \x00\x00", Serial: "   50026B72 \x00"}, "KINGSTON_50026B72"},
		{"what by-id allows stays", Identity{Model: "a#+.:=@_-Z", Serial: "9"}, "a#+.:=@_-Z_9"},
		{"each other character is one underscore", Identity{Model: "a/b  c", Serial: "é\xff"}, "a_b__c___"},
		{"serial without model", Identity{Serial: "overlayblk", Kernel: "vda"}, "overlayblk"},
		{"no serial", Identity{Model: "M", WWN: "NAA.5002538E00000001", Kernel: "sda"}, "wwn-naa.5002538e00000001"},
		{"blank serial", Identity{Model: "M", Serial: " \x00 ", WWN: "eui.0025385b11001234"}, "wwn-eui.0025385b11001234"},
		{"all-zero serial", Identity{Model: "M", Serial: "000000000000", WWN: "0x5002538e00000001"}, "wwn-0x5002538e00000001"},
		{"all-zero eMMC serial", Identity{Model: "M", Serial: "0x00000000", Kernel: "mmcblk0"}, "mmcblk0"},
		{"all-zero WWN", Identity{Model: "M", WWN: "naa.0000000000000000", Kernel: "sdb"}, "sdb"},
		{"WWN of a maker 0, number 0", Identity{WWN: "0x5000000000000000", Kernel: "sdb"}, "sdb"},
		{"virtual disk", Identity{Kernel: "vda"}, "vda"},
		{"kernel name with a slash", Identity{Kernel: "cciss!c0d0"}, "cciss_c0d0"},
		{"nothing", Identity{Model: "QEMU"}, ""},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			if got := tc.id.ID(); got != tc.want {
				t.Errorf("ID = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	tests := []struct {
		story string
		a, b  Identity
		want  bool
	}{
		{"serial, whatever the kernel calls it now", Identity{Model: "M", Serial: "S1", Kernel: "sda"}, Identity{Model: "M", Serial: " S1 ", Kernel: "sdc"}, true},
		{"SCSI cut the model off", Identity{Model: "INTEL SSDSC2BB24", Serial: "S1"}, Identity{Model: "INTEL SSDSC2BB240G4", Serial: "S1"}, true},
		{"with and without vendor", Identity{Model: "SEAGATE ST1200MM0088", Serial: "S1"}, Identity{Model: "ST1200MM0088", Serial: "s1"}, true},
		{"model unknown on one side", Identity{Serial: "S1"}, Identity{Model: "M", Serial: "S1"}, true},
		{"two makers count from 1", Identity{Model: "FOO", Serial: "0001"}, Identity{Model: "BAR", Serial: "0001"}, false},
		{"models differ in spelling, but the WWN is one", Identity{Model: "FOO", Serial: "0001", WWN: "naa.5001"}, Identity{Model: "BAR", Serial: "0001", WWN: "0x5001"}, true},
		{"same slot, other disk", Identity{Model: "M", Serial: "S1", Kernel: "sda"}, Identity{Model: "M", Serial: "S2", Kernel: "sda"}, false},
		{"cheap disks with one WWN", Identity{Serial: "S1", WWN: "naa.5001"}, Identity{Serial: "S2", WWN: "naa.5001"}, false},
		{"WWN in other spelling when one has no serial", Identity{Serial: "S1", WWN: "0x5002538E00000001"}, Identity{WWN: "naa.5002538e00000001"}, true},
		{"all-zero WWNs are no evidence", Identity{WWN: "naa.0000000000000000", Kernel: "sda"}, Identity{WWN: "naa.0000000000000000", Kernel: "sdb"}, false},
		{"all-zero serials are no evidence", Identity{Serial: "0000", Kernel: "sda"}, Identity{Serial: "0000", Kernel: "sdb"}, false},
		{"virtual disks by kernel name", Identity{Kernel: "vda"}, Identity{Kernel: "vda"}, true},
		{"kernel name does not count when one has a serial", Identity{Kernel: "vda", Serial: "S1"}, Identity{Kernel: "vda"}, false},
		{"kernel name does not count when one has a WWN", Identity{Kernel: "vda", WWN: "naa.5001"}, Identity{Kernel: "vda"}, false},
		{"two unknowns", Identity{}, Identity{}, false},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			if got := tc.a.Same(tc.b); got != tc.want {
				t.Errorf("a.Same(b) = %v, want %v", got, tc.want)
			}
			if got := tc.b.Same(tc.a); got != tc.want {
				t.Errorf("b.Same(a) = %v, want %v", got, tc.want)
			}
		})
	}
}

func FuzzIdentity(f *testing.F) {
	f.Add("Samsung SSD 870", "S5Y1", "naa.5002538e00000001", "sda")
	f.Add("", "0x0000", "0x", "")
	f.Add("\xff\x00", " ", "eui.", "a/b")
	f.Fuzz(func(t *testing.T, model, serial, wwn, kernel string) {
		i := Identity{Model: model, Serial: serial, WWN: wwn, Kernel: kernel}
		id := string(i.ID())
		if strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#+.:=@_-") != "" {
			t.Errorf("ID = %q has a character that is not allowed", id)
		}
		if id == "" && trim(kernel) != "" {
			t.Errorf("no ID for %+v", i)
		}
		if id != "" && trim(kernel) == kernel && kernel != "" && !i.Same(i) {
			t.Errorf("%+v is not the same as itself", i)
		}
	})
}
