package blockdev

import (
	"encoding/binary"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// identify reads the name of a disk that is not NVMe. hw is its place in the device tree.
func (s *scan) identify(name, hw string) Identity {
	attr := func(elem ...string) string { return s.sys.block(name, elem...) }
	id := Identity{Kernel: name, Transport: transport(name, hw)}
	if strings.HasPrefix(name, "mmcblk") {
		id.Model = text(attr("device", "name"))
		id.Serial = knownSerial(text(attr("device", "serial")))
		id.Firmware = text(attr("device", "fwrev"))
		return id
	}
	vendor := text(attr("device", "vendor"))
	id.Model = text(attr("device", "model"))
	if vendor == "ATA" {
		s.identifyATA(&id, attr("device"))
		return id
	}
	if id.Model != "" && vendor != "" {
		id.Model = vendor + " " + id.Model // as S.M.A.R.T. tools print a SCSI model
	}
	id.Firmware = text(attr("device", "rev"))
	id.WWN = scsiWWN(text(attr("device", "wwid")))
	id.Serial = knownSerial(serialPage(attr("device")))
	if id.Serial == "" {
		id.Serial = knownSerial(text(attr("serial"))) // virtio-blk and others without SCSI
	}
	if id.Serial == "" && id.Transport == "usb" {
		id.Serial = knownSerial(s.usbSerial(hw))
	}
	return id
}

// identifyATA reads the identity of a SATA disk. SCSI's model is only the first 16 characters of ATA's, and its
// revision 4 of 8, so that the whole comes from the drive's IDENTIFY data, of which newer kernels show their copy
// as VPD page 0x89. Without that page the model stays cut off and the firmware unknown.
func (s *scan) identifyATA(id *Identity, dir string) {
	if id.Transport == "" || id.Transport == "sas" || id.Transport == "scsi" {
		id.Transport = "sata" // behind a SAS adapter it is still a SATA disk
	}
	id.WWN = scsiWWN(text(filepath.Join(dir, "wwid")))
	id.Serial = knownSerial(serialPage(dir))
	page, err := os.ReadFile(filepath.Join(dir, "vpd_pg89"))
	if err != nil {
		return
	}
	ata, ok := parseATAPage(page)
	if !ok {
		return
	}
	id.Model, id.Firmware = ata.Model, ata.Firmware
	if ata.Serial != "" {
		id.Serial = ata.Serial
	}
	if ata.WWN != "" {
		id.WWN = ata.WWN
	}
}

// scsiWWN takes the kernel's wwid when it is a world wide name; "t10." is made of model and serial number.
func scsiWWN(wwid string) string {
	wwid = strings.ToLower(wwid)
	if (strings.HasPrefix(wwid, "naa.") || strings.HasPrefix(wwid, "eui.")) && knownWWN(wwid) != "" {
		return wwid
	}
	return ""
}

// serialPage reads the serial number of a SCSI disk, which the kernel keeps in VPD page 0x80.
func serialPage(dir string) string {
	page, err := os.ReadFile(filepath.Join(dir, "vpd_pg80"))
	if err != nil {
		return ""
	}
	return parseSerialPage(page)
}

// parseSerialPage reads a Unit Serial Number page (SPC-4, 7.8.15): device type, page code, length in two bytes, text.
// It is "" when that is not what it is.
func parseSerialPage(page []byte) string {
	body, ok := vpdBody(page, 0x80)
	if !ok {
		return ""
	}
	return printable(body)
}

// parseATAPage reads an ATA Information page (SAT-3, 12.4.2): IDENTIFY DEVICE data at byte 60, behind the command code
// that asked for it at byte 56.
func parseATAPage(page []byte) (Identity, bool) {
	const (
		command  = 56 - 4 // in the body, which starts at byte 4
		identify = 60 - 4
		length   = 512
	)
	body, ok := vpdBody(page, 0x89)
	if !ok || len(body) < identify+length || body[command] != 0xec {
		return Identity{}, false
	}
	data := body[identify : identify+length]
	// Words of IDENTIFY DEVICE (ACS-4, 7.13.6): 10 serial number, 23 firmware, 27 model, 108 world wide name.
	id := Identity{
		Serial:   knownSerial(ataString(data, 10, 10)),
		Firmware: ataString(data, 23, 4),
		Model:    ataString(data, 27, 20),
	}
	const hasWWN = 1 << 8 // of word 87, valid when its bits 15:14 are 01
	if w := ataWord(data, 87); w&0xc000 == 0x4000 && w&hasWWN != 0 {
		var wwn strings.Builder
		wwn.WriteString("naa.")
		for i := 108; i < 112; i++ {
			wwn.WriteString(hex16(ataWord(data, i)))
		}
		id.WWN = scsiWWN(wwn.String())
	}
	if id.Model == "" {
		return Identity{}, false
	}
	return id, true
}

// vpdBody is what follows the header of a vital product data page, checked and cut to its stated length.
func vpdBody(page []byte, code byte) ([]byte, bool) {
	const header = 4
	if len(page) < header || page[1] != code {
		return nil, false
	}
	body := page[header:]
	return body[:min(len(body), int(binary.BigEndian.Uint16(page[2:])))], true
}

func ataWord(data []byte, i int) uint16 { return binary.LittleEndian.Uint16(data[2*i:]) }

// ataString reads words of text, which ATA stores with the bytes of each word swapped.
func ataString(data []byte, word, words int) string {
	b := make([]byte, 0, 2*words)
	for i := word; i < word+words; i++ {
		b = append(b, data[2*i+1], data[2*i])
	}
	return printable(b)
}

// printable is text of a drive, trimmed; "" when it is not ASCII text.
func printable(b []byte) string {
	s := trim(string(b))
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return s
}

func hex16(n uint16) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>12], digits[n>>8&15], digits[n>>4&15], digits[n&15]})
}

// usbSerial is the serial number of the USB device that a disk is part of: the nearest folder above it that is one.
func (s *scan) usbSerial(hw string) string {
	for dir := path.Dir(hw); dir != "." && dir != "devices"; dir = path.Dir(dir) {
		if text(s.sys.path(dir, "idVendor")) != "" {
			return text(s.sys.path(dir, "serial"))
		}
	}
	return ""
}

// buses are what the folders of the device tree above a disk tell about its transport, the innermost meaning first: a
// USB bridge has a SCSI host of its own, and so has an iSCSI session.
var buses = []struct {
	folder    *regexp.Regexp
	transport string
}{
	{regexp.MustCompile(`^usb[0-9]+$`), "usb"},
	{regexp.MustCompile(`^mmc_host$`), "mmc"},
	{regexp.MustCompile(`^virtio[0-9]+$`), "virtio"},
	{regexp.MustCompile(`^ata[0-9]+$`), "sata"},
	{regexp.MustCompile(`^session[0-9]+$`), "iscsi"},
	{regexp.MustCompile(`^rport-[0-9:-]+$`), "fc"},
	{regexp.MustCompile(`^end_device-[0-9:]+$`), "sas"},
	{regexp.MustCompile(`^vbd-[0-9]+$`), "xen"},
	{regexp.MustCompile(`^(VMBUS:[0-9]+|vmbus_[0-9]+)$`), "hyperv"},
	{regexp.MustCompile(`\.ufs(hc)?$|^ufshcd`), "ufs"},
	{regexp.MustCompile(`^host[0-9]+$`), "scsi"},
}

// transport is how a disk is attached, by its place in the device tree; "" when that does not tell.
func transport(name, hw string) string {
	if strings.HasPrefix(name, "mmcblk") {
		return "mmc"
	}
	folders := strings.Split(hw, "/")
	for _, bus := range buses {
		if slices.ContainsFunc(folders, bus.folder.MatchString) {
			return bus.transport
		}
	}
	return ""
}
