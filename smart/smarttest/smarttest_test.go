package smarttest

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func TestMain(m *testing.M) {
	Hook()
	if path := os.Getenv("SMARTTEST_SEND_IOCTLS_TO"); path != "" {
		os.Exit(sendIoctls(path))
	}
	os.Exit(m.Run())
}

// run runs cmd among disks, or skips the test where the machine refuses.
func run(t *testing.T, cmd *exec.Cmd, disks map[string]Disk) (*Log, string, error) {
	t.Helper()
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	log, err := Run(cmd, disks)
	if errors.Is(err, ErrRefused) {
		t.Skipf("disks cannot be simulated: %v; run this as root on a kernel from 5.5 on, outside of a sandbox", err)
	}
	return log, out.String(), err
}

func TestTheCommandRunsAsItWouldAlone(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `echo "$0 $1 $STORY ${SMARTTEST_LAUNCH-unset}"; exit 7`, "a b", "c")
	cmd.Env = []string{"STORY=told", "PATH=" + os.Getenv("PATH")}
	_, out, err := run(t, cmd, nil)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want exit status 7", err)
	}
	if out != "a b c told unset\n" {
		t.Errorf("it saw %q", out)
	}
}

func TestOnlyTheGivenFilesAreAnswered(t *testing.T) {
	dir := t.TempDir()
	simulated, other := filepath.Join(dir, "sda"), filepath.Join(dir, "sdb")
	for _, path := range []string{simulated, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disks := map[string]Disk{simulated: Refusing(syscall.ENOMEDIUM)}
	for path, want := range map[string]syscall.Errno{simulated: syscall.ENOMEDIUM, other: syscall.ENOTTY} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SMARTTEST_SEND_IOCTLS_TO="+path)
		log, out, err := run(t, cmd, disks)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != int(want) {
			t.Errorf("%s: %v, want errno %d (%v)\n%s", filepath.Base(path), err, want, want, out)
			continue
		}
		if got := len(log.Commands(path)); (got == 1) != (path == simulated) {
			t.Errorf("%s: %d commands recorded", filepath.Base(path), got)
		}
	}
}

// sendIoctls sends one SG_IO and returns its errno.
func sendIoctls(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 126
	}
	defer f.Close()
	header := make([]byte, 88)
	header[0], header[8] = 'S', 6
	cdb := make([]byte, 6)
	pointer := uint64(uintptr(unsafe.Pointer(&cdb[0])))
	binary.LittleEndian.PutUint64(header[24:], pointer)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), 0x2285, uintptr(unsafe.Pointer(&header[0])))
	runtime.KeepAlive(cdb)
	return int(errno)
}

func TestAProgramThatCannotStartIsAnError(t *testing.T) {
	_, out, err := run(t, exec.Command(filepath.Join(t.TempDir(), "nothing-here")), nil)
	if err == nil {
		t.Errorf("no error: %s", out)
	}
	if _, err := Run(exec.Command("no-such-program-in-path"), nil); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v is not exec.ErrNotFound", err)
	}
}
