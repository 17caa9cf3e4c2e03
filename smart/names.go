package smart

import (
	"strings"
	"unicode"

	"ssd_exporter/blockdev"
)

func (rep *report) identity(protocol string) blockdev.Identity {
	id := blockdev.Identity{
		Model:    first(rep.ModelName, rep.SCSIModel, rep.Vendor+" "+rep.Product),
		Serial:   strings.TrimSpace(rep.Serial),
		Firmware: first(rep.Firmware, rep.SCSIRevision, rep.Revision),
		WWN:      rep.wwn(),
	}
	if rep.Device != nil {
		id.Kernel = kernelName(rep.Device.Name, rep.Device.Type)
	}
	id.Transport = rep.transport(protocol)
	if e := rep.Extension; e != nil {
		id.WWN = first(e.WWN, id.WWN)
		id.Transport = first(e.Transport, id.Transport)
		id.Kernel = first(e.Kernel, id.Kernel)
	}
	for _, s := range []*string{&id.Model, &id.Serial, &id.Firmware, &id.WWN, &id.Transport, &id.Kernel} {
		*s = name(*s)
	}
	return id
}

// longestName is in characters; the longest that a disk has is the serial number of SCSI, 252.
const longestName = 256

// name is a text by which a disk is known, fit for labels, pages and terminals: without what moves a cursor or turns the
// direction of writing, and not without end. A report is a file, and anybody may have written that.
func name(s string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s))
	if n := []rune(s); len(n) > longestName {
		s = strings.TrimSpace(string(n[:longestName]))
	}
	return s
}

// first is the first text that is not blank, trimmed.
func first(texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			return t
		}
	}
	return ""
}
