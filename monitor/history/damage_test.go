package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// filled is the content of a store with branches, overflow pages, inline buckets and free pages.
func filled(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "good.db")
	s, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for batch := range 4 {
		var runs []Run
		for i := range 100 {
			r := run("data", fmt.Sprintf("w%d", i%9), t0.Add(time.Duration(batch*100+i)*time.Minute), Success)
			if i == 50 {
				r.Detail = strings.Repeat("long ", 2000)
			}
			runs = append(runs, r)
		}
		if err := s.Commit(Commit{Runs: runs}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reopened opens a file with this content and uses it; it returns where the file was set aside.
func reopened(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, aside, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if aside != "" {
		kept, err := os.ReadFile(aside)
		if err != nil || !bytes.Equal(kept, content) {
			t.Errorf("what was set aside is not what was there (%v)", err)
		}
		if _, why := s.SetAside(); why == "" {
			t.Error("set aside without a reason")
		}
	}
	if err := s.Commit(Commit{Runs: []Run{run("new", "w", t0, Success)}}); err != nil {
		t.Errorf("commit after open: %v", err)
	}
	if st, err := s.Load(); err != nil || st.Last[[2]string{"new", "w"}].Target != "new" {
		t.Errorf("load after open: %v", err)
	}
	return aside
}

func TestGoodFilePassesTheCheck(t *testing.T) {
	if aside := reopened(t, filled(t)); aside != "" {
		t.Errorf("set aside")
	}
}

func TestBadFilesAreSetAside(t *testing.T) {
	good := filled(t)
	cases := map[string][]byte{
		"text":                      []byte("not a database\n"),
		"one byte":                  {7},
		"another program's archive": append([]byte("PK\x03\x04"), make([]byte, 20000)...),
		"zeros":                     make([]byte, 64<<10),
		"header overwritten":        append(bytes.Repeat([]byte{0xA5}, 8192), good[8192:]...),
		"only headers":              good[:8192],
	}
	m, err := newestMeta(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	inUse := int(m.high) * int(m.pageSize) // the file itself grows in larger steps
	for cut := 4096; cut < inUse; cut += 4096 * (1 + inUse/4096/16) {
		cases[fmt.Sprintf("cut at %d", cut)] = good[:cut]
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			if reopened(t, content) == "" {
				t.Error("a bad file was taken")
			}
		})
	}
}

func TestAnEmptyFileIsNew(t *testing.T) {
	if aside := reopened(t, nil); aside != "" {
		t.Error("set aside")
	}
}

func TestOneTornHeaderIsNotEnough(t *testing.T) {
	good := filled(t)
	for i := range 2 {
		b := bytes.Clone(good)
		copy(b[i*os.Getpagesize()+20:], "torn write of a header")
		if reopened(t, b) != "" {
			t.Errorf("header %d alone made the file bad", i)
		}
	}
}

// A torn or misdirected write of any page either is noticed, or touches nothing in use: never a panic, a hang or a crash.
func TestOverwrittenPages(t *testing.T) {
	good := filled(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	pages := len(good) / 4096
	noticed := 0
	for range 24 {
		b := bytes.Clone(good)
		at := (2 + rnd.IntN(pages-2)) * 4096
		for i := range 512 {
			b[at+i] = byte(rnd.Uint32())
		}
		if reopened(t, b) != "" {
			noticed++
		}
	}
	if noticed == 0 {
		t.Error("no overwritten page was noticed")
	}
}

func TestOtherPrograms(t *testing.T) {
	make := func(bucket string, pairs map[string]string) []byte {
		path := filepath.Join(t.TempDir(), "x")
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte(bucket))
			for k, v := range pairs {
				if err == nil {
					err = b.Put([]byte(k), []byte(v))
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		db.Close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, content := range map[string][]byte{
		"database of another program": make("keys", map[string]string{"a": "b"}),
		"another format":              make("meta", map[string]string{"format": "something else", "version": "1"}),
		"newer":                       make("meta", map[string]string{"format": formatName, "version": "2"}),
		"nonsense version":            make("meta", map[string]string{"format": formatName, "version": "one"}),
	} {
		t.Run(name, func(t *testing.T) {
			if reopened(t, content) == "" {
				t.Error("taken as ours")
			}
		})
	}
}

func TestTwoBadFilesInOneSecondAreBothKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	seen := map[string]bool{}
	for i := range 3 {
		if err := os.WriteFile(path, []byte{byte(i), 1, 2}, 0o600); err != nil {
			t.Fatal(err)
		}
		s, aside, err := Open(path)
		if err != nil || aside == "" || seen[aside] {
			t.Fatalf("round %d: %q %v", i, aside, err)
		}
		s.Close()
		seen[aside] = true
	}
}

func FuzzVerify(f *testing.F) {
	good := filled(f)
	f.Add(good[:24<<10])
	f.Add(good)
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xED}, 9000))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = verify(bytes.NewReader(b), int64(len(b)))
	})
}
