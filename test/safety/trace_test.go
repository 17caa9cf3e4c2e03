package safety

import (
	"slices"
	"strings"
	"testing"
)

func TestTraceIsReadAsTheKernelSawIt(t *testing.T) {
	const text = `12 openat(AT_FDCWD</tmp>, "x/../y", O_RDWR|O_CREAT, 0600) = 5</tmp/y>
13 openat(8</a/b>, "probe.bin", O_RDONLY|O_PATH <unfinished ...>
12 ioctl(11</a/b/probe.bin>, FS_IOC_FIEMAP, {fm_start=0}) = 0
13 <... openat resumed>) = -1 ENOENT (No such file or directory)
12 openat(AT_FDCWD</tmp>, "/proc/self/fd/9", O_RDONLY|O_DIRECT) = 11</dev/loop0<block 7:0>>
12 renameat(8</a/b>, "t", 8</a/b>, "j") = 0
12 --- SIGURG {si_signo=SIGURG} ---
13 +++ exited with 0 +++
`
	calls, err := parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		words := []string{c.name, strings.Join(c.paths, "+")}
		if c.device() {
			words = append(words, "device")
		}
		if c.opens() && c.writes() {
			words = append(words, "writes")
		}
		got = append(got, strings.Join(words, " "))
	}
	want := []string{
		"openat /tmp/y writes",
		"ioctl /a/b/probe.bin",
		"openat /a/b/probe.bin",
		"openat /dev/loop0<block 7:0> device",
		"renameat /a/b/t+/a/b/j",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
