package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

//go:embed status.html
var statusHTML string

//go:embed status.css
var statusCSS string

// readTemplate parses the embedded page; a test proves that it parses.
func readTemplate() *template.Template {
	return template.Must(template.New("status").Parse(statusHTML))
}

func readStyle() template.CSS {
	return template.CSS(statusCSS) //nolint:gosec // a constant of this program
}

// contentPolicy forbids a page everything but its one style sheet, which it may hold by the sheet's hash.
func contentPolicy(style template.CSS) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
