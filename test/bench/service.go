package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// service is the running product on simulated disks.
type service struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
	runs   int // that a first pass has in all
	log    string
	done   chan struct{}
	err    error // of the process, once done is closed
}

// workloadsOfLight is how many workloads the default profile has.
const workloadsOfLight = 9

// startService starts the product in dir, with reports of so many disks and so many probed folders.
func startService(binary, dir string, disks, targets int) (*service, error) {
	if err := writeReports(filepath.Join(dir, "reports"), disks); err != nil {
		return nil, fmt.Errorf("writing the simulated disks: %w", err)
	}
	config := filepath.Join(dir, "ssd_exporter.yml")
	text, err := serviceConfig(dir, targets)
	if err == nil {
		err = os.WriteFile(config, []byte(text), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &service{
		url: "http://" + address, client: &http.Client{Timeout: time.Minute}, runs: targets * workloadsOfLight,
		log: filepath.Join(dir, "log"), done: make(chan struct{}),
	}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has it
	s.cmd = exec.Command(binary, "--config.file="+config, "--state.path="+filepath.Join(dir, "state"), "--web.listen-address="+address)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	go func() { s.err = s.cmd.Wait(); close(s.done) }()
	return s, nil
}

// serviceConfig has the default schedules, so that the service is idle after its first pass, and lets it probe whatever else
// the machine does.
func serviceConfig(dir string, targets int) (string, error) {
	var b strings.Builder
	b.WriteString("targets:\n")
	for i := range targets {
		path := filepath.Join(dir, fmt.Sprintf("target%d", i))
		if err := os.Mkdir(path, 0o700); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- {name: target%d, path: %q, file_size: 256MiB, fill_rate: unlimited}\n", i, path)
	}
	if targets == 0 {
		b.Reset()
		b.WriteString("targets: []\n")
	}
	fmt.Fprintf(&b, "guards: {utilisation: 1, in_flight: 100000, foreign_iops: 1e9, window: 100ms}\nbudget: {bytes_per_day: 100GB}\n")
	fmt.Fprintf(&b, "smart: {files: [%q]}\n", filepath.Join(dir, "reports", "*.json"))
	return b.String(), nil
}

// writeReports writes reports as smartctl makes them, of NVMe and SATA disks in turn.
func writeReports(dir string, disks int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for i := range disks {
		report := nvmeReport
		if i%2 == 1 {
			report = sataReport
		}
		text := strings.NewReplacer("@SERIAL@", fmt.Sprintf("BENCH%04d", i), "@NOW@", strconv.FormatInt(time.Now().Unix(), 10)).Replace(report)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.json", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const nvmeReport = `{"json_format_version": [1, 0], "smartctl": {"version": [7, 3], "exit_status": 0}, "local_time": {"time_t": @NOW@},
"device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"}, "model_name": "Simulated NVMe 1TB", "serial_number": "@SERIAL@",
"firmware_version": "1.0", "nvme_total_capacity": 1000204886016, "smart_status": {"passed": true},
"nvme_smart_health_information_log": {"critical_warning": 0, "temperature": 41, "available_spare": 100, "available_spare_threshold": 10,
"percentage_used": 7, "data_units_read": 60000000, "data_units_written": 50000000, "host_reads": 900000000, "host_writes": 800000000,
"controller_busy_time": 4000, "power_cycles": 312, "power_on_hours": 21000, "unsafe_shutdowns": 17, "media_errors": 0,
"num_err_log_entries": 0, "warning_temp_time": 3, "critical_comp_time": 0, "temperature_sensors": [41, 48]}}
`

const sataReport = `{"json_format_version": [1, 0], "smartctl": {"version": [7, 3], "exit_status": 0}, "local_time": {"time_t": @NOW@},
"device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"}, "model_name": "INTEL SSDSC2BB240G4", "serial_number": "@SERIAL@",
"firmware_version": "D2010355", "user_capacity": {"blocks": 468862128, "bytes": 240057409536}, "logical_block_size": 512, "rotation_rate": 0,
"smart_status": {"passed": true}, "temperature": {"current": 31}, "power_on_time": {"hours": 30000}, "power_cycle_count": 40,
"ata_smart_attributes": {"revision": 1, "table": [
{"id": 5, "name": "Reallocated_Sector_Ct", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 0, "string": "0"}},
{"id": 9, "name": "Power_On_Hours", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 30000, "string": "30000"}},
{"id": 12, "name": "Power_Cycle_Count", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 40, "string": "40"}},
{"id": 174, "name": "Unsafe_Shutdown_Count", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 12, "string": "12"}},
{"id": 194, "name": "Temperature_Celsius", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 31, "string": "31"}},
{"id": 197, "name": "Current_Pending_Sector", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 0, "string": "0"}},
{"id": 233, "name": "Media_Wearout_Indicator", "value": 93, "worst": 93, "thresh": 0, "raw": {"value": 0, "string": "0"}},
{"id": 241, "name": "Host_Writes_32MiB", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 600000, "string": "600000"}},
{"id": 242, "name": "Host_Reads_32MiB", "value": 100, "worst": 100, "thresh": 0, "raw": {"value": 700000, "string": "700000"}}]}}
`

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

var outcomes = regexp.MustCompile(`(?m)^ssd_probe_runs_total\{.*outcome="([a-z]+)".*\} ([0-9]+)$`)

// firstPass waits until every workload of every target has been run once, however it ended.
func (s *service) firstPass(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		page, err := s.page(ctx)
		runs := 0
		for _, m := range outcomes.FindAllStringSubmatch(page, -1) {
			n, _ := strconv.Atoi(m[2]) // digits
			runs += n
		}
		if err == nil && runs >= s.runs {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("ssd_exporter ended: %w\n%s", s.err, s.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d runs of the first pass within %v (%w)\n%s", runs, s.runs, patience, errors.Join(ctx.Err(), err), s.lastWords())
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *service) page(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return "", err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func (s *service) lastWords() []byte {
	b, err := os.ReadFile(s.log)
	if err != nil {
		return []byte(err.Error())
	}
	return b[max(0, len(b)-4096):]
}

func (s *service) reload() error { return s.cmd.Process.Signal(syscall.SIGHUP) }

// printMemory tells what of the service lies in RAM. RssAnon is what it has allocated; VmRSS has the pages of its program and of
// mapped files too, which the kernel takes back when it needs them.
func (s *service) printMemory(out io.Writer, when string) error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return fmt.Errorf("looking at the memory of the service: %w", err)
	}
	values := map[string]string{}
	for line := range bytes.Lines(b) {
		if k, v, ok := strings.Cut(string(line), ":"); ok {
			values[k] = strings.Join(strings.Fields(v), " ")
		}
	}
	_, err = fmt.Fprintf(out, "memory, %s: VmRSS %s, of it RssAnon %s, RssFile %s; VmHWM (highest) %s\n", when,
		values["VmRSS"], values["RssAnon"], values["RssFile"], values["VmHWM"])
	return err
}

// stop ends the service.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	select {
	case <-s.done:
		return nil
	case <-time.After(15 * time.Second):
		_ = s.cmd.Process.Kill()
		return errors.New("ssd_exporter did not stop within 15 s and was killed")
	}
}
