package config

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Draft is a configuration made for a host.
type Draft struct {
	YAML    []byte   // Parse accepts it as it is
	Folders []string // that must exist before the targets can be probed
	Targets int      // that will be probed
	Off     int      // that come commented out
}

// Generate writes a commented configuration for a host: one target for each file system on an SSD that can be written to, one
// enabled on each disk, and every other key at its default as a comment. The result depends on the survey alone.
func Generate(s Survey) (*Draft, error) {
	values, err := newDefaults()
	if err != nil {
		return nil, fmt.Errorf("writing the defaults: %w", err)
	}
	w := writer{defaults: values, state: s.State}
	w.header()
	w.targets(s.proposals())
	for _, section := range sections() {
		w.section(section)
	}
	if _, err := Parse("the generated configuration", w.Bytes()); err != nil { // a bug of ours must not reach a service
		return nil, fmt.Errorf("%w; please report this with the content of /proc/self/mountinfo", err)
	}
	w.YAML = w.Bytes()
	return &w.Draft, nil
}

// writer writes a file in which "# words" is a remark and "#key: value" a setting that is turned off.
type writer struct {
	bytes.Buffer
	Draft
	defaults defaults
	state    string
}

// width is where remarks are wrapped.
const width = 100

func (w *writer) line(format string, a ...any) { fmt.Fprintf(w, format+"\n", a...) }

// remark writes text as lines of a comment.
func (w *writer) remark(indent, text string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != indent+"#" {
			w.line("%s", line)
			line = indent + "#"
		}
		line += " " + word
	}
	w.line("%s", line)
}

func (w *writer) header() {
	w.remark("", `Configuration of ssd_exporter, made for this host by "ssd_exporter config generate". It is complete as it is.`)
	w.line("#")
	w.remark("", `A # with a space begins a remark. A # without one turns a setting off: each is shown with its default, or is a place that was found and is better not probed unasked. Take the # away to use it.`)
	w.line("#")
	w.remark("", `After a change: "ssd_exporter config check FILE", then send the service SIGHUP. A bad file changes nothing.`)
	w.line("")
}

func (w *writer) targets(all []proposal, left []string) {
	w.remark("", "Places to probe, one for each file system on a disk.")
	w.line("#")
	w.remark("", "A target may also have these keys:")
	for _, k := range reference() {
		if k.in("targets") && k.name() != "name" && k.name() != "path" {
			w.line("#")
			w.remark("", k.name()+": "+k.meaning+w.defaultWords(k))
		}
	}
	for i := range all {
		if all[i].off == "" {
			w.Targets++
		} else {
			w.Off++
		}
	}
	switch {
	case w.Targets > 0:
		w.line("targets:")
	case w.Off > 0:
		w.line("targets: [] # nothing is probed; take the [] away when you turn on one of those below")
	default:
		w.line("targets: [] # nothing is probed: no file system on a local disk was found that can be written to")
	}
	for i := range all {
		w.target(&all[i])
	}
	if len(left) > 0 {
		w.line("")
		w.leftOut(left)
	}
}

func (w *writer) defaultWords(k keyWords) string {
	if d := w.defaults.of(k); d != "" {
		return " (default " + d + ")"
	}
	return ""
}

func (w *writer) target(p *proposal) {
	const indent = "  "
	w.line("")
	w.remark(indent, p.about())
	if p.off != "" {
		w.remark(indent, "Not probed: "+p.off+".")
	}
	if p.note != "" {
		w.remark(indent, p.note)
	}
	turnedOff := ""
	if p.off != "" {
		turnedOff = "#"
	}
	if p.path == "" {
		w.remark(indent, "Without a path it is the state folder (--state.path), now "+shown(w.state)+".")
	} else {
		w.remark(indent, "Make this folder first, writable for the user that runs ssd_exporter; nothing else makes it.")
		if p.off == "" {
			w.Folders = append(w.Folders, p.path)
		}
	}
	w.line("%s%s- name: %s", indent, turnedOff, scalar(p.name))
	if p.path != "" {
		w.line("%s%s  path: %s", indent, turnedOff, scalar(p.path))
	}
}

// mostLeftOut bounds a list that grows with the mounts of a host.
const mostLeftOut = 20

func (w *writer) leftOut(left []string) {
	w.remark("  ", "No place for a probe file:")
	for i, l := range left {
		if i == mostLeftOut {
			w.remark("  ", fmt.Sprintf("and %d more", len(left)-mostLeftOut))
			return
		}
		w.remark("  ", "* "+l)
	}
}

func (w *writer) section(s keyWords) {
	w.line("")
	w.remark("", s.meaning)
	if i := slices.IndexFunc(reference(), func(k keyWords) bool { return k.path == s.path }); i >= 0 { // a key of its own
		k := reference()[i]
		w.remark("", k.meaning)
		w.line("#%s: %s", k.path, w.defaults.of(k))
		return
	}
	w.line("%s:", s.path)
	if s.path == "endurance" {
		w.ratings()
		return
	}
	for _, k := range reference() {
		if k.in(s.path) {
			w.remark("  ", k.meaning)
			w.line("  #%s: %s", k.name(), w.defaults.of(k))
		}
	}
}

// ratings shows a list whose entries have keys.
func (w *writer) ratings() {
	w.remark("  ", `For example: ratings: [{model: "INTEL SSDSC2BB240*", bytes: 140TB, years: 5}]`)
	for _, k := range reference() {
		if k.in("endurance") {
			_, key, _ := strings.Cut(k.name(), ".")
			w.remark("  ", key+": "+k.meaning)
		}
	}
	w.line("  #ratings: []")
}

// plainScalar is text that YAML takes for itself without quotes, whatever stands in it.
var plainScalar = regexp.MustCompile(`^[a-zA-Z/][a-zA-Z0-9_./-]*$`)

// notText are words that YAML, or an older YAML, takes for a truth value or nothing.
var notText = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)

// scalar writes text as one YAML value on one line. Go's quotes and escapes are YAML's, as long as the text is UTF-8.
func scalar(s string) string {
	if plainScalar.MatchString(s) && !notText.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
