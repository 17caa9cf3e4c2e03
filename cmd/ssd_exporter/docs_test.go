package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var relativeLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestDocs_link_to_files_that_exist(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, f := range append(files, "../../README.md", "../../CHANGELOG.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Error(err)
		}
		for _, m := range relativeLink.FindAllSubmatch(b, -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(f), string(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", f, m[1], err)
			}
		}
	}
	if links < 4 {
		t.Errorf("only %d links: the pattern no longer finds them", links)
	}
}

// The README names the two commands; a newcomer types nothing else.
func TestReadme_commands_are_targets_of_the_Makefile(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"run", "test"} {
		if !strings.Contains(string(readme), "make "+target) || !regexp.MustCompile(`(?m)^`+target+`:`).Match(makefile) {
			t.Errorf("make %s is not in both README.md and Makefile", target)
		}
	}
	if lines := strings.Count(string(readme), "\n"); lines > 60 {
		t.Errorf("README.md has %d lines, more than a screen", lines)
	}
}
