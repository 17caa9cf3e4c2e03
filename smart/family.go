package smart

import "regexp"

// family is one row of the family table: drives whose attributes mean the same.
type family struct {
	name  string
	match []pattern // any of them

	// Wear.
	rule     ruleKind
	id       uint8 // attribute that the rule reads
	floor    int   // VALUE at which the attribute has stopped counting: at or below it the figure is a lower bound; -1 none
	distrust bool  // the drive's own Percentage Used is known to be wrong
	larger   bool  // the attribute and Percentage Used stop at different points: the larger one counts
	witness  witnessKind

	// Bytes.
	host        []counter // attributes that count bytes written by the host, best first
	reads       uint8     // attribute that counts bytes read by the host in the unit of the first of host
	media       media     // what counts bytes written to the flash
	compressing bool      // the controller compresses: it may write less to the flash than the host sent

	counts counts
	spare  uint8 // attribute whose VALUE is the percentage of spare blocks left; 0 none

	source string // what the row rests on
}

// pattern matches a drive when all that it says is true. At least one of model, firmware, database and layout is given.
type pattern struct {
	model    *regexp.Regexp // of Identity.Model
	firmware *regexp.Regexp // of Identity.Firmware
	database *regexp.Regexp // of smartctl's model_family
	layout   []uint8        // attributes that must all be there
	nameless bool           // only for a drive without a model name, as behind some RAID controllers
}

// counter is an attribute whose raw value counts in units of unit bytes; unit 0 differs from drive to drive.
type counter struct {
	id       uint8
	unit     uint64
	firmware []unitFor // exceptions
}

// unitFor is the unit of drives whose model and firmware ("model/firmware") match.
type unitFor struct {
	match *regexp.Regexp
	unit  uint64 // 0: known not to be the family's, but not what it is
}

// media says how bytes written to the flash are counted.
type media struct {
	pages bool    // attributes 247 and 248: pages programmed for the host and for the drive itself
	ids   []uint8 // raw values of these, added up, in units of unit
	unit  uint64
	names []string // names that ids must have, since others use the numbers differently; nil any
	none  bool     // what smartctl's names say is known not to fit
}

// counts are the attributes whose raw value has the meaning of the field in this family; 0 none.
type counts struct{ reallocated, program, erase, media, pending, unsafe uint8 }

// Units of byte counters.
const (
	sector   = 512
	mib16    = 16 << 20
	mib32    = 32 << 20
	gib      = 1 << 30
	gigabyte = 1_000_000_000
)

func re(p string) *regexp.Regexp { return regexp.MustCompile(p) }

func byModel(p string) pattern    { return pattern{model: re(p)} }
func byDatabase(p string) pattern { return pattern{database: re(p)} }

// matches says whether a drive answers the pattern.
func (p *pattern) matches(r *Reading) bool {
	switch {
	case p.nameless && r.Identity.Model != "",
		p.model != nil && !p.model.MatchString(r.Identity.Model),
		p.firmware != nil && !p.firmware.MatchString(r.Identity.Firmware),
		p.database != nil && (r.DBFamily == "" || !p.database.MatchString(r.DBFamily)):
		return false
	}
	for _, id := range p.layout {
		if r.attribute(id) == nil {
			return false
		}
	}
	return true
}

// familyOf finds the row of the family table for an ATA drive, or nil.
func familyOf(r *Reading) *family {
	for i := range families {
		for j := range families[i].match {
			if families[i].match[j].matches(r) {
				return &families[i]
			}
		}
	}
	return nil
}

// attribute is the first attribute with this number, or nil.
func (r *Reading) attribute(id uint8) *Attribute {
	for i := range r.Attributes {
		if r.Attributes[i].ID == id {
			return &r.Attributes[i]
		}
	}
	return nil
}
