package blockdev

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const emmcPlace = "platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:0001/block/mmcblk0"

// emmc adds an eMMC with a boot partition, which sysfs shows as a disk of its own.
func emmc(x tree) {
	dev := "devices/platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:0001"
	x.block(emmcPlace, "179:0", attrs{"queue/scheduler": "none"})
	x.link(emmcPlaceDir()+"/device", dev)
	for name, content := range map[string]string{
		"name": "BJTD4R", "serial": "0x1a2b3c4d", "fwrev": "0x0700000000000000", "life_time": "0x02 0x01", "pre_eol_info": "0x01",
	} {
		x.file(dev+"/"+name, content)
	}
	x.block(emmcPlace+"/mmcblk0boot0", "179:32", nil)
}

func emmcPlaceDir() string { return "devices/" + emmcPlace }

// scsi adds a SCSI disk with the attributes of its device.
func scsi(x tree, hw, number string, device attrs, block attrs) {
	dir := x.block(hw, number, block)
	dev := filepath.Dir(filepath.Dir(dir)) // …/0:0:0:0/block/sda
	x.link(dir+"/device", dev)
	for name, content := range device {
		if strings.HasPrefix(name, "vpd_") {
			x.bytes(dev+"/"+name, []byte(content))
		} else {
			x.file(dev+"/"+name, content)
		}
	}
}

func vpd(code byte, body string) string {
	return string([]byte{0, code, byte(len(body) >> 8), byte(len(body))}) + body
}

// ataPage is VPD page 0x89 with IDENTIFY DEVICE data.
func ataPage(model, serial, firmware string, wwn uint64) string {
	body := make([]byte, 568)
	body[52] = 0xec
	id := body[56:]
	put := func(word, words int, s string) {
		s += strings.Repeat(" ", 2*words-len(s))
		for i := range words {
			id[2*(word+i)], id[2*(word+i)+1] = s[2*i+1], s[2*i]
		}
	}
	put(10, 10, serial)
	put(23, 4, firmware)
	put(27, 20, model)
	if wwn != 0 {
		binary.LittleEndian.PutUint16(id[2*87:], 0x4000|1<<8)
		for i := range 4 {
			binary.LittleEndian.PutUint16(id[2*(108+i):], uint16(wwn>>(48-16*i)))
		}
	}
	return vpd(0x89, string(body))
}

func listIn(t *testing.T, x tree) []Disk {
	t.Helper()
	disks, err := Disks(x.roots())
	if err != nil {
		t.Fatal(err)
	}
	return disks
}

// only lists and picks the fields that a case is about.
func identities(disks []Disk) []Identity {
	var ids []Identity
	for _, d := range disks {
		ids = append(ids, d.Identity)
	}
	return ids
}

func TestDisksTellsWhoEachDiskIs(t *testing.T) {
	tests := []struct {
		story string
		build func(tree)
		want  Identity
	}{{
		"SATA: whole names come from the IDENTIFY data",
		func(x tree) {
			scsi(x, "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "8:0", attrs{
				"vendor": "ATA     ", "model": "INTEL SSDSC2BB24", "rev": "0370", "wwid": "naa.55cd2e404b000001",
				"vpd_pg80": vpd(0x80, "  CVWL4200AAAA240NGN"),
				"vpd_pg89": ataPage("INTEL SSDSC2BB240G4", "CVWL4200AAAA240NGN", "D2010370", 0x55cd2e404b000001),
			}, nil)
		},
		Identity{Model: "INTEL SSDSC2BB240G4", Serial: "CVWL4200AAAA240NGN", WWN: "naa.55cd2e404b000001", Firmware: "D2010370", Transport: "sata", Kernel: "sda"},
	}, {
		"SATA on an old kernel: model cut off, firmware not guessed from half of it",
		func(x tree) {
			scsi(x, "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "8:0", attrs{
				"vendor": "ATA     ", "model": "INTEL SSDSC2BB24", "rev": "0370",
				"wwid": "t10.ATA     INTEL SSDSC2BB240G4   CVWL4200AAAA240NGN", "vpd_pg80": vpd(0x80, "  CVWL4200AAAA240NGN"),
			}, nil)
		},
		Identity{Model: "INTEL SSDSC2BB24", Serial: "CVWL4200AAAA240NGN", Transport: "sata", Kernel: "sda"},
	}, {
		"SATA behind a SAS adapter",
		func(x tree) {
			scsi(x, "pci0000:00/0000:02:00.0/host6/port-6:0/end_device-6:0/target6:0:0/6:0:0:0/block/sdb", "8:16", attrs{
				"vendor": "ATA     ", "model": "Samsung SSD 860 ", "vpd_pg89": ataPage("Samsung SSD 860 EVO 1TB", "S3Z8", "RVT02B6Q", 0),
			}, nil)
		},
		Identity{Model: "Samsung SSD 860 EVO 1TB", Serial: "S3Z8", Firmware: "RVT02B6Q", Transport: "sata", Kernel: "sdb"},
	}, {
		"SAS: vendor and product make the model",
		func(x tree) {
			scsi(x, "pci0000:00/0000:02:00.0/host6/port-6:0/end_device-6:0/target6:0:0/6:0:0:0/block/sdb", "8:16", attrs{
				"vendor": "HGST    ", "model": "HUSMM8040ASS200 ", "rev": "A360", "wwid": "naa.5000cca04e000001", "vpd_pg80": vpd(0x80, "0QV0XXXX\x00\x00"),
			}, nil)
		},
		Identity{Model: "HGST HUSMM8040ASS200", Serial: "0QV0XXXX", WWN: "naa.5000cca04e000001", Firmware: "A360", Transport: "sas", Kernel: "sdb"},
	}, {
		"USB stick: the serial number is that of the USB device",
		func(x tree) {
			usb := "pci0000:00/0000:00:14.0/usb1/1-2"
			x.file("devices/"+usb+"/idVendor", "0781")
			x.file("devices/"+usb+"/serial", "4C530001")
			scsi(x, usb+"/1-2:1.0/host4/target4:0:0/4:0:0:0/block/sdc", "8:32", attrs{
				"vendor": "SanDisk ", "model": "Ultra           ", "rev": "1.00",
			}, attrs{"removable": "1"})
		},
		Identity{Model: "SanDisk Ultra", Serial: "4C530001", Firmware: "1.00", Transport: "usb", Kernel: "sdc"},
	}, {
		"iSCSI", func(x tree) {
			scsi(x, "platform/host3/session1/target3:0:0/3:0:0:0/block/sdd", "8:48", attrs{
				"vendor": "IET     ", "model": "VIRTUAL-DISK    ", "rev": "0001", "wwid": "t10.IET", "vpd_pg80": vpd(0x80, "0000"),
			}, nil)
		},
		Identity{Model: "IET VIRTUAL-DISK", Firmware: "0001", Transport: "iscsi", Kernel: "sdd"},
	}, {
		"virtio with a serial number; 0x1af4 is no maker's name", func(x tree) {
			dir := x.block("pci0000:00/0000:00:02.0/virtio1/block/vda", "254:0", attrs{"serial": "vol-1"})
			x.link(dir+"/device", "devices/pci0000:00/0000:00:02.0/virtio1")
			x.file("devices/pci0000:00/0000:00:02.0/virtio1/vendor", "0x1af4")
		},
		Identity{Serial: "vol-1", Transport: "virtio", Kernel: "vda"},
	}, {
		"virtio without identity", func(x tree) { x.block("pci0000:00/0000:00:02.0/virtio1/block/vda", "254:0", attrs{"serial": ""}) },
		Identity{Transport: "virtio", Kernel: "vda"},
	}, {
		"eMMC", emmc,
		Identity{Model: "BJTD4R", Serial: "0x1a2b3c4d", Firmware: "0x0700000000000000", Transport: "mmc", Kernel: "mmcblk0"},
	}, {
		"Xen", func(x tree) { x.block("vbd-51712/block/xvda", "202:0", nil) },
		Identity{Transport: "xen", Kernel: "xvda"},
	}}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			x := newTree(t)
			tc.build(x)
			if d := cmp.Diff([]Identity{tc.want}, identities(listIn(t, x))); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestDisksReadsLimits(t *testing.T) {
	x := newTree(t)
	x.block("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda", "8:0", attrs{
		"size": "468862128", "ro": "1", "removable": "1", "queue/logical_block_size": "512", "queue/physical_block_size": "4096",
		"queue/max_sectors_kb": "1280", "queue/scheduler": "none [mq-deadline] kyber", "queue/write_cache": "write back", "queue/rotational": "0",
	})
	emmc(x)
	x.block("pci0000:00/0000:00:02.0/virtio1/block/vda", "254:0", attrs{"queue/rotational": "1"})
	got := listIn(t, x)
	want := []Disk{
		{
			Identity: Identity{Transport: "mmc", Kernel: "mmcblk0", Model: "BJTD4R", Serial: "0x1a2b3c4d", Firmware: "0x0700000000000000"},
			Device:   "/dev/mmcblk0", Major: 179, Capacity: 2048000 * 512, Logical: 512, Scheduler: "none",
			LifeTime: []string{"0x02", "0x01"}, PreEOL: "0x01",
		},
		{
			Identity: Identity{Transport: "sata", Kernel: "sda"}, Device: "/dev/sda", Major: 8,
			Capacity: 240057409536, Rotational: new(false), ReadOnly: true, Removable: true, Logical: 512, Physical: 4096,
			MaxIOBytes: 1280 << 10, Scheduler: "mq-deadline", WriteCache: "write back",
		},
		{
			Identity: Identity{Transport: "virtio", Kernel: "vda"}, Device: "/dev/vda", Major: 254,
			Capacity: 2048000 * 512, Rotational: new(true), Logical: 512,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestDisksSkipsWhatIsNoDisk(t *testing.T) {
	x := newTree(t)
	x.sata("sda", 0, 3)
	x.virtual("loop0", "7:0", attrs{"loop/backing_file": "/img"})
	x.virtual("zram0", "252:0", nil)
	x.virtual("ram0", "1:0", nil)
	x.virtual("nbd0", "43:0", nil)
	x.virtual("md127", "9:127", nil, "sda1")
	x.virtual("md_home", "9:126", nil)
	x.virtual("dm-0", "253:0", nil, "md127")
	x.virtual("zd0", "230:0", nil)
	x.block("pci0000:00/ata2/host1/target1:0:0/1:0:0:0/block/sr0", "11:0", nil)
	x.block("platform/floppy.0/block/fd0", "2:0", nil)
	x.block("pci0000:00/usb1/1-1/1-1:1.0/host2/target2:0:0/2:0:0:0/block/sdb", "8:16", attrs{"size": "0"})
	x.block("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0c0n1", "0:1", nil)
	x.block("pci0000:00/0000:05:00.0/hidden/block/sdc", "8:32", attrs{"hidden": "1"})
	// Unplugged between the listing and the reading.
	x.link("class/block/sdz", "devices/gone/block/sdz")
	if d := cmp.Diff([]Identity{{Transport: "sata", Kernel: "sda"}}, identities(listIn(t, x))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestDisksOfAMachineWithoutAny(t *testing.T) {
	if got := listIn(t, newTree(t)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestDisksNamesTheFlagWhenSysfsIsNotThere(t *testing.T) {
	_, err := Disks(Roots{Sysfs: filepath.Join(t.TempDir(), "absent")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--path.sysfs") {
		t.Errorf("err = %v, want fs.ErrNotExist and a word about --path.sysfs", err)
	}
}

func TestDisksMayLieUnderATestOrContainerPathThatLooksLikeABus(t *testing.T) {
	root := filepath.Join(t.TempDir(), "usb1", "ata2")
	if err := os.MkdirAll(filepath.Join(root, "class/block"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := tree{t, root}
	x.mkdir("dev/block")
	x.block("vbd-51712/block/xvda", "202:0", nil)
	if d := cmp.Diff([]Identity{{Transport: "xen", Kernel: "xvda"}}, identities(listIn(t, x))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestDiskWithASlashInItsName(t *testing.T) {
	x := newTree(t)
	x.block("pci0000:00/cciss0/c0d0/block/cciss!c0d0", "104:0", nil)
	got := listIn(t, x)
	if len(got) != 1 || got[0].Device != "/dev/cciss/c0d0" {
		t.Errorf("got %+v, want the device /dev/cciss/c0d0", got)
	}
}

func TestATAPage(t *testing.T) {
	const wwn = 0x5002538e00000001
	page := func(change func(b []byte)) []byte {
		b := []byte(ataPage("Samsung SSD 860 EVO 1TB", "S3Z8", "RVT02B6Q", wwn))
		change(b)
		return b
	}
	full := Identity{Model: "Samsung SSD 860 EVO 1TB", Serial: "S3Z8", Firmware: "RVT02B6Q", WWN: "naa.5002538e00000001"}
	noWWN := full
	noWWN.WWN = ""
	const word87 = 60 + 2*87
	tests := []struct {
		story string
		page  []byte
		want  Identity
	}{
		{"whole", page(func([]byte) {}), full},
		{"word 87 is not valid, so neither is the WWN", page(func(b []byte) { b[word87+1] = 0xff }), noWWN},
		{"drive without WWN", page(func(b []byte) { b[word87+1] = 0x40 }), noWWN},
		{"optical drive: IDENTIFY PACKET DEVICE", page(func(b []byte) { b[56] = 0xa1 }), Identity{}},
		{"cut off", page(func([]byte) {})[:500], Identity{}},
		{"stated length too short", page(func(b []byte) { b[2] = 0 }), Identity{}},
		{"another page", page(func(b []byte) { b[1] = 0x80 }), Identity{}},
		{"binary in the model", page(func(b []byte) { b[60+2*27] = 1 }), Identity{}},
	}
	for _, tc := range tests {
		t.Run(tc.story, func(t *testing.T) {
			got, ok := parseATAPage(tc.page)
			if d := cmp.Diff(tc.want, got); d != "" || ok != (tc.want.Model != "") {
				t.Errorf("ok = %v, -want +got\n%s", ok, d)
			}
		})
	}
}

func FuzzVPDPages(f *testing.F) {
	f.Add([]byte(vpd(0x80, "  S3Z8NB0K")))
	f.Add([]byte(ataPage("Samsung SSD 860 EVO 1TB", "S3Z8", "RVT02B6Q", 0x5002538e00000001)))
	f.Add([]byte(ataPage("", "S3Z8", "RVT02B6Q", 0)))
	f.Add([]byte{0, 0x89, 0xff, 0xff, 1, 2, 3})
	f.Add([]byte{0, 0x80})
	f.Fuzz(func(t *testing.T, page []byte) {
		all := []string{parseSerialPage(page)}
		id, ok := parseATAPage(page)
		if !ok && id != (Identity{}) {
			t.Errorf("refused, but %+v", id)
		}
		for _, s := range append(all, id.Model, id.Serial, id.Firmware, id.WWN) {
			if s != trim(s) {
				t.Errorf("%q is not trimmed", s)
			}
			for _, c := range []byte(s) {
				if c < ' ' || c > '~' {
					t.Errorf("%q is not text", s)
				}
			}
		}
	})
}
