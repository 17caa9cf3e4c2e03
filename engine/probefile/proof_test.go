package probefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Each of these is done to a folder with a filled probe file, after which it must be refused, untouched.
var tampering = []struct {
	name   string
	root   bool
	do     func(t *testing.T, dir string)
	reason string
}{
	{name: "the data is a symbolic link to a copy", do: func(t *testing.T, dir string) {
		must(t, os.Rename(path(dir, DataName), dir+"/elsewhere"))
		must(t, os.Symlink(dir+"/elsewhere", path(dir, DataName)))
	}, reason: "symlink"},
	{name: "the data has a second hard link", do: func(t *testing.T, dir string) {
		must(t, os.Link(path(dir, DataName), dir+"/elsewhere"))
	}, reason: "2 hard links"},
	{name: "the data is a FIFO", do: func(t *testing.T, dir string) {
		must(t, os.Remove(path(dir, DataName)))
		must(t, unix.Mkfifo(path(dir, DataName), 0o600))
	}, reason: "not a regular file"},
	{name: "the data is a folder", do: func(t *testing.T, dir string) {
		must(t, os.Remove(path(dir, DataName)))
		must(t, os.Mkdir(path(dir, DataName), 0o700))
	}, reason: "not a regular file"},
	{name: "the data is a block device", root: true, do: func(t *testing.T, dir string) {
		must(t, os.Remove(path(dir, DataName)))
		// A number that no driver has: should it be opened after all, nothing is there.
		if err := unix.Mknod(path(dir, DataName), unix.S_IFBLK|0o600, int(unix.Mkdev(60, 77))); err != nil {
			t.Skipf("mknod: %v; run as root outside of a container", err)
		}
	}, reason: "not a regular file"},
	{name: "the data was replaced by a copy", do: func(t *testing.T, dir string) {
		b, err := os.ReadFile(path(dir, DataName))
		must(t, err)
		writeFile(t, dir+"/copy", string(b))
		must(t, os.Rename(dir+"/copy", path(dir, DataName)))
	}, reason: "not the recorded file"},
	{name: "the record is of a file with the same inode and another birth", do: func(t *testing.T, dir string) {
		r := readRecordOf(t, dir)
		if r.Birth == 0 {
			t.Skip("this file system tells no birth time: set TMPDIR to one that does (ext4, xfs, btrfs)")
		}
		r.Birth++
		writeRecordOf(t, dir, r)
	}, reason: "created at another time"},
	{name: "the data belongs to somebody else", root: true, do: func(t *testing.T, dir string) {
		must(t, os.Chown(path(dir, DataName), 12345, 12345))
	}, reason: "belongs to user 12345"},
	{name: "others may write the data", do: func(t *testing.T, dir string) {
		must(t, os.Chmod(path(dir, DataName), 0o622))
	}, reason: "0622"},
	{name: "the data was cut", do: func(t *testing.T, dir string) {
		must(t, os.Truncate(path(dir, DataName), testSize-4096))
	}, reason: "cut"},
	{name: "the data has grown", do: func(t *testing.T, dir string) {
		must(t, os.Truncate(path(dir, DataName), testSize+4096))
	}, reason: "grown"},
	{name: "an unfinished file has grown", do: func(t *testing.T, dir string) {
		r := readRecordOf(t, dir)
		r.FilledAt, r.Position = 0, blockSize
		writeRecordOf(t, dir, r)
		must(t, os.Truncate(path(dir, DataName), testSize+4096))
	}, reason: "grown"},
	{name: "the record is gone", do: func(t *testing.T, dir string) {
		must(t, os.Remove(path(dir, RecordName)))
	}, reason: "no ownership record"},
	{name: "the record is empty", do: func(t *testing.T, dir string) {
		writeFile(t, path(dir, RecordName), "")
	}, reason: "damaged"},
	{name: "the record is garbage", do: func(t *testing.T, dir string) {
		writeFile(t, path(dir, RecordName), "\x00\x01{}")
	}, reason: "damaged"},
	{name: "the record is of a later version", do: func(t *testing.T, dir string) {
		writeFile(t, path(dir, RecordName), `{"format": 2, "new": true}`)
	}, reason: "format 2"},
	{name: "the record is a symbolic link", do: func(t *testing.T, dir string) {
		must(t, os.Rename(path(dir, RecordName), dir+"/record"))
		must(t, os.Symlink(dir+"/record", path(dir, RecordName)))
	}, reason: "symlink"},
	{name: "the record is a FIFO", do: func(t *testing.T, dir string) {
		must(t, os.Remove(path(dir, RecordName)))
		must(t, unix.Mkfifo(path(dir, RecordName), 0o600))
	}, reason: "not a regular file"},
	{name: "others may write the record", do: func(t *testing.T, dir string) {
		must(t, os.Chmod(path(dir, RecordName), 0o666))
	}, reason: "0666"},
	{name: "the record says not created and there is data", do: func(t *testing.T, dir string) {
		writeRecordOf(t, dir, record{Format: 1, UUID: newUUID(), Size: testSize})
	}, reason: "not created yet"},
	{name: "the folder is a symbolic link", do: func(t *testing.T, dir string) {
		must(t, os.Rename(path(dir), dir+"/elsewhere"))
		must(t, os.Symlink(dir+"/elsewhere", path(dir)))
	}, reason: "symbolic link"},
	{name: "the folder is a file", do: func(t *testing.T, dir string) {
		must(t, os.Rename(path(dir), dir+"/elsewhere"))
		writeFile(t, path(dir), "precious")
	}, reason: "not a folder"},
	{name: "others may enter the folder", do: func(t *testing.T, dir string) {
		must(t, os.Chmod(path(dir), 0o755))
	}, reason: "0755"},
	{name: "the folder belongs to somebody else", root: true, do: func(t *testing.T, dir string) {
		must(t, os.Chown(path(dir), 12345, 12345))
	}, reason: "belongs to user 12345"},
	{name: "another folder of the same file system is bound onto the folder", root: true, do: func(t *testing.T, dir string) {
		var x unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_TYPE, &x) != nil || x.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 {
			t.Skip("this kernel does not tell what is a mount point: Linux 5.8 does")
		}
		other := dir + "/other"
		must(t, os.Mkdir(other, 0o700))
		if err := unix.Mount(other, path(dir), "", unix.MS_BIND, ""); err != nil {
			t.Skipf("no mounting here: run as root outside of a container (%v)", err)
		}
		t.Cleanup(func() { must(t, unix.Unmount(path(dir), 0)) })
	}, reason: "mounted on it"},
	{name: "another file is bound onto the data", root: true, do: func(t *testing.T, dir string) {
		writeFile(t, dir+"/elsewhere", "precious")
		if err := unix.Mount(dir+"/elsewhere", path(dir, DataName), "", unix.MS_BIND, ""); err != nil {
			t.Skipf("no mounting here: run as root outside of a container (%v)", err)
		}
		t.Cleanup(func() { must(t, unix.Unmount(path(dir, DataName), 0)) })
	}, reason: "not the recorded file"},
	{name: "another file system is mounted on the folder", root: true, do: func(t *testing.T, dir string) {
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", path(dir)).CombinedOutput(); err != nil {
			t.Skipf("no mounting here: run as root outside of a container (%v: %s)", err, out)
		}
		t.Cleanup(func() { must(t, unix.Unmount(path(dir), 0)) })
	}, reason: "mounted"},
}

func TestWhatIsNotProvablyOursIsRefusedAndLeftAlone(t *testing.T) {
	for _, c := range tampering {
		t.Run(c.name, func(t *testing.T) {
			if c.root {
				needRoot(t)
			}
			dir := prepared(t)
			c.do(t, dir)
			before := everything(t, dir)
			for _, call := range []struct {
				name string
				do   func() error
			}{
				{"Open to read", func() error { return second(Open(dir, false, roomy())) }},
				{"Open to write", func() error { return second(Open(dir, true, roomy())) }},
				{"Prepare", func() error { return second(Prepare(context.Background(), spec(dir), roomy(), nil)) }},
				{"Stat", func() error { return second(Stat(dir)) }},
				{"Remove", func() error { return Remove(dir) }},
			} {
				reason, ok := isRefused(call.do())
				if !ok || !strings.Contains(reason, c.reason) {
					t.Errorf("%s: reason %q, want %q", call.name, reason, c.reason)
				}
			}
			if after := everything(t, dir); after != before {
				t.Errorf("something was touched:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Each of these is done to the lock beside a filled probe file. What takes the lock must refuse it and say so, rather than
// wait for a process that does not exist.
var lockTampering = []struct {
	name   string
	do     func(t *testing.T, dir string)
	reason string
}{
	{name: "the lock is a symbolic link", do: func(t *testing.T, dir string) {
		must(t, os.Symlink(dir+"/elsewhere", path(dir, lockName)))
	}, reason: "symlink"},
	{name: "the lock is a folder", do: func(t *testing.T, dir string) {
		must(t, os.Mkdir(path(dir, lockName), 0o700))
	}, reason: "not a regular file"},
	{name: "the lock is a FIFO", do: func(t *testing.T, dir string) {
		must(t, unix.Mkfifo(path(dir, lockName), 0o600))
	}, reason: "not a regular file"},
	{name: "the lock is a link to another file", do: func(t *testing.T, dir string) {
		writeFile(t, dir+"/elsewhere", "precious")
		must(t, os.Link(dir+"/elsewhere", path(dir, lockName)))
	}, reason: "2 hard links"},
}

func TestALockThatIsNotOursIsRefusedAndLeftAlone(t *testing.T) {
	for _, c := range lockTampering {
		t.Run(c.name, func(t *testing.T) {
			dir := prepared(t)
			must(t, os.Remove(path(dir, lockName)))
			c.do(t, dir)
			before := everything(t, dir)
			for name, err := range map[string]error{
				"Open":    second(Open(dir, true, roomy())),
				"Prepare": second(Prepare(context.Background(), spec(dir), roomy(), nil)),
				"Remove":  Remove(dir),
			} {
				if reason, ok := isRefused(err); !ok || !strings.Contains(reason, c.reason) {
					t.Errorf("%s: %v, want %q", name, err, c.reason)
				}
			}
			if after := everything(t, dir); after != before {
				t.Errorf("something was touched:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// everything describes all files below dir, with their modes, sizes and times of change.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		b.WriteString(p + " " + fi.Mode().String() + " " + fi.ModTime().String() + "\n")
		if e.Type().IsRegular() {
			content, err := os.ReadFile(dir + "/" + p)
			if err != nil {
				return err
			}
			b.Write(content)
		}
		return nil
	}))
	return b.String()
}

func TestOnlyOneMayHaveTheFile(t *testing.T) {
	dir := prepared(t)
	f, err := Open(dir, false, roomy())
	must(t, err)
	for name, err := range map[string]error{
		"Open":    second(Open(dir, false, roomy())),
		"Prepare": second(Prepare(context.Background(), spec(dir), roomy(), nil)),
		"Remove":  Remove(dir),
	} {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", name, err)
		}
	}
	if _, err := Stat(dir); err != nil {
		t.Errorf("Stat needs no lock: %v", err)
	}
	must(t, f.Close())
	mustBeFilled(t, dir)
}

func TestTwoFillsAtOnceWriteOneFile(t *testing.T) {
	dir := diskDir(t)
	var other error
	st, err := Prepare(context.Background(), spec(dir), roomy(), func(done, _ int64) {
		if done == blockSize {
			_, other = Prepare(context.Background(), spec(dir), roomy(), nil)
		}
	})
	must(t, err)
	if !errors.Is(other, ErrBusy) || !st.Filled {
		t.Errorf("the second: %v, want ErrBusy; the first: %+v", other, st)
	}
}

func TestAFileWithHolesOrUnwrittenExtentsIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		mode   uint32
		reason string
	}{
		"a hole":              {unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, "hole"},
		"an unwritten extent": {unix.FALLOC_FL_ZERO_RANGE, "not written"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := prepared(t)
			if readRecordOf(t, dir).Extents != extentsVerified {
				t.Skip("this file system does not answer FIEMAP: set TMPDIR to one that does (ext4, xfs)")
			}
			for _, at := range []int64{0, 3 << 20, testSize - 4096} {
				f, err := os.OpenFile(path(dir, DataName), os.O_RDWR, 0)
				must(t, err)
				err = unix.Fallocate(int(f.Fd()), c.mode, at, 4096)
				if errors.Is(err, unix.EOPNOTSUPP) {
					t.Skipf("this file system cannot do that: %v; set TMPDIR to ext4 or xfs", err)
				}
				must(t, errors.Join(err, f.Sync(), f.Close()))
				for _, write := range []bool{false, true} {
					reason, ok := isRefused(second(Open(dir, write, roomy())))
					if !ok || !strings.Contains(reason, c.reason) {
						t.Errorf("at %d: reason %q, want %q", at, reason, c.reason)
					}
				}
				must(t, Remove(dir))
				_, err = Prepare(context.Background(), spec(dir), roomy(), nil)
				must(t, err)
			}
		})
	}
}

func TestExtentsThatDoNotMeasureTheDiskAreBad(t *testing.T) {
	for flags, bad := range map[uint32]bool{
		0:                               false,
		extentLast:                      false,
		0x1000 /* merged */ :            false,
		extentEncoded | extentEncrypted: false,
		extentUnwritten:                 true,
		extentDelalloc | extentUnknown:  true,
		extentUnknown:                   true,
		extentShared | extentLast:       true,
		extentInline:                    true,
		extentEncoded:                   true,
	} {
		if got := badExtent(flags); (got != "") != bad {
			t.Errorf("flags %#x: %q, want bad: %v", flags, got, bad)
		}
	}
}

func TestDataSharedWithACopyIsRefused(t *testing.T) {
	dir := mounted(t, "xfs", 320)
	fs := roomy()
	fs.Type = "xfs"
	_, err := Prepare(context.Background(), spec(dir), fs, nil)
	must(t, err)
	mustBeFilled(t, dir)
	src, err := os.Open(path(dir, DataName))
	must(t, err)
	defer src.Close()
	dst, err := os.Create(dir + "/copy")
	must(t, err)
	defer dst.Close()
	if err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())); err != nil {
		t.Skipf("this xfs cannot share data: %v; needs xfsprogs 5.1 or later", err)
	}
	if reason, ok := isRefused(second(Open(dir, true, fs))); !ok || !strings.Contains(reason, "shared") {
		t.Errorf("reason %q, want shared", reason)
	}
}

func TestOnBtrfsTheFileIsWithoutCopyOnWrite(t *testing.T) {
	dir := mounted(t, "btrfs", 320)
	fs := roomy()
	fs.Type = "btrfs"
	_, err := Prepare(context.Background(), spec(dir), fs, nil)
	must(t, err)
	f, err := Open(dir, true, fs)
	must(t, err)
	defer f.Close()
	flags, err := unix.IoctlGetUint32(f.Target().FD, unix.FS_IOC_GETFLAGS)
	must(t, err)
	if flags&fsNocowFlag == 0 {
		t.Errorf("flags %#x", flags)
	}
	if r := readRecordOf(t, dir); r.Extents != extentsVerified {
		t.Errorf("extents are %q", r.Extents)
	}
}

func TestAContainerRuntimeThatDeniesStatxTellsNoBirthTime(t *testing.T) {
	for err, want := range map[error]bool{unix.ENOSYS: true, unix.EPERM: true, unix.EIO: false, unix.EBADF: false, nil: false} {
		if got := noStatx(err); got != want {
			t.Errorf("statx answered %v: counts as unknown %v, want %v", err, got, want)
		}
	}
}
