package monitor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/engine/ledger"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// host is a machine whose sysfs is a folder.
type host struct {
	t    testing.TB
	root string
	ids  map[string]blockdev.Identity
}

func newHost(t testing.TB) *host {
	h := &host{t: t, root: quickDir(t), ids: map[string]blockdev.Identity{}}
	h.mkdir("sys/class/block")
	h.mkdir("sys/class/power_supply")
	return h
}

// quickDir is in memory where the machine has that: the ledger syncs twice for every run of a month.
func quickDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "ssd_exporter-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (h *host) roots() blockdev.Roots {
	return blockdev.Roots{Sysfs: h.root + "/sys", Procfs: h.root + "/proc", Dev: h.root + "/dev"}
}

func (h *host) mkdir(path string) {
	if err := os.MkdirAll(filepath.Join(h.root, path), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) write(path, content string) {
	h.mkdir(filepath.Dir(path))
	if err := os.WriteFile(filepath.Join(h.root, path), []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

const terabyte = 1e12

// plug adds a SATA disk of 1 TB.
func (h *host) plug(name, model, serial string) {
	scsi := "sys/devices/pci0000:00/0000:00:1f.2/ata" + name[2:] + "/host0/target0:0:0/0:0:0:0"
	dir := scsi + "/block/" + name
	h.write(scsi+"/model", model+"\n")
	h.write(dir+"/serial", serial+"\n")
	h.write(dir+"/dev", fmt.Sprintf("8:%d\n", 16*int(name[2]-'a')))
	h.write(dir+"/size", fmt.Sprintf("%d\n", int64(terabyte)/512))
	h.write(dir+"/queue/logical_block_size", "512\n")
	h.write(dir+"/queue/rotational", "0\n")
	h.link(dir+"/device", "../../../0:0:0:0")
	h.link("sys/class/block/"+name, "../../"+strings.TrimPrefix(dir, "sys/"))
	h.ids[name] = blockdev.Identity{Model: model, Serial: serial, Kernel: name}
	h.counters(name, 0, 0, 0)
}

func (h *host) link(path, to string) {
	if err := os.Symlink(to, filepath.Join(h.root, path)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) unplug(name string) {
	if err := os.Remove(filepath.Join(h.root, "sys/class/block", name)); err != nil {
		h.t.Fatal(err)
	}
}

// counters sets what a disk has done: I/Os, time busy, and what is in flight now.
func (h *host) counters(name string, ios int, busy time.Duration, inFlight int) {
	h.write("sys/class/block/"+name+"/stat", fmt.Sprintf("%d 0 %d 0 0 0 0 0 %d %d 0 0 0 0 0 0 0\n", ios, ios*8, inFlight, busy.Milliseconds()))
}

func (h *host) id(name string) blockdev.ID { return h.ids[name].ID() }

// fakeReader answers polls; health by kernel name.
type fakeReader struct {
	mu    sync.Mutex
	read  func(ctx context.Context, d blockdev.Disk) (*smart.Reading, error)
	reads map[string]int
}

func (r *fakeReader) Read(ctx context.Context, d blockdev.Disk) (*smart.Reading, error) {
	r.mu.Lock()
	if r.reads == nil {
		r.reads = map[string]int{}
	}
	r.reads[d.Kernel]++
	f := r.read
	r.mu.Unlock()
	if f == nil {
		return ata(d, 100, 40), nil
	}
	return f(ctx, d)
}

func (r *fakeReader) set(f func(ctx context.Context, d blockdev.Disk) (*smart.Reading, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = f
}

func (r *fakeReader) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads[name]
}

// ata is a reading of a disk with so much of its life left, in percent, and a temperature.
func ata(d blockdev.Disk, left int, celsius float64) *smart.Reading {
	passed, rpm := true, 0
	return &smart.Reading{
		At: time.Now(), Source: "native", Protocol: "ATA", Identity: d.Identity, Capacity: d.Capacity, RotationRate: &rpm, Passed: &passed,
		PowerState: "active", TemperatureC: &celsius,
		Statistics: map[smart.Stat]uint64{smart.StatPercentageUsed: uint64(100 - left)},
	}
}

// bench is a Monitor with everything around it faked or in temporary folders.
type bench struct {
	*host
	m      *Monitor
	world  *world
	reader *fakeReader
	ledger *ledger.Ledger
	store  *history.Store // nil unless begin opened it
	opts   Options
	cancel context.CancelFunc
	ended  chan error
}

// newBench has one disk sda with one target "data" on it.
func newBench(t testing.TB, change ...func(*bench, *Options, *pace)) *bench {
	h := newHost(t)
	h.plug("sda", "TESTDISK", "S1")
	b := &bench{host: h, world: newWorld(), reader: &fakeReader{}}
	b.world.place("/data", "sda")
	l, err := ledger.Open(filepath.Join(h.root, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	b.ledger = l
	b.opts = Options{
		Roots: h.roots(), StateDir: h.root, Host: "testhost",
		Targets: []Target{{Name: "data", Dir: "/data", Profile: "light", FileSize: 1 << 30, Workloads: Light()}},
		Smart:   SmartOptions{Enabled: true, Reader: b.reader},
	}
	p := defaultPace()
	p.publish = 5 * time.Minute // months of virtual time need fewer
	for _, f := range change {
		f(b, &b.opts, &p)
	}
	b.m = b.new(p, nil)
	return b
}

func (b *bench) new(p pace, s *history.Store) *Monitor {
	m, err := newMonitor(b.opts, s, ledgerAccounts{b.ledger}, b.world.start, p)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// run starts the Monitor; it ends with the test, or with stop.
func (b *bench) run() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.ended = cancel, make(chan error, 1)
	m := b.m
	go func() { b.ended <- m.Run(ctx) }()
	synctest.Wait()
}

// stop ends the Monitor and all children, also those that hang.
func (b *bench) stop() {
	b.cancel()
	if err := <-b.ended; err != nil {
		b.t.Error(err)
	}
	b.world.release()
	synctest.Wait()
}

// wait lets time go by.
func (b *bench) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) target(name string) TargetState {
	for _, t := range b.m.Snapshot().Targets {
		if t.Name == name {
			return t
		}
	}
	b.t.Helper()
	b.t.Fatalf("no target %q in the snapshot", name)
	return TargetState{}
}

func (b *bench) disk(id blockdev.ID) *DiskState {
	for _, d := range b.m.Snapshot().Disks {
		if d.ID == id {
			return &d
		}
	}
	return nil
}

func (s TargetState) workload(name string) WorkloadState {
	for _, w := range s.Workloads {
		if w.Workload.Name == name {
			return w
		}
	}
	panic("no workload " + name)
}
