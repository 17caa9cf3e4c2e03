package image

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ssd_exporter/test/rig"
)

const (
	tag     = "localhost/ssd_exporter:test"
	nobody  = 65534
	version = "v0.0.0-test"
)

// store is buildah with images and containers of its own, so that nothing of the machine's is touched or left.
type store struct {
	t   *testing.T
	env []string
}

func newStore(t *testing.T) *store {
	t.Helper()
	rig.Need(t, "buildah")
	rig.Need(t, "make")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: buildah needs root to run what it has made; sudo make test")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "storage.conf")
	text := fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(dir, "graph"), filepath.Join(dir, "run"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &store{t: t, env: append(os.Environ(), "CONTAINERS_STORAGE_CONF="+conf, "STORAGE_DRIVER=vfs", "BUILDAH_ISOLATION=chroot", "IMAGE_BUILDER=buildah")}
}

// buildah runs a command and returns what it printed.
func (s *store) buildah(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "buildah", args...)
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			said = e.Stderr
		}
		s.t.Fatalf("buildah %s: %v\n%s%s", strings.Join(args, " "), err, out, said)
	}
	return strings.TrimSpace(string(out))
}

// make makes the image as people do, of a binary in a folder of its own.
func (s *store) make() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", "image", "IMAGE="+tag, "VERSION="+version, "OUT="+filepath.Join(s.t.TempDir(), "ssd_exporter"))
	cmd.Dir, cmd.Env = rig.Root(s.t), s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("make image: %v\n%s", err, out)
	}
}

func TestImage(t *testing.T) {
	s := newStore(t)
	s.make()
	container := s.buildah("from", tag)

	t.Run("says how it is run", func(t *testing.T) {
		var about struct {
			OCIv1 struct {
				Config struct {
					User         string
					Entrypoint   []string
					Volumes      map[string]any
					ExposedPorts map[string]any
					Labels       map[string]string
				} `json:"config"`
			}
			Manifest string
		}
		if err := json.Unmarshal([]byte(s.buildah("inspect", "--type", "image", tag)), &about); err != nil {
			t.Fatal(err)
		}
		c := about.OCIv1.Config
		if c.User != "65534:65534" || !slices.Equal(c.Entrypoint, []string{"/ssd_exporter"}) || c.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("user %q, entrypoint %q, labels %v", c.User, c.Entrypoint, c.Labels)
		}
		if _, ok := c.Volumes["/data"]; !ok || len(c.Volumes) != 1 {
			t.Errorf("volumes %v", c.Volumes)
		}
		if _, ok := c.ExposedPorts["10055/tcp"]; !ok || len(c.ExposedPorts) != 1 {
			t.Errorf("ports %v", c.ExposedPorts)
		}
		var manifest struct {
			Layers []struct{ Size int64 }
		}
		if err := json.Unmarshal([]byte(about.Manifest), &manifest); err != nil {
			t.Fatal(err)
		}
		var size int64
		for _, l := range manifest.Layers {
			size += l.Size
		}
		t.Logf("%d layers, %.1f MB", len(manifest.Layers), float64(size)/1e6)
		if size < 1e6 || size >= 20e6 {
			t.Errorf("it has %d bytes, want less than 20 MB", size)
		}
	})

	t.Run("holds one static binary, its licence, and a folder for nobody", func(t *testing.T) {
		root := s.buildah("mount", container)
		defer s.buildah("umount", container)
		var files []string
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, strings.TrimPrefix(path, root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"/LICENSE", "/ssd_exporter"}; !slices.Equal(files, want) {
			t.Errorf("files %q, want %q", files, want)
		}
		f, err := elf.Open(filepath.Join(root, "ssd_exporter"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
				t.Errorf("the binary has a segment %v: it is not static", p.Type)
			}
		}
		if uid, mode := ownerOf(t, filepath.Join(root, "data")); uid != nobody || !mode.IsDir() || mode.Perm()&0o700 != 0o700 {
			t.Errorf("/data is of user %d, %v", uid, mode)
		}
		if uid, mode := ownerOf(t, filepath.Join(root, "ssd_exporter")); uid != 0 || mode.Perm() != 0o755 {
			t.Errorf("the binary is of user %d, %v: whoever runs it must not be able to change it", uid, mode)
		}
	})

	t.Run("runs", func(t *testing.T) {
		if out := s.buildah("run", container, "--", "/ssd_exporter", "--version"); !strings.Contains(out, "version "+version+" ") {
			t.Errorf("--version says %q", out)
		}
	})

	t.Run("serves and probes as nobody, with its state on a volume", func(t *testing.T) { s.serves(t, container) })
}

// config lets a busy disk be probed, and quickly.
const config = `
targets: [{name: data, file_size: 256MiB, fill_rate: unlimited, profile: read_only}]
guards: {utilisation: 1, in_flight: 100000, foreign_iops: 1e9, window: 100ms}
`

// serves starts the service inside and waits for the first figures.
func (s *store) serves(t *testing.T, container string) {
	volume := rig.DiskDir(t)
	if err := os.WriteFile(filepath.Join(volume, "config.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(volume, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	address := rig.FreeAddress(t)
	p := rig.StartWith(t, s.env, "buildah", "run", "-v", volume+":/state", container, "--",
		"/ssd_exporter", "--state.path=/state", "--config.file=/state/config.yml", "--web.listen-address="+address)
	p.Eventually(30*time.Second, "it is healthy", func() error {
		_, _, err := rig.Get(context.Background(), "http://"+address+"/-/healthy")
		return err
	})
	p.Eventually(2*time.Minute, "the volume is probed, or cannot be", func() error {
		page, _, err := rig.Get(context.Background(), "http://"+address+"/metrics")
		switch {
		case err != nil:
			return err
		case strings.Contains(string(page), "\nssd_probe_iops{"):
			return nil
		case strings.Contains(string(page), "\nssd_probe_target_info{") && !strings.Contains(string(page), "\nssd_probe_target_device_info{"):
			t.Log("not shown here: a probe inside, since the kernel does not tell which disk is below the volume; set TMPDIR to a plain disk")
			return nil
		}
		return errors.New("no figures yet")
	})
	pid := service(t, p.PID())
	if ids := status(pid)["Uid"]; !slices.Equal(ids, []string{"65534", "65534", "65534", "65534"}) {
		t.Errorf("it runs as %v", ids)
	}
	if caps := status(pid)["CapEff"]; !slices.Equal(caps, []string{"0000000000000000"}) {
		t.Errorf("it has the capabilities %v", caps)
	}
	if uid, _ := ownerOf(t, filepath.Join(volume, "history.db")); uid != nobody {
		t.Errorf("its history is of user %d", uid)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("still running 20 s after SIGTERM")
	}
	if code := p.Stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Log())
	}
}

// service is the process of ssd_exporter below a process of buildah.
func service(t *testing.T, buildah int) int {
	t.Helper()
	parents := map[int]int{}
	var candidates []int
	dirs, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(d)))
		if err != nil {
			continue
		}
		fields := status(pid)
		parents[pid], _ = strconv.Atoi(strings.Join(fields["PPid"], ""))
		if slices.Equal(fields["Name"], []string{"ssd_exporter"}) {
			candidates = append(candidates, pid)
		}
	}
	for _, pid := range candidates {
		for p := pid; p > 1; p = parents[p] {
			if p == buildah {
				return pid
			}
		}
	}
	t.Fatalf("no ssd_exporter runs below buildah (process %d)", buildah)
	return 0
}

// status is /proc/PID/status; empty when the process is gone.
func status(pid int) map[string][]string {
	fields := map[string][]string{}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.Fields(value)
	}
	return fields
}

func ownerOf(t *testing.T, path string) (uid uint32, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid, info.Mode()
}
