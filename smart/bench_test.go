package smart

import (
	"strings"
	"testing"
)

// A drive that no family matches walks the whole table: the dearest case.
func unknownDrive() *Reading {
	r := &Reading{Protocol: protocolATA, RotationRate: new(0)}
	r.Identity.Model, r.Identity.Firmware, r.Identity.Serial = "Generic SATA SSD 512GB Revision", "V0609B0", "1"
	for _, id := range []uint8{1, 5, 9, 12, 160, 161, 163, 164, 165, 166, 167, 168, 169, 175, 176, 177, 178, 181, 182, 192, 194, 195, 196, 197, 198, 199, 232, 241, 242, 245} {
		r.Attributes = append(r.Attributes, Attribute{ID: id, Name: "Unknown_Attribute", Value: 100, Worst: 100, Raw: uint64(id) * 100, RawString: "100"})
	}
	r.Statistics = map[Stat]uint64{StatPercentageUsed: 3, StatSectorsWritten: 241 * 100 * 65536, StatPowerOnHours: 900}
	return r
}

func BenchmarkInterpretUnknown(b *testing.B) {
	r := unknownDrive()
	b.ReportAllocs()
	for b.Loop() {
		Interpret(r)
	}
}

func BenchmarkInterpretUnknownWithDatabase(b *testing.B) {
	r := unknownDrive()
	r.DBFamily = "Some Family that the Table does not know SSDs"
	b.ReportAllocs()
	for b.Loop() {
		Interpret(r)
	}
}

func BenchmarkDecode(b *testing.B) {
	var one strings.Builder
	if err := Encode(&one, unknownDrive()); err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(one.String(), 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := Decode(strings.NewReader(text), "", func(_ *Reading, err error) error { n++; return err })
		if err != nil || n != 100 {
			b.Fatal(n, err)
		}
	}
}
