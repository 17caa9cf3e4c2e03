package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"ssd_exporter/dashboards"
)

// addAssets adds "assets list" and "assets export".
func (a *app) addAssets() {
	c := a.kingpin.Command("assets", "Dashboards for Grafana and rules for Prometheus, as they fit this version.")

	list := c.Command("list", "Name the files that export writes.")
	a.add(list, func(context.Context) error { return a.assetsList() })

	var dir string
	var force bool
	export := c.Command("export", "Write them into a folder. Files that are already there and differ stay as they are, and nothing is written then.")
	export.Arg("DIR", "The folder; it is created when it does not exist.").Required().StringVar(&dir)
	export.Flag("force", "Replace files that differ.").BoolVar(&force)
	a.add(export, func(context.Context) error { return a.assetsExport(dir, force) })
}

func (a *app) assetsList() error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range dashboards.Files() {
		fmt.Fprintf(w, "%s\t%s\n", f.Path, f.About)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the list of assets: %w", err)
	}
	return nil
}

// assetsExport looks at everything before it writes anything: whoever has changed one of the files wants to keep it.
func (a *app) assetsExport(dir string, force bool) error {
	var differ []string
	state := map[string]bool{} // by path: it is there, and the same
	for _, f := range dashboards.Files() {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		same, err := holds(path, f.Content)
		switch {
		case err == nil:
			state[path] = same
			if !same {
				differ = append(differ, path)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot tell whether an asset is there already: %w; choose another folder", err)
		}
	}
	if len(differ) > 0 && !force {
		return fmt.Errorf("nothing was written, since these files differ from what would be:\n  %s\n"+
			"keep them by choosing another folder, or replace them with --force", strings.Join(differ, "\n  "))
	}
	for _, f := range dashboards.Files() {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		did := "unchanged"
		if !state[path] {
			did = "wrote"
			if err := writeAsset(path, f.Content); err != nil {
				return fmt.Errorf("cannot write an asset: %w", err)
			}
		}
		fmt.Fprintf(a.stdout, "%-9s  %s\n", did, path)
	}
	_, err := fmt.Fprintf(a.stdout, "\nGrafana: copy %s to /etc/grafana/provisioning, or import the two JSON files.\nPrometheus: add %s to rule_files.\n",
		filepath.Join(dir, "grafana", "provisioning"), filepath.Join(dir, "prometheus", "rules", "*.yml"))
	return err
}

// holds says whether a regular file has just this content. It reads no more than it must, whatever lies there.
func holds(path, content string) (bool, error) {
	st, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !st.Mode().IsRegular() {
		return false, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
	return string(b) == content, err
}

// writeAsset puts a file in its place whole or not at all: Grafana and Prometheus may read at any moment. Everybody may read it.
func writeAsset(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ssd_exporter-")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(content)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
