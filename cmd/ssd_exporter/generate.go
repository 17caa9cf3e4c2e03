package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ssd_exporter/blockdev"
	"ssd_exporter/config"
)

// configGenerate writes a configuration for this host to output, or to standard output when that is "".
func (a *app) configGenerate(output string, force bool) error {
	if force && output == "" {
		return exitf(exitUsage, "--force replaces a file; say which with --output")
	}
	s, err := a.survey()
	if err != nil {
		return err
	}
	draft, err := config.Generate(s)
	if err != nil {
		return err
	}
	if output == "" {
		_, err := a.stdout.Write(draft.YAML)
		return err
	}
	if err := writeConfig(output, draft.YAML, force); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "wrote %s; targets: %d, found but turned off: %d\n", output, draft.Targets, draft.Off)
	if len(draft.Folders) > 0 {
		fmt.Fprintf(a.stdout, "Before the start, make these folders, writable for the user that runs ssd_exporter:\n  %s\n", strings.Join(draft.Folders, "\n  "))
	}
	_, err = fmt.Fprintf(a.stdout, "Then: ssd_exporter --config.file=%s\n", output)
	return err
}

// survey looks at the mounts and disks of this host, as --path.* show them.
func (a *app) survey() (config.Survey, error) {
	disks, err := blockdev.Disks(a.roots)
	if err != nil {
		return config.Survey{}, err
	}
	mounts, err := blockdev.Mounts(a.roots)
	if err != nil {
		return config.Survey{}, err
	}
	state, err := realPath(a.stateDir)
	if err != nil {
		return config.Survey{}, fmt.Errorf("where the state folder %s is cannot be told: %w; name it with --state.path", a.stateDir, err)
	}
	_, err = os.Stat(filepath.Join(state, historyFile))
	return config.Survey{Mounts: mounts, Disks: disks, State: state, Used: err == nil}, nil
}

// realPath is the absolute path with the symbolic links of that part of it resolved which exists.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		switch real, err := filepath.EvalSymlinks(abs); {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist) || abs == "/":
			return "", err
		}
		abs, rest = filepath.Dir(abs), filepath.Join(filepath.Base(abs), rest)
	}
}

// writeConfig writes a new file, or with force replaces an old one, whole or not at all. The old one's mode and owner stay.
func writeConfig(path string, content []byte, force bool) error {
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createConfig(path, content)
	case err != nil:
		return fmt.Errorf("cannot write the configuration: %w; choose another file with --output", err)
	case !old.Mode().IsRegular():
		return fmt.Errorf("cannot write the configuration: %s is no regular file; choose another with --output", path)
	case !force:
		return alreadyThere(path)
	}
	real, err := filepath.EvalSymlinks(path) // a link stays one
	if err == nil {
		err = replaceConfig(real, content, old)
	}
	if err != nil {
		return fmt.Errorf("cannot replace the configuration: %w; the old one is still there", err)
	}
	return nil
}

func alreadyThere(path string) error {
	return fmt.Errorf("nothing was written: %s is there already; keep it by choosing another file with --output, or replace it with --force", path)
}

// createConfig makes a file that is not there; O_EXCL holds that even against somebody who makes it in this moment.
func createConfig(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return alreadyThere(path)
	case err != nil:
		return fmt.Errorf("cannot write the configuration: %w; choose another file with --output", err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half a configuration is none
		return fmt.Errorf("cannot write the configuration: %w; choose another file with --output", err)
	}
	return nil
}

func replaceConfig(path string, content []byte, old fs.FileInfo) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ssd_exporter-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if owner, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = tmp.Chown(int(owner.Uid), int(owner.Gid)) // only root can give files away
	}
	if err = errors.Join(err, tmp.Chmod(old.Mode().Perm()), tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
