package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart"
)

// diskDeadline is how long one disk may take to answer.
const diskDeadline = 20 * time.Second

// fromDisks reads the named disks, or all, each by itself: a disk that hangs costs the others nothing. Reports come in order.
func (a *app) fromDisks(ctx context.Context, names []string, each func(report) error) error {
	disks, err := smart.Find(a.roots)
	if err != nil {
		return fmt.Errorf("looking for disks: %w; check --path.sysfs", err)
	}
	if disks, err = choose(disks, names); err != nil {
		return err
	}
	if len(disks) == 0 {
		return fmt.Errorf("no disk with S.M.A.R.T. found under %s; a virtual machine has none: save smartctl -x -j of its host and show that with --from FILE",
			filepath.Join(a.roots.WithDefaults().Sysfs, "block"))
	}
	results := make([]chan report, len(disks))
	for i, d := range disks {
		results[i] = make(chan report, 1)
		go func() {
			ctx, cancel := context.WithTimeout(ctx, diskDeadline)
			defer cancel()
			start := time.Now()
			r, err := smart.Native{Roots: a.roots}.Read(ctx, d)
			out := understand(d.Device, r, err)
			out.took = time.Since(start)
			results[i] <- out
		}()
	}
	late := time.After(diskDeadline + time.Second) // the read itself may hang in the kernel, beyond any context
	for i, d := range disks {
		var r report
		select {
		case r = <-results[i]:
		case <-late:
			r = report{source: d.Device, err: fmt.Errorf("reading S.M.A.R.T. of %s: no answer within %v", d.Device, diskDeadline)}
			late = time.After(0) // for those after it
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.reading == nil {
			r.reading = &smart.Reading{Identity: d.Identity} // what sysfs knows names the disk at least
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// choose picks disks by kernel name, namespace or device path, in the order asked for.
func choose(disks []blockdev.Disk, names []string) ([]blockdev.Disk, error) {
	if len(names) == 0 {
		return disks, nil
	}
	var chosen []blockdev.Disk
	var errs []error
	for _, name := range names {
		base := filepath.Base(name)
		if strings.Contains(name, "/") {
			if real, err := filepath.EvalSymlinks(name); err == nil { // /dev/disk/by-id/…
				base = filepath.Base(real)
			}
		}
		i := slices.IndexFunc(disks, func(d blockdev.Disk) bool {
			return d.Kernel == base || filepath.Base(d.Device) == base || slices.Contains(d.Namespaces, base)
		})
		if i < 0 {
			errs = append(errs, exitf(exitUsage, "no disk %s here; known: %s", name, kernelNames(disks)))
			continue
		}
		chosen = append(chosen, disks[i])
	}
	return chosen, errors.Join(errs...)
}

func kernelNames(disks []blockdev.Disk) string {
	if len(disks) == 0 {
		return "none"
	}
	names := make([]string, len(disks))
	for i, d := range disks {
		names[i] = d.Kernel
	}
	return strings.Join(names, ", ")
}

func isTTY(fd uintptr) bool {
	_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
	return err == nil
}
