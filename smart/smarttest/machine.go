package smarttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Machine is a sysfs and a folder of device nodes in which simulated disks show up as on a real machine, for programs that
// look for disks themselves.
type Machine struct {
	Sysfs, Dev string
	Nodes      map[string]Disk // by the absolute path of the device node: what Start wants
}

// NewMachine makes an empty machine below dir, with "sys" and "dev" in it.
func NewMachine(dir string) (*Machine, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("a simulated machine: %w", err)
	}
	m := &Machine{Sysfs: filepath.Join(dir, "sys"), Dev: filepath.Join(dir, "dev"), Nodes: map[string]Disk{}}
	for _, d := range []string{filepath.Join(m.Sysfs, "class", "block"), filepath.Join(m.Sysfs, "class", "nvme"), filepath.Join(m.Sysfs, "block"), m.Dev} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("a simulated machine: %w", err)
		}
	}
	return m, nil
}

// Add plugs a disk in under a kernel name: "sda" for one of the SCSI layer, "nvme0" for an NVMe controller, which gets the
// namespace nvme0n1. As the kernel does, it asks the disk who it is; one that does not say is a nameless SATA disk.
func (m *Machine) Add(kernel string, d Disk) error {
	node := filepath.Join(m.Dev, kernel)
	m.Nodes[node] = d
	files := map[string]string{}
	number := len(m.Nodes)
	var block string // folder of the block device in the device tree
	var err error
	if strings.HasPrefix(kernel, "nvme") {
		controller := fmt.Sprintf("devices/pci0000:00/0000:00:%02x.0/nvme/%s", number, kernel)
		block = controller + "/" + kernel + "n1"
		capacity := nvmeIdentityFiles(files, controller, d)
		files[block+"/size"] = fmt.Sprint(capacity / 512)
		err = errors.Join(m.link("class/nvme/"+kernel, controller), m.link(block+"/device", controller))
	} else {
		host := fmt.Sprintf("devices/pci0000:00/0000:00:%02x.0/%s/host%d/target%[3]d:0:0/%[3]d:0:0:0", number, scsiBus(d, number), number)
		block = host + "/block/" + kernel
		scsiIdentityFiles(files, host, d)
		files[block+"/size"] = "250069680"
		err = m.link(block+"/device", host)
	}
	name := filepath.Base(block)
	files[block+"/dev"] = fmt.Sprintf("%d:%d", 8, 16*number)
	files[block+"/ro"], files[block+"/removable"], files[block+"/hidden"] = "0", "0", "0"
	files[block+"/queue/logical_block_size"], files[block+"/queue/physical_block_size"] = "512", "4096"
	files[block+"/queue/rotational"], files[block+"/queue/max_sectors_kb"] = "0", "1280"
	for path, content := range files {
		err = errors.Join(err, m.write(path, content))
	}
	err = errors.Join(err, m.link("class/block/"+name, block), m.link("block/"+name, block), os.WriteFile(node, nil, 0o600))
	if err != nil {
		return fmt.Errorf("adding %s to a simulated machine: %w", kernel, err)
	}
	return nil
}

func (m *Machine) write(path, content string) error {
	path = filepath.Join(m.Sysfs, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content+"\n"), 0o644)
}

// link makes a relative symbolic link, as sysfs has them; both paths are relative to its root.
func (m *Machine) link(from, to string) error {
	from = filepath.Join(m.Sysfs, from)
	to, err := filepath.Rel(filepath.Dir(from), filepath.Join(m.Sysfs, to))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
		return err
	}
	return os.Symlink(to, from)
}

func nvmeIdentityFiles(files map[string]string, controller string, d Disk) (capacity uint64) {
	files[controller+"/transport"], files[controller+"/state"], files[controller+"/cntrltype"] = "pcie", "live", "io"
	const length = 4096
	page := slices.Concat(d.Answer(Command{NVMe: NVMeCommand{Opcode: 6, CDW10: 1}, Length: length}).Data, make([]byte, length))
	field := func(from, to int) string { return strings.Trim(string(page[from:to]), " \x00") }
	files[controller+"/serial"], files[controller+"/model"], files[controller+"/firmware_rev"] = field(4, 24), field(24, 64), field(64, 72)
	if capacity = binary.LittleEndian.Uint64(page[280:]); capacity == 0 {
		capacity = 256060514304
	}
	return capacity
}

// inquiry is what a disk of the SCSI layer calls itself.
func inquiry(d Disk) (vendor, product, revision string) {
	data := d.Answer(Command{CDB: []byte{0x12, 0, 0, 0, 36, 0}, Length: 36}).Data
	if len(data) < 36 {
		return "ATA", "", ""
	}
	return strings.TrimSpace(string(data[8:16])), strings.TrimSpace(string(data[16:32])), strings.TrimSpace(string(data[32:36]))
}

// scsiBus is the folder that tells the transport.
func scsiBus(d Disk, number int) string {
	if vendor, _, _ := inquiry(d); vendor == "ATA" {
		return fmt.Sprintf("ata%d", number)
	}
	return fmt.Sprintf("end_device-%d:0", number)
}

func scsiIdentityFiles(files map[string]string, host string, d Disk) {
	vendor, product, revision := inquiry(d)
	files[host+"/vendor"], files[host+"/model"], files[host+"/rev"] = vendor, product, revision
	if vendor != "ATA" {
		return
	}
	identify := Command{CDB: []byte{0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0}, Length: 512}
	if data := d.Answer(identify).Data; len(data) == 512 {
		page := make([]byte, 572) // VPD page 89h: ATA Information
		page[1], page[2], page[3], page[56] = 0x89, 0x02, 0x38, 0xec
		copy(page[60:], data)
		files[host+"/vpd_pg89"] = string(page)
	}
}
