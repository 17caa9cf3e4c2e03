package collector

import (
	"net/http"
	"strconv"
	"strings"
)

// acceptsGzip says whether a client wants gzip (RFC 9110, 12.5.3): named, or meant by "*", with a weight above 0 and not below
// that of "identity". No header means no: what a client did not ask for may confuse it.
func acceptsGzip(h http.Header) bool {
	gzip, identity, star := -1.0, -1.0, -1.0 // weights; -1 not named
	for _, line := range h.Values("Accept-Encoding") {
		for clause := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(clause, ";")
			q, ok := weight(params)
			if !ok {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "identity":
				identity = max(identity, q)
			case "*":
				star = max(star, q)
			}
		}
	}
	if gzip < 0 {
		gzip = star
	}
	return gzip > 0 && gzip >= identity
}

// weight reads the parameters of a clause: "" is 1, otherwise q=0 to q=1.
func weight(params string) (q float64, ok bool) {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1, true
	}
	name, value, found := strings.Cut(params, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 0, false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return q, err == nil && q >= 0 && q <= 1
}
