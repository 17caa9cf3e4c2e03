//go:build !(linux && (amd64 || arm64))

package smarttest

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Simulation is a command that runs among simulated disks.
type Simulation struct{ Log }

// Hook does nothing on this architecture.
func Hook() {}

// Run is Start and Wait.
func Run(cmd *exec.Cmd, disks map[string]Disk) (*Log, error) {
	_, err := Start(cmd, disks)
	return nil, err
}

// Start refuses: the layout of the structures is known for 64-bit Linux on amd64 and arm64 only.
func Start(*exec.Cmd, map[string]Disk) (*Simulation, error) {
	return nil, fmt.Errorf("%w: not written for %s/%s", ErrRefused, runtime.GOOS, runtime.GOARCH)
}

// Wait does nothing.
func (s *Simulation) Wait() error { return nil }
