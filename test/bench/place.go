package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// place is where a comparison takes place: a folder of our own, removed by close.
type place struct {
	name  string // in the report
	dir   string
	size  int64    // of the probe file, bytes
	pin   []string // in front of every command
	notes []string
	undo  []func(context.Context) error // in reverse order
}

// close undoes everything, also after an interrupt.
func (p *place) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(p.undo) {
		errs = append(errs, undo(ctx))
	}
	p.undo = nil
	return errors.Join(errs...)
}

func (p *place) later(f func(context.Context) error) { p.undo = append(p.undo, f) }

// newFolder is a fresh folder in parent.
func newFolder(parent string, size int64) (*place, error) {
	dir, err := os.MkdirTemp(parent, "ssd_exporter-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the probe file: %w; choose another with -dir", err)
	}
	p := &place{name: "folder in " + parent, dir: dir, size: size}
	p.later(func(context.Context) error { return os.RemoveAll(dir) })
	return p, nil
}

// errNoLoop says why there is no loop device here.
var errNoLoop = errors.New("no loop device over RAM")

// newLoop is an ext4 file system on a loop device over a file in RAM: no disk, so that only the programs differ. Both sides are
// pinned to one CPU, because where the scheduler puts them and the loop's worker decides more than what they do. The RAM is
// unmounted from view at once: the product refuses to measure memory that it can recognise as such.
func newLoop(ctx context.Context, size int64) (_ *place, err error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: only root can make one", errNoLoop)
	}
	for _, tool := range []string{"losetup", "mkfs.ext4", "mount", "umount", "taskset"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %s is not installed", errNoLoop, tool)
		}
	}
	p, err := newFolder(os.TempDir(), size)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w: %w", errNoLoop, err), p.close())
		}
	}()
	p.name, p.pin = "ext4 on a loop device over RAM, both sides pinned to CPU 0", []string{"taskset", "-c", "0"}
	p.notes = append(p.notes, "No disk: figures of this target compare the programs, and nothing else.")

	ram, mnt := filepath.Join(p.dir, "ram"), filepath.Join(p.dir, "mnt")
	if err := errors.Join(os.Mkdir(ram, 0o700), os.Mkdir(mnt, 0o700)); err != nil {
		return nil, err
	}
	// 25 times the file: the product leaves nineteen twentieths of the free space alone. What is not written takes no RAM.
	room := strconv.FormatInt(25*size, 10)
	if err := command(ctx, "mount", "-t", "tmpfs", "-o", "mode=700,size="+room, "ssd_exporter-bench", ram); err != nil {
		return nil, err
	}
	hidden := false
	p.later(func(ctx context.Context) error {
		if hidden {
			return nil
		}
		return command(ctx, "umount", ram)
	})
	image := filepath.Join(ram, "image")
	if err := command(ctx, "truncate", "--size="+room, image); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "losetup", "--find", "--show", "--direct-io=on", image).Output()
	if err != nil {
		return nil, fmt.Errorf("losetup: %w", err)
	}
	loop := strings.TrimSpace(string(out))
	p.later(func(ctx context.Context) error { return command(ctx, "losetup", "--detach", loop) })
	if err := command(ctx, "umount", "--lazy", ram); err != nil {
		return nil, err
	}
	hidden = true
	if err := command(ctx, "mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard", loop); err != nil {
		return nil, err
	}
	if err := command(ctx, "mount", "-t", "ext4", "-o", "noinit_itable", loop, mnt); err != nil {
		return nil, err
	}
	p.later(func(ctx context.Context) error { return unmount(ctx, mnt) })
	p.dir = mnt
	return p, nil
}

// unmount waits for whoever looks at all mounts at this moment.
func unmount(ctx context.Context, dir string) (err error) {
	for range 50 {
		if err = command(ctx, "umount", dir); err == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
