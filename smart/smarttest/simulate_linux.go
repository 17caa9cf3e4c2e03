//go:build amd64 || arm64

package smarttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Simulation is a command that runs among simulated disks.
type Simulation struct {
	Log
	cmd      *exec.Cmd
	disks    map[string]Disk
	listener int           // the seccomp notification descriptor
	stop     int           // an eventfd that ends serve
	stopped  chan struct{} // closed: hanging answers end
	serving  sync.WaitGroup
}

// launchEnv tells a copy of the test binary to become the command: "descriptor:path".
const launchEnv = "SMARTTEST_LAUNCH"

// Hook turns a copy of this test binary into the command that Start wants to run. It is the first statement of TestMain in
// every package that calls Start or Run, and returns at once in all other processes.
func Hook() {
	descriptor, path, ok := strings.Cut(os.Getenv(launchEnv), ":")
	if !ok {
		return
	}
	fmt.Fprintln(os.Stderr, "smarttest: "+launch(descriptor, path).Error())
	os.Exit(125)
}

// Run is Start and Wait.
func Run(cmd *exec.Cmd, disks map[string]Disk) (*Log, error) {
	s, err := Start(cmd, disks)
	if err != nil {
		return nil, err
	}
	return &s.Log, s.Wait()
}

// Start starts cmd, which must not have been started, among disks, by the absolute path of their device nodes. The nodes
// may be ordinary files; they must exist before the command opens them.
func Start(cmd *exec.Cmd, disks map[string]Disk) (*Simulation, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("starting a simulation: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "seccomp listener to the simulation")
	defer unix.Close(pair[0])
	defer theirs.Close()
	path := cmd.Path
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d:%s", launchEnv, 2+len(cmd.ExtraFiles), path))
	cmd.Path = "/proc/self/exe"
	s := &Simulation{cmd: cmd, disks: map[string]Disk{}, stopped: make(chan struct{})}
	for path, disk := range disks {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved // as /proc shows an open file
		}
		s.disks[path] = disk
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s in a simulation: %w", path, err)
	}
	theirs.Close()
	if s.listener, err = receive(pair[0]); err == nil {
		s.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("starting %s in a simulation: %w", path, err)
	}
	s.serving.Go(s.serve)
	return s, nil
}

// Wait waits for the command to end and returns what exec.Cmd's Wait does.
func (s *Simulation) Wait() error {
	err := s.cmd.Wait()
	close(s.stopped)
	_, _ = unix.Write(s.stop, binary.NativeEndian.AppendUint64(nil, 1))
	s.serving.Wait()
	unix.Close(s.listener)
	unix.Close(s.stop)
	return err
}

// Paths lists the simulated device nodes as they are recorded.
func (s *Simulation) Paths() []string {
	var paths []string
	for p := range maps.Keys(s.disks) {
		paths = append(paths, p)
	}
	return paths
}

// receive gets the notification descriptor, or the reason why there is none, from the launched copy.
func receive(socket int) (int, error) {
	text, control := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(socket, text, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("receiving the seccomp descriptor: %w", err)
	}
	if n == 0 {
		return -1, errors.New("the launched copy ended before it became the command: is smarttest.Hook the first statement of TestMain?")
	}
	if oobn == 0 {
		return -1, fmt.Errorf("%w: %s", ErrRefused, text[:n])
	}
	messages, err := unix.ParseSocketControlMessage(control[:oobn])
	if err != nil {
		return -1, fmt.Errorf("receiving the seccomp descriptor: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("receiving the seccomp descriptor: %w (%d descriptors)", err, len(fds))
	}
	return fds[0], nil
}

// launch installs the filter, hands its descriptor over and becomes the command. It returns only when that fails.
func launch(descriptor, path string) error {
	runtime.LockOSThread() // the filter belongs to this thread until exec makes it the only one
	socket, err := strconv.Atoi(descriptor)
	if err != nil {
		return fmt.Errorf("%s: %w", launchEnv, err)
	}
	fd, err := installFilter()
	if err != nil {
		_, _ = unix.Write(socket, []byte(err.Error()))
		return err
	}
	if err := unix.Sendmsg(socket, []byte{1}, unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("handing the seccomp descriptor over: %w", err)
	}
	unix.Close(fd)
	unix.Close(socket)
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, launchEnv+"=") {
			env = append(env, e)
		}
	}
	return fmt.Errorf("running %s: %w", path, unix.Exec(path, os.Args, env))
}

const (
	ioctlSGIO      = 0x2285
	ioctlNVMeAdmin = 0xc0484e41
)

// installFilter asks the kernel to notify of the two ioctls and to let all else pass.
func installFilter() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no_new_privs: %w", err)
	}
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	jump := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	const load, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		statement(load, 0), // struct seccomp_data: nr
		jump(unix.SYS_IOCTL, 0, 3),
		statement(load, 16+8), // low half of args[1], the request
		jump(ioctlSGIO, 2, 0),
		jump(ioctlNVMeAdmin, 1, 0),
		statement(ret, unix.SECCOMP_RET_ALLOW),
		statement(ret, unix.SECCOMP_RET_USER_NOTIF),
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	install := func(flags uintptr) (uintptr, syscall.Errno) {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
		return fd, errno
	}
	// Killable: a signal must not restart a command that was received already, or the disk would see it twice (Linux 5.19).
	fd, errno := install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == unix.EINVAL {
		fd, errno = install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errno != 0 {
		return -1, fmt.Errorf("seccomp with a listener: %w", errno)
	}
	return int(fd), nil
}

// notification is struct seccomp_notif of <linux/seccomp.h>; answer is struct seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

const (
	notifReceive  = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	notifSend     = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND
	notifContinue = 1          // SECCOMP_USER_NOTIF_FLAG_CONTINUE
)

// serve takes notifications until the command has ended.
func (s *Simulation) serve() {
	for {
		fds := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}, {Fd: int32(s.stop), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents&unix.POLLIN == 0 {
			if fds[0].Revents != 0 { // nobody is left who could send
				return
			}
			continue
		}
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), notifReceive, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // the caller was killed meanwhile
		}
		s.serving.Go(func() { s.handle(n) })
	}
}

// handle answers one ioctl.
func (s *Simulation) handle(n notification) {
	a := answer{id: n.id}
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0]))
	disk, ok := s.disks[path]
	if !ok {
		a.flags = notifContinue
		s.send(a)
		return
	}
	t := target{pid: int(n.pid), arg: uintptr(n.args[2])}
	ask, reply := t.sgIO, t.sgReply
	if uint32(n.args[1]) == ioctlNVMeAdmin {
		ask, reply = t.nvme, t.nvmeReply
	}
	c, finish, err := ask()
	if err != nil {
		a.err = -int32(unix.EFAULT)
		s.send(a)
		return
	}
	s.add(path, c)
	r := disk.Answer(c)
	if r.Hang {
		<-s.stopped
		return
	}
	if r.Delay > 0 {
		select {
		case <-time.After(r.Delay):
		case <-s.stopped:
			return
		}
	}
	if r.Errno != 0 {
		a.err = -int32(r.Errno)
	} else if a.value, err = reply(c, r, finish); err != nil {
		a.err = -int32(unix.EFAULT)
	}
	s.send(a)
}

func (s *Simulation) send(a answer) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), notifSend, uintptr(unsafe.Pointer(&a)))
}
