package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const docs = "../docs/configuration.md"

// docRow is one row of the tables: | `key` | default | meaning |
var docRow = regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]<>]+)` \\| ([^|]*) \\| (.*) \\|$")

func TestDocs_have_every_key_with_its_default_and_no_other(t *testing.T) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range docRow.FindAllStringSubmatch(string(b), -1) {
		documented[m[1]] = strings.Trim(strings.TrimSpace(m[2]), "`")
	}
	keys := allKeys()
	for _, k := range keys {
		if _, ok := documented[k]; !ok {
			t.Errorf("%s says nothing about %s", docs, k)
		}
	}
	defaults := defaultValues(t)
	for k, d := range documented {
		if !slices.Contains(keys, k) {
			t.Errorf("%s documents %s, which is no key", docs, k)
		}
		if want, ok := defaults[k]; ok && d != want {
			t.Errorf("%s: the default of %s is %q, want %q", docs, k, d, want)
		}
	}
}

func TestReference_says_what_the_documentation_says(t *testing.T) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	var want []keyWords
	for _, m := range docRow.FindAllStringSubmatch(string(b), -1) {
		want = append(want, keyWords{m[1], strings.ReplaceAll(m[3], "`", "")})
	}
	if d := cmp.Diff(want, reference(), cmp.AllowUnexported(keyWords{})); d != "" {
		t.Errorf("%s and config/reference.go differ: -documentation +reference\n%s", docs, d)
	}
	d, err := newDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range reference() {
		section := func(s keyWords) bool { return k.in(s.path) }
		if !k.in("targets") && !slices.ContainsFunc(sections(), section) {
			t.Errorf("%s is in no section, so config generate leaves it out", k.path)
		}
		if v, ok := defaultValues(t)[k.path]; ok && d.of(k) != v {
			t.Errorf("default of %s: %q, want %q", k.path, d.of(k), v)
		}
	}
}

func TestDocs_examples_are_accepted(t *testing.T) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(b, -1)
	if len(blocks) == 0 {
		t.Fatal("no example")
	}
	for _, m := range blocks {
		if _, err := Parse("example.yml", m[1]); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
}

// allKeys is every key that holds a value or a list of values: "targets[].name", "guards.battery", …
func allKeys() []string {
	var ks []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case kindOf(t) == yaml.SequenceNode && t.Elem().Kind() == reflect.Struct:
			walk(t.Elem(), path+"[]")
		case kindOf(t) == yaml.MappingNode && t.Kind() == reflect.Struct:
			for f := range t.Fields() {
				walk(f.Type, join(path, yamlName(f)))
			}
		case t.Kind() == reflect.Map:
			ks = append(ks, path+".<workload>")
		default:
			ks = append(ks, path)
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return ks
}

// defaultValues are the values in Default, as they are written; lists by the values of their first entry.
func defaultValues(t *testing.T) map[string]string {
	var root yaml.Node
	if err := yaml.Unmarshal(Default().YAML(), &root); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				walk(n.Content[i+1], join(path, n.Content[i].Value))
			}
		case yaml.SequenceNode:
			if len(n.Content) == 0 {
				out[path] = "[]"
			}
			for _, e := range n.Content {
				walk(e, path+"[]")
			}
		default:
			if path != "targets[].name" { // the default target has one, other targets must
				out[path] = n.Value
			}
		}
	}
	walk(root.Content[0], "")
	delete(out, "endurance.ratings")
	if len(out) < 15 {
		t.Fatal(fmt.Sprint("too few defaults: ", out))
	}
	return out
}
