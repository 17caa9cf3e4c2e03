package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checker holds a parsed file against the types of Config and says in a person's words what does not fit. It only looks:
// the strict decoder of the library fills Config afterwards.
type checker struct {
	name string
	errs Errors
	seen map[visit]bool
}

// visit is a node held against a type. Each pair is checked once, so that aliases can neither loop nor multiply.
type visit struct {
	n *yaml.Node
	t reflect.Type
}

func (c *checker) root(n *yaml.Node) {
	c.seen = map[visit]bool{}
	c.check(n, reflect.TypeFor[Config](), "")
}

func (c *checker) errorf(line int, format string, a ...any) {
	c.errs = append(c.errs, &Error{File: c.name, Line: max(line, 1), Message: fmt.Sprintf(format, a...)})
}

func (c *checker) check(n *yaml.Node, t reflect.Type, path string) {
	line := n.Line // of the alias, not of what it stands for
	n = resolve(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if c.seen[visit{n, t}] {
		return
	}
	c.seen[visit{n, t}] = true
	kind := kindOf(t)
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		c.null(line, kind, path)
	case n.Kind != kind:
		c.errorf(line, "%s is %s; accepted: %s", inside(path), nodeWords(n.Kind), nodeWords(kind))
	case kind == yaml.ScalarNode:
		c.scalar(n, line, t, path)
	case kind == yaml.SequenceNode:
		for i, e := range n.Content {
			c.check(e, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		c.mapping(n, t, path)
	}
}

// null is "key:" with nothing after it. A section whose keys are all commented out is as good as none; a value is not.
func (c *checker) null(line int, kind yaml.Kind, path string) {
	switch {
	case kind == yaml.ScalarNode:
		c.errorf(line, "%s has no value; write one, or remove the key for its default", path)
	case kind == yaml.SequenceNode:
		c.errorf(line, "%s has no value; write [] for none, or remove the key for its default", path)
	case strings.HasSuffix(path, "]"):
		c.errorf(line, "%s is empty; remove the dash or write its keys", path)
	}
}

func (c *checker) scalar(n *yaml.Node, line int, t reflect.Type, path string) {
	v := reflect.New(t)
	err := n.Decode(v.Interface())
	if err == nil {
		return
	}
	if _, ok := errors.AsType[*yaml.TypeError](err); ok {
		c.errorf(line, "%s: %q is not %s; accepted: %s", path, n.Value, kindWords(t.Kind()), kindValues(t.Kind()))
		return
	}
	c.errorf(line, "%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
}

func (c *checker) mapping(n *yaml.Node, t reflect.Type, path string) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" {
			c.merge(v, t, path)
			continue
		}
		k = resolve(k)
		if k.Kind != yaml.ScalarNode {
			c.errorf(k.Line, "a key of %s is %s; accepted: a word", inside(path), nodeWords(k.Kind))
			continue
		}
		if l, twice := first[k.Value]; twice {
			c.errorf(k.Line, "key %q in %s is there twice, first on line %d; remove one", k.Value, inside(path), l)
			continue
		}
		first[k.Value] = k.Line
		if t.Kind() == reflect.Map {
			c.check(v, t.Elem(), join(path, k.Value))
		} else if f, ok := field(t, k.Value); ok {
			c.check(v, f, join(path, k.Value))
		} else {
			c.errorf(k.Line, "unknown key %q in %s; known keys: %s", k.Value, inside(path), strings.Join(keys(t), ", "))
		}
	}
}

// merge checks what "<<" brings into a mapping.
func (c *checker) merge(v *yaml.Node, t reflect.Type, path string) {
	v = resolve(v)
	if v.Kind == yaml.SequenceNode {
		for _, e := range v.Content {
			c.check(e, t, path)
		}
		return
	}
	c.check(v, t, path)
}

// tree finds lines by path.
type tree struct{ root *yaml.Node }

// line is where a value stands: steps are keys and list indices. A step that is not written gives the line of what it would
// be in.
func (t tree) line(steps ...any) int {
	line, _ := t.find(steps)
	return line
}

// has says whether a value is written.
func (t tree) has(steps ...any) bool {
	_, whole := t.find(steps)
	return whole
}

func (t tree) find(steps []any) (line int, whole bool) {
	n := resolve(t.root)
	line = n.Line
	for _, s := range steps {
		v := child(n, s)
		if v == nil {
			return line, false
		}
		line, n = v.Line, resolve(v)
	}
	return line, true
}

func child(n *yaml.Node, step any) *yaml.Node {
	switch s := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && s < len(n.Content) {
			return n.Content[s]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// kindOf is the YAML that a type is written as.
func kindOf(t reflect.Type) yaml.Kind {
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		return yaml.ScalarNode
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return yaml.MappingNode
	case t.Kind() == reflect.Slice:
		return yaml.SequenceNode
	}
	return yaml.ScalarNode
}

func field(t reflect.Type, key string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if yamlName(f) == key {
			return f.Type, true
		}
	}
	return nil, false
}

func keys(t reflect.Type) []string {
	var ks []string
	for f := range t.Fields() {
		ks = append(ks, yamlName(f))
	}
	slices.Sort(ks)
	return ks
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func inside(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func nodeWords(k yaml.Kind) string {
	switch k {
	case yaml.MappingNode:
		return "a section of \"key: value\" lines"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

func kindWords(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "a truth value"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "text"
}

func kindValues(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true, false"
	case reflect.Int:
		return "digits, such as 2"
	case reflect.Float64:
		return "digits, such as 70 or 0.5"
	}
	return "letters and digits, quoted where YAML asks for it"
}
