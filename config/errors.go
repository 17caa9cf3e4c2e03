package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is one thing that is wrong with a file, and what would be accepted.
type Error struct {
	File    string
	Line    int // from 1
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// Errors is all that is wrong with a file, by line; at most maxErrors.
type Errors []*Error

const maxErrors = 20

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted is what was found, by line, at most maxErrors.
func (c *checker) sorted() Errors {
	slices.SortStableFunc(c.errs, func(a, b *Error) int { return a.Line - b.Line })
	if len(c.errs) > maxErrors {
		return c.errs[:maxErrors]
	}
	return c.errs
}

// lineOf finds the place in the messages of the YAML library: "yaml: line 3: did not find …".
var lineOf = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`)

func syntaxError(name string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.File = name
		return e
	}
	m := lineOf.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1]) // 0 when the library named none: it is the first
	return &Error{File: name, Line: max(line, 1), Message: "this is not YAML: " + m[2] + "; check indentation, quotes and colons near this line"}
}

// decodeErrors puts what the strict decoder refused into our form. The checker has accepted the file before, so this is the
// second lock on the same door, and its messages are the library's.
func decodeErrors(name string, err error) Errors {
	te, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return Errors{syntaxError(name, err)}
	}
	var es Errors
	for _, s := range te.Errors {
		m := lineOf.FindStringSubmatch(s)
		line, _ := strconv.Atoi(m[1])
		es = append(es, &Error{File: name, Line: max(line, 1), Message: m[2]})
	}
	return es
}
