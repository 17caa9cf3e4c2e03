package blockdev

import (
	"strings"
	"unicode"
)

// ID is the name under which the disk is known for good: its model and serial number as in /dev/disk/by-id, with "_"
// between them and in place of every character outside [0-9A-Za-z#+.:=@_-]. A disk without a serial number is "wwn-"
// and its World Wide Name, one without both is its kernel name, which may change over a reboot. It is "" only when
// nothing at all is known. Blank and all-zero serial numbers and WWNs count as none.
func (i Identity) ID() ID {
	model, serial, wwn := trim(i.Model), knownSerial(i.Serial), knownWWN(i.WWN)
	switch {
	case serial != "" && model != "":
		return ID(sanitize(model + "_" + serial))
	case serial != "":
		return ID(sanitize(serial))
	case wwn != "":
		return ID(sanitize("wwn-" + strings.ToLower(trim(i.WWN))))
	default:
		return ID(sanitize(trim(i.Kernel)))
	}
}

// Same tells whether two identities are of one disk. Serial numbers decide when both sides have one: they must be
// equal and the models compatible, since SCSI cuts a model off after 16 characters and some makers number every model
// from 1. WWNs decide when a serial number is missing, or when only the models speak against equal serial numbers:
// cheap disks share one WWN, so it never overrules two different serial numbers. The kernel name counts only when
// neither side has anything else.
func (i Identity) Same(o Identity) bool {
	si, so := knownSerial(i.Serial), knownSerial(o.Serial)
	wi, wo := knownWWN(i.WWN), knownWWN(o.WWN)
	sameWWN := wi != "" && wi == wo
	switch {
	case si != "" && so != "":
		return strings.EqualFold(si, so) && (sameWWN || compatible(i.Model, o.Model))
	case sameWWN:
		return true
	case si == "" && so == "" && wi == "" && wo == "":
		return i.Kernel != "" && i.Kernel == o.Kernel
	default:
		return false
	}
}

// compatible tells whether two spellings may name one model: with or without the vendor, cut off, in other case or
// spacing. An unknown model is compatible with all.
func compatible(a, b string) bool {
	a, b = letters(a), letters(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// letters keeps what tells models apart.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, s)
}

// knownSerial is the trimmed serial number, "" when there is none: drives and bridges that have no serial number
// report blanks, NULs or zeros.
func knownSerial(s string) string {
	s = trim(s)
	if strings.Trim(strings.TrimPrefix(strings.ToLower(s), "0x"), "0 -_") == "" {
		return ""
	}
	return s
}

// knownWWN is the comparable form of a World Wide Name: its digits without the prefix that names the format, since
// "naa.5002…", "0x5002…" and "5002…" are one. "" when there is none: blank, all zero, or an NAA without maker and
// number ("5000000000000000").
func knownWWN(s string) string {
	s = strings.ToLower(trim(s))
	for _, prefix := range []string{"naa.", "eui.", "uuid.", "0x"} {
		s = strings.TrimPrefix(s, prefix)
	}
	s = strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == ':' {
			return -1
		}
		return r
	}, s)
	if s == "" || strings.Trim(s[1:], "0") == "" {
		return ""
	}
	return s
}

// sanitize replaces what /dev/disk/by-id does not allow either.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', strings.ContainsRune("#+.:=@_-", r):
			return r
		}
		return '_'
	}, s)
}

// trim cuts white space and NULs off both ends: fixed-width fields are padded with either.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r == 0 || unicode.IsSpace(r) })
}
