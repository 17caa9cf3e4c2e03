package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"ssd_exporter/blockdev"
)

// spenderEnv makes this test binary a process that reserves: "<folder> <count> <disk>".
const spenderEnv = "LEDGER_TEST_SPENDER"

func TestMain(m *testing.M) {
	if os.Getenv(spenderEnv) != "" {
		spender()
		return
	}
	os.Exit(m.Run())
}

// spender reserves 3 bytes on two disks again and again and says so after each.
func spender() {
	var dir string
	var n int
	if _, err := fmt.Sscan(os.Getenv(spenderEnv), &dir, &n); err != nil {
		panic(err)
	}
	l, err := Open(dir)
	if err != nil {
		panic(err)
	}
	l.wait = 30 * time.Second // a loaded machine is not what is tested
	for i := range n {
		both := []Charge{{"b", 1e12}, {"a", 1e12}}
		if i%2 == 0 {
			both[0], both[1] = both[1], both[0]
		}
		if _, err := l.Reserve(both, Probe, 3, at(0)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(i + 1)
	}
}

func startSpender(t *testing.T, dir string, n int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), spenderEnv+"="+fmt.Sprint(dir, " ", n), "GORACE=atexit_sleep_ms=0")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c, bufio.NewScanner(out)
}

// lastLine reads to the end and gives the last number that was said.
func lastLine(t *testing.T, s *bufio.Scanner) int64 {
	t.Helper()
	last := int64(0)
	for s.Scan() {
		n, err := strconv.ParseInt(s.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		last = n
	}
	return last
}

func TestFourProcessesLoseNoReservation(t *testing.T) {
	const processes, each = 4, 200
	dir := open(t).dir
	outs := make([]*bufio.Scanner, processes)
	for i := range outs {
		_, outs[i] = startSpender(t, dir, each)
	}
	for i, s := range outs {
		if n := lastLine(t, s); n != each {
			t.Errorf("process %d made %d reservations, want %d", i, n, each)
		}
	}
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []blockdev.ID{"a", "b"} {
		if got := written(t, l, id, Probe); got != 3*processes*each {
			t.Errorf("%s: %d bytes on the account, want %d", id, got, 3*processes*each)
		}
	}
}

func TestAProcessKilledAtAnyMomentLosesNoCharge(t *testing.T) {
	const kills = 50
	l := open(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	said := int64(0)
	for range kills {
		c, out := startSpender(t, l.dir, 1_000_000)
		if !out.Scan() {
			t.Fatal("the process said nothing")
		}
		time.AfterFunc(time.Duration(rnd.IntN(8000))*time.Microsecond, func() { _ = c.Process.Kill() })
		said += max(1, lastLine(t, out))
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	for _, id := range []blockdev.ID{"a", "b"} {
		got := written(t, l, id, Probe)
		// Each kill may have come between a charge and the word about it, and on one disk only.
		if got < 3*said || got > 3*(said+kills) {
			t.Errorf("%s: %d bytes on the account, want %d to %d", id, got, 3*said, 3*(said+kills))
		}
	}
}
