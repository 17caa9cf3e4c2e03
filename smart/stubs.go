package smart

import (
	"io"
)

// Decode reads smartctl JSON: one document, several, or JSON Lines, plain or gzip, and calls each in input order. A
// document that cannot be understood is passed with its error and does not stop the rest. source becomes Reading.Source.
func Decode(r io.Reader, source string, each func(*Reading, error) error) error { return nil }

// Encode writes a Reading as the JSON of smartctl -x -j, in one line.
func Encode(w io.Writer, r *Reading) error { return nil }

// Interpret says what a Reading means.
func Interpret(r *Reading) *Health { return nil }

// Families lists the rows of the family table, for docs.
func RatedBytes(model string) (bytes int64, years int, source string, ok bool) {
	return 0, 0, "", false
}
