package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// byteSize is a size on the command line: "4k", "1g", "512MiB", "10GB", or bytes alone. A lone letter counts in powers of
// 1,024, as in every benchmark tool; "kB", "MB", "GB" count in powers of 1,000.
type byteSize int64

var sizePattern = regexp.MustCompile(`^[0-9]{1,19}(\.[0-9]{1,9})?([kKmMgGtT]|[kKMGT]B|[KMGT]iB|B)?$`)

// Set reads a size; it makes byteSize a flag.
func (b *byteSize) Set(s string) error {
	if !sizePattern.MatchString(s) {
		return fmt.Errorf("%q is not a size; accepted: 4k, 1m, 512MiB, 1g, 10GB", s)
	}
	text := s
	if strings.ContainsRune("kKmMgGtT", rune(s[len(s)-1])) {
		text = strings.ToUpper(s) + "iB"
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("%q is too large", s)
	}
	*b = byteSize(n)
	return nil
}

// String is the shortest exact spelling in powers of 1,024.
func (b *byteSize) String() string {
	n := int64(*b)
	for i := len("kmgt") - 1; i >= 0; i-- {
		if unit := int64(1) << (10 * (i + 1)); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + "kmgt"[i:i+1]
		}
	}
	return strconv.FormatInt(n, 10)
}
