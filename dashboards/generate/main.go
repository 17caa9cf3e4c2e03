package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// specs are the dashboards by the name of their file.
func specs() map[string]spec {
	return map[string]spec{"fleet.json": fleet(), "disk.json": disk()}
}

func write(folder string) error {
	for name, s := range specs() {
		b, err := encode(s)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			return fmt.Errorf("writing the dashboard %s: %w", s.title, err)
		}
	}
	return nil
}

// encode makes the JSON of a dashboard, with a newline at its end.
func encode(s spec) ([]byte, error) {
	d, err := s.build()
	if err != nil {
		return nil, fmt.Errorf("building the dashboard %s: %w", s.title, err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // PromQL is full of < and >
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("encoding the dashboard %s: %w", s.title, err)
	}
	return b.Bytes(), nil
}
