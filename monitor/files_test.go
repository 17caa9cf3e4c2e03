package monitor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/blockdev"
	"ssd_exporter/smart"
)

// report is a minimal smartctl JSON of an ATA disk.
func report(model, serial string, at time.Time, endurance int) string {
	return fmt.Sprintf(`{"json_format_version":[1,0],"smartctl":{"version":[7,4],"exit_status":0},"local_time":{"time_t":%d},
"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},"model_name":%q,"serial_number":%q,"rotation_rate":0,
"smart_status":{"passed":true},"temperature":{"current":33},
"ata_device_statistics":{"pages":[{"number":7,"name":"Solid State Device Statistics","revision":1,"table":[
{"offset":8,"name":"Percentage Used Endurance Indicator","size":1,"value":%d,"flags":{"string":"V---","value":192,"valid":true}}]}]}}`,
		at.Unix(), model, serial, endurance)
}

func filesOnly(b *bench, o *Options, _ *pace) {
	o.Targets = nil
	o.Smart.Files = []string{filepath.Join(b.root, "reports", "*.json")}
	b.mkdir("reports")
}

func TestFilesServeDisksThatTheKernelDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly, func(_ *bench, o *Options, _ *pace) { o.Smart.MaxAge = 2 * time.Hour })
		b.write("reports/a.json", report("FILEDISK", "F1", time.Now(), 12))
		b.run()
		b.wait(10 * time.Second)
		d := b.disk("FILEDISK_F1")
		if d == nil || d.Kernel != nil || d.Health == nil || d.Health.Wear.Used == nil || *d.Health.Wear.Used != 0.12 || !d.Smart.Success {
			t.Fatalf("%+v of %+v", d, b.m.Snapshot())
		}
		b.write("reports/a.json", report("FILEDISK", "F1", time.Now(), 13))
		b.wait(time.Minute)
		if d = b.disk("FILEDISK_F1"); *d.Health.Wear.Used != 0.13 {
			t.Errorf("the file is not read again: %v", *d.Health.Wear.Used)
		}
		b.wait(125 * time.Minute)
		if d = b.disk("FILEDISK_F1"); d == nil || d.Health != nil || d.Smart.Reason != smart.Stale || d.Smart.Failures[smart.Stale] == 0 || !strings.Contains(d.Smart.Problem, "a.json is ") {
			t.Errorf("a stale file: %+v", d)
		}
		b.write("reports/a.json", "{torn")
		b.wait(time.Minute)
		if d = b.disk("FILEDISK_F1"); d == nil || d.Smart.Reason != smart.Parse || !strings.Contains(strings.Join(b.m.Snapshot().Notes, " "), "a.json") {
			t.Errorf("a torn file: %+v, notes %q", d, b.m.Snapshot().Notes)
		}
		if err := os.Remove(filepath.Join(b.root, "reports/a.json")); err != nil {
			t.Fatal(err)
		}
		b.wait(time.Minute)
		if d = b.disk("FILEDISK_F1"); d != nil {
			t.Errorf("the file is gone, the disk is not: %+v", d)
		}
		b.stop()
	})
}

func TestFilesAreMergedBySerialAndNeverByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.reader.set(func(_ context.Context, d blockdev.Disk) (*smart.Reading, error) {
			return nil, &smart.ReadError{Disk: d.Device, Reason: smart.Permission, Err: os.ErrPermission}
		})
		b.write("reports/same.json", report("TESTDISK", "S1", time.Now(), 7))
		b.write("reports/elsewhere.json", report("TESTDISK", "S777", time.Now(), 8)) // says /dev/sda too
		b.run()
		b.wait(10 * time.Second)
		d, other := b.disk("TESTDISK_S1"), b.disk("TESTDISK_S777")
		if d == nil || d.Kernel == nil || d.Health == nil || *d.Health.Wear.Used != 0.07 || !d.Smart.Success {
			t.Errorf("the local disk: %+v", d)
		}
		if other == nil || other.Kernel != nil || *other.Health.Wear.Used != 0.08 {
			t.Errorf("the other host's disk: %+v", other)
		}
		if n := len(b.m.Snapshot().Disks); n != 2 {
			t.Errorf("%d disks", n)
		}
		b.stop()
	})
}

func TestADiskThatAnswersBeatsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.write("reports/same.json", report("TESTDISK", "S1", time.Now(), 7))
		b.run()
		b.wait(10 * time.Second)
		if d := b.disk("TESTDISK_S1"); d.Smart.Source != "native" {
			t.Errorf("source %q", d.Smart.Source)
		}
		b.stop()
	})
}

func TestFilesThatAreNoReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, filesOnly)
		b.mkdir("reports/folder.json")
		b.write("reports/empty.json", "")
		b.write("reports/text.json", "hello")
		b.write("reports/large.json", strings.Repeat(" ", fileMost+1))
		b.write("reports/good.json", report("FILEDISK", "F1", time.Now(), 1))
		b.run()
		b.wait(10 * time.Second)
		notes := strings.Join(b.m.Snapshot().Notes, "\n")
		if !strings.Contains(notes, "and 1 more") || strings.Count(notes, "smart.files") != 3 {
			t.Errorf("notes: %s", notes)
		}
		if b.disk("FILEDISK_F1") == nil {
			t.Error("bad files cost the good one")
		}
		b.stop()
	})
}

func TestTimeOfAReport(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	written := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	for name, c := range map[string]struct{ says, want time.Time }{
		"its own":                     {written.Add(-time.Hour), written.Add(-time.Hour)},
		"in the future: the file's":   {time.Now().Add(48 * time.Hour), written},
		"not said (1970): the file's": {time.Unix(0, 0), written},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(report("M", "S", c.says, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, written, written); err != nil {
				t.Fatal(err)
			}
			got := readReport(path)
			if len(got) != 1 || got[0].err != nil || !got[0].at.Equal(c.want) {
				t.Errorf("%+v, want %v", got, c.want)
			}
		})
	}
}
