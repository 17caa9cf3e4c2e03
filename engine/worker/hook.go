package worker

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// markerEnv says that a process is a worker, and how far it has come: a worker executes this program twice.
const (
	markerEnv    = "SSD_EXPORTER_WORKER"
	stageConfine = "1" // set by Start: give up rights, then execute again
	stageServe   = "2" // set by confine: answer the request on standard input
)

// Exit codes of a worker, for the message of a crash only: an answer always comes with 0.
const (
	exitRequest = 10 // the request could not be read or answered
	exitConfine = 11
	exitOrphan  = 12 // the parent is gone
)

// Hook turns this process into a worker when it was started as one, and returns otherwise. It must be the first
// statement of main, before flags are parsed or anything is opened.
func Hook() {
	switch os.Getenv(markerEnv) {
	case "":
	case stageConfine:
		fmt.Fprintln(os.Stderr, confine())
		os.Exit(exitConfine)
	default:
		os.Exit(serve(os.Stdin, os.Stdout))
	}
}

// confine gives up rights and executes this program again; it returns only an error. no_new_privs and the I/O priority belong
// to a thread, and a Go program has several before main begins; after execve there is one, which hands both down to
// all that follow.
func confine() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("setting RLIMIT_CORE: %w", err)
	}
	idlePriority()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, markerEnv+"=") })
	// A collection stops all threads, and one that sits in a raw system call on the disk would hold it up. Nothing
	// is allocated per I/O, so a run ends long before the limit.
	env = append(env, markerEnv+"="+stageServe, "GOGC=off", "GOMEMLIMIT=256MiB")
	return fmt.Errorf("executing /proc/self/exe: %w", unix.Exec("/proc/self/exe", os.Args, env))
}

// idlePriority lets everybody else's I/O go first where the scheduler heeds it (bfq, mq-deadline). It is a courtesy: a
// sandbox that forbids it changes nothing else, and the engine reports the priority in force in its fingerprint.
func idlePriority() {
	const (
		whoProcess = 1       // IOPRIO_WHO_PROCESS; 0 is the calling thread
		classIdle  = 3 << 13 // IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT, linux/ioprio.h
	)
	_, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_SET, whoProcess, 0, classIdle)
}

// limitFileSize makes the kernel refuse (EFBIG) to let any file grow beyond size bytes in this process.
func limitFileSize(size int64) error {
	limit := unix.Rlimit{Cur: uint64(size), Max: uint64(size)}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return fmt.Errorf("setting RLIMIT_FSIZE to %d: %w", size, err)
	}
	return nil
}
