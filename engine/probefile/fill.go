package probefile

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// checkpoint is how often a fill is synced and its position recorded, in bytes: what a crash makes us write again.
const checkpoint = 64 << 20

// fill writes incompressible data from the recorded position to the end and syncs it.
func (p *preparation) fill(ctx context.Context, data *os.File) (err error) {
	buf, err := unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("allocating a buffer: %w", err)
	}
	defer unix.Munmap(buf) //nolint:errcheck // our own mapping
	src := newSource()
	pace := pacer{rate: p.spec.FillRate}
	pos, synced := p.rec.Position, p.rec.Position
	for ; pos < p.rec.Size; pos += blockSize {
		if err := pace.wait(ctx, blockSize); err != nil {
			return errors.Join(fmt.Errorf("filling %s: stopped at %d of %d bytes: %w", data.Name(), pos, p.rec.Size, err),
				p.mark(data, pos))
		}
		src.fill(buf)
		p.written += blockSize
		if err := writeAt(data, buf, pos); err != nil {
			return err
		}
		if done := pos + blockSize; done-synced >= checkpoint {
			if err := p.mark(data, done); err != nil {
				return err
			}
			if err := p.checkWriteFloor(); err != nil {
				return err
			}
			synced = done
		}
		if p.beat != nil {
			p.beat(pos+blockSize, p.rec.Size)
		}
	}
	return p.mark(data, pos)
}

// mark makes everything before pos durable, and then the position.
func (p *preparation) mark(data *os.File, pos int64) error {
	if err := data.Sync(); err != nil {
		return err
	}
	r := p.rec
	r.Position = pos
	if err := p.d.writeRecord(r); err != nil {
		return err
	}
	p.rec = r
	return nil
}

func (p *preparation) checkWriteFloor() error {
	free, total, err := p.d.freeSpace()
	if err != nil {
		return err
	}
	if need := writeFloor(total); free < need {
		return &SpaceError{Path: p.d.path, Free: free, Need: need, Total: total}
	}
	return nil
}

// writeAt writes all of b. os.File.WriteAt would do, were its messages and its handling of a write that makes no
// progress not so different between errors.
func writeAt(f *os.File, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(int(f.Fd()), b, off)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return &fs.PathError{Op: "write", Path: f.Name(), Err: err}
		case n == 0:
			return &fs.PathError{Op: "write", Path: f.Name(), Err: unix.EIO}
		default:
			b, off = b[n:], off+int64(n)
		}
	}
	return nil
}

// source makes incompressible data faster than any disk takes it.
type source struct{ pcg *rand.PCG }

func newSource() source {
	var seed [16]byte
	crand.Read(seed[:]) // never fails: it ends the program instead
	return source{rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:]))}
}

// fill overwrites b, whose length is a multiple of 8.
func (s source) fill(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, s.pcg.Uint64())
	}
}

// pacer holds a mean rate without ever catching up on more than one second of delay.
type pacer struct {
	rate int64     // bytes per second; 0: unlimited
	next time.Time // when the next write is due
}

// wait returns when n more bytes may be written, or with the cause of ctx's end.
func (p *pacer) wait(ctx context.Context, n int64) error {
	if err := context.Cause(ctx); err != nil || p.rate <= 0 {
		return err
	}
	now := time.Now()
	if p.next.Before(now.Add(-time.Second)) {
		p.next = now
	}
	due := p.next
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	if !due.After(now) {
		return nil
	}
	t := time.NewTimer(due.Sub(now))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
