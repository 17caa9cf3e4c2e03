package safety

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// traced are the system calls that open, make, change or delete something by its name, and those that change what an
// open descriptor is by other means than writing. None of them is used beyond what allowed says.
const traced = "open,openat,openat2,creat,open_by_handle_at,mkdir,mkdirat,rmdir,unlink,unlinkat,rename,renameat,renameat2," +
	"link,linkat,symlink,symlinkat,mknod,mknodat,truncate,ftruncate,fallocate,chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown," +
	"setxattr,fsetxattr,lsetxattr,utimensat,mount,umount2,pivot_root,swapon,copy_file_range,ioctl"

// call is one system call of a trace that strace -f -yy wrote.
type call struct {
	name  string
	args  string
	paths []string // every object that it names: absolute where the descriptor it is relative to is known
	got   string   // what the descriptor that it returned belongs to; "" for none
	raw   string
}

var (
	lineForm    = regexp.MustCompile(`^(\d+) +(.*)$`)
	callForm    = regexp.MustCompile(`^([a-z_0-9]+)\((.*)\) += (.*)$`)
	resumedForm = regexp.MustCompile(`^<\.\.\. [a-z_0-9]+ resumed>(.*)$`)
	// A descriptor with what it belongs to, and a name relative to it; or a name alone.
	nameForm   = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	handleForm = regexp.MustCompile(`^(?:\d+)<(.*?)>(?:, |$)`)
	resultForm = regexp.MustCompile(`^\d+<(.*)>`)
)

// parse reads a trace. Calls that strace had to split over two lines, since another thread came between, are joined.
func parse(r io.Reader) ([]call, error) {
	var calls []call
	unfinished := map[string]string{} // by thread
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := lineForm.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("not a line of strace -f: %q", lines.Text())
		}
		thread, text := m[1], m[2]
		if start, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
			unfinished[thread] = start
			continue
		}
		if rest := resumedForm.FindStringSubmatch(text); rest != nil {
			text = unfinished[thread] + rest[1]
			delete(unfinished, thread)
		}
		if strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") {
			continue // the end of a process, a signal
		}
		c := callForm.FindStringSubmatch(text)
		if c == nil {
			if strings.HasSuffix(text, "= ?") || strings.HasPrefix(text, "???") {
				continue // cut short by the end of its process
			}
			return nil, fmt.Errorf("not a system call: %q", lines.Text())
		}
		calls = append(calls, newCall(c[1], c[2], c[3], lines.Text()))
	}
	return calls, lines.Err()
}

func newCall(name, args, result, raw string) call {
	c := call{name: name, args: args, raw: raw}
	if m := resultForm.FindStringSubmatch(result); m != nil {
		c.got = m[1]
	}
	for _, m := range nameForm.FindAllStringSubmatch(args, -1) {
		c.paths = append(c.paths, absolute(m[1], m[2]))
	}
	if len(c.paths) == 0 { // a call on a descriptor
		if m := handleForm.FindStringSubmatch(args); m != nil {
			c.paths = []string{m[1]}
		}
	}
	if c.got != "" {
		c.paths = []string{c.got} // a name may be a link, such as /proc/self/fd/9
	}
	return c
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// opens says that a call opens something, and writes that it might write to it or make it.
func (c call) opens() bool { return strings.HasPrefix(c.name, "open") || c.name == "creat" }

func (c call) writes() bool {
	for _, flag := range []string{"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE", "creat"} {
		if strings.Contains(c.args, flag) || c.name == flag {
			return true
		}
	}
	return false
}

// device says that what is opened is a device node: strace -yy shows its kind and numbers after its name.
func (c call) device() bool {
	return strings.Contains(c.got, "<block ") || strings.Contains(c.got, "<char ") ||
		c.got == "" && len(c.paths) > 0 && strings.HasPrefix(c.paths[0], "/dev/")
}
