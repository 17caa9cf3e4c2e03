package engine

import (
	"errors"
	"fmt"
	"time"
)

// tick bounds every wait in the kernel, so that a thread notices in time that it shall stop, and that nothing moves.
const tick = 100 * time.Millisecond

// drainPatience is how long after the stop a thread waits without any progress before it gives its I/Os up.
const drainPatience = 5 * time.Second

// Bounds of the pool that the content of writes is taken from, in bytes per thread. The content comes round again only
// after so much, far beyond the window of any compressor.
const (
	writePool    = 4 << 20
	minWritePool = 1 << 20
)

// maxRedraws is how many addresses are tried in one go for one that is not in flight.
const maxRedraws = 64

// lane is one OS thread of a stream with its own backend and buffers. All its methods run on that thread.
type lane struct {
	index     int // among all lanes of the run
	stream    int
	block     int64
	depth     int
	chunk     int
	firstSlot int // of its own in claims
	codec     Codec

	be      backend
	memory  arena
	content *content // nil when the stream only reads

	slots  []slot
	free   []int32 // stack of idle slots
	queued []int32 // since the last submit
	done   []completion
	deck   *deck

	p    *phase // the current one, and in it:
	src  *source
	st   *stats
	last int64 // time of the latest completion, or of the start
	held *ticket
	hold ticket // what held points to
}

// slot is one I/O in flight.
type slot struct {
	start    int64 // of the submission
	intended int64 // open loop; otherwise equal to start
	op       Op
	buf      []byte // of the I/O
	read     []byte // the slot's own buffer for reads
	block    int    // index in content, of a write
	off      int64
}

// newLane makes the buffers of a thread. The caller opens the backend.
func newLane(s Stream, depth, chunk, pool int, codec Codec, seed uint64, index, stream int) (*lane, error) {
	stride := pageAligned(s.BlockSize)
	reads, writes := depth*stride, 0
	if s.writes() {
		writes = max(2*depth*stride, pool/stride*stride)
	}
	mem, err := newArena(reads + writes)
	if err != nil {
		return nil, err
	}
	l := &lane{
		index: index, stream: stream, block: int64(s.BlockSize), depth: depth, chunk: chunk, codec: codec,
		memory: mem,
		slots:  make([]slot, depth), free: make([]int32, 0, depth), queued: make([]int32, 0, depth), done: make([]completion, depth),
	}
	for i := range l.slots {
		l.slots[i].read = mem.mem[i*stride:][:s.BlockSize:s.BlockSize]
		l.free = append(l.free, int32(depth-1-i))
	}
	if writes > 0 {
		key, stamps := keyOf(seed, index, stream, forContent), keyOf(seed, index, stream, forStamp)
		l.content = newContent(s, codec, key, stamps, mem.mem[reads:], stride)
	}
	return l, nil
}

// run does its part of a phase. Afterwards nothing of it is in flight, unless stats.abandoned says so. It returns true
// when somebody else has taken the bookkeeping over because the thread hung: nothing may be touched any more.
func (l *lane) run(p *phase, st *stats) (abandoned bool) {
	l.p, l.src, l.st = p, p.sources[l.stream], st
	l.deck = newDeck(l.src.deckKey, l.src.permille)
	l.held = nil
	l.last = p.now()
	loop := l.closedLoop
	if l.src.arrivals != nil {
		loop = l.openLoop
	}
	err := loop()
	if errors.Is(err, errAbandoned) {
		return true
	}
	if err != nil {
		l.bookAbandoned(p.now())
		p.halt(p.now(), ending{why: StoppedIOError, err: err})
	}
	return false
}

// inFlight is the number of slots in use.
func (l *lane) inFlight() int { return l.depth - len(l.free) }

// closedLoop keeps depth I/Os outstanding until the phase stops.
func (l *lane) closedLoop() error {
	p := l.p
	now := p.now()
	full := false
	for {
		for len(l.free) > 0 && l.issueNext(now) {
			if len(l.queued) == l.chunk && len(l.free) > 0 {
				// The last chunk waits for the submit below, which saves a system call.
				if err := l.submit(noWait); err != nil {
					return err
				}
				now = p.now() // a slow system call takes time, and the deadline must not pass unnoticed
			}
		}
		if l.inFlight() == 0 {
			if p.stopped(now) {
				return nil
			}
			time.Sleep(50 * time.Microsecond) // the only free addresses are in flight elsewhere
			now = p.now()
			continue
		}
		if !full && len(l.free) == 0 {
			// Full depth begins with the submission, before anything has come back.
			full = true
			p.laneFull(p.now())
		}
		if err := l.submit(tick); err != nil {
			return err
		}
		now = p.now()
		l.reap(now)
		if p.stopped(now) && l.givenUp(now) {
			return nil
		}
	}
}

// issueNext queues the next I/O of the stream; false when there is none now.
func (l *lane) issueNext(now int64) bool {
	if l.held == nil {
		if !l.p.admit(now) {
			return false
		}
		n := l.src.tickets.Add(1) - 1
		l.hold = ticket{n: n, op: l.deck.deal(n)}
		if l.hold.op == Write && !l.p.pay(now, l.block) {
			return false
		}
		l.held = &l.hold
	} else if l.p.stopped(now) {
		return false
	}
	return l.issue(l.held, 0)
}

// issue queues a ticket in an idle slot; false when every address it drew is in flight: it stays held, and draws on.
func (l *lane) issue(t *ticket, intended int64) bool {
	i := l.free[len(l.free)-1]
	s := &l.slots[i]
	off, ok := l.address(t, l.firstSlot+int(i))
	if !ok {
		return false
	}
	l.free = l.free[:len(l.free)-1]
	s.op, s.off, s.intended = t.op, off, intended
	if t.op == Write {
		s.buf, s.block = l.content.take(off)
	} else {
		s.buf = s.read
	}
	l.be.queue(int(i), s.op, off, s.buf)
	l.queued = append(l.queued, i)
	l.held = nil
	return true
}

func (l *lane) address(t *ticket, claimSlot int) (int64, bool) {
	for range maxRedraws {
		off := l.src.area.at(l.src.addressKey, l.src.Pattern, t.n, t.try)
		if l.p.claims == nil || l.p.claims.take(claimSlot, off, off+l.block, t.op == Write) {
			return off, true
		}
		t.try++
	}
	return 0, false
}

// submit hands over what is queued, timed at this moment, and waits as the backend's submit says.
func (l *lane) submit(wait time.Duration) error {
	if len(l.queued) > 0 {
		now, written := l.p.now(), int64(0)
		if l.st.first == 0 {
			l.st.first = now
		}
		for _, i := range l.queued {
			s := &l.slots[i]
			s.start = now
			if s.op == Write {
				written += l.block
			}
			if l.st.lag == nil {
				s.intended = now
			}
		}
		l.p.handedOver(now, int64(len(l.queued)), written)
		l.queued = l.queued[:0]
	}
	return l.be.submit(wait)
}

// reap books what has completed by now.
func (l *lane) reap(now int64) {
	n := l.be.reap(l.done)
	if n == 0 {
		return
	}
	l.last, l.st.last = now, now
	rated := l.p.rated(now)
	step := &l.st.series[min(int((now-l.p.begin)/l.p.step), len(l.st.series)-1)]
	var came [2]Traffic
	for _, c := range l.done[:n] {
		op, bytes := l.complete(c, now, rated, step)
		came[op].IOs++
		came[op].Bytes += bytes
	}
	if gap := l.p.cameBack(now, came); gap > l.st.gap {
		l.st.gap = gap
	}
}

// complete books one I/O and frees its slot, and returns its direction and the bytes it transferred. Only full transfers
// are timed and counted.
func (l *lane) complete(c completion, now int64, rated bool, step *seriesStep) (op Op, bytes int64) {
	s := &l.slots[c.slot]
	o := &l.st.ops[s.op]
	l.st.inService += now - s.start
	if int64(c.res) == l.block {
		bytes = l.block
		o.ios++
		o.bytes += l.block
		if rated {
			o.rated++
			o.ratedBytes += l.block
		}
		response := now - s.intended
		o.response.record(response)
		if o.service != nil {
			o.service.record(now - s.start)
		}
		step.ios[s.op]++
		step.bytes[s.op] += l.block
		step.response[s.op] += response
		if l.codec != nil && s.op == Read {
			l.check(s, o)
		}
	} else if errno := o.fail(c.res); endsRun(s.op, errno) {
		l.p.halt(now, ending{why: StoppedIOError, err: fmt.Errorf("%s of %d bytes at offset %d: %w", s.op, l.block, s.off, errno)})
	}
	if s.op == Write {
		l.content.release(s.block)
	}
	if l.p.claims != nil {
		l.p.claims.release(l.firstSlot + int(c.slot))
	}
	l.free = append(l.free, c.slot)
	return s.op, bytes
}

// check verifies what was read, after its time was taken.
func (l *lane) check(s *slot, o *opStats) {
	if err := l.codec.Check(s.buf, s.off); err != nil {
		o.corrupt++
		if l.st.mismatch == "" {
			l.st.mismatch = fmt.Sprintf("offset %d: %v", s.off, err)
		}
	}
}

// givenUp says, after the stop, whether what is in flight has made no progress for too long, and books it then.
func (l *lane) givenUp(now int64) bool {
	if l.inFlight() == 0 || time.Duration(now-max(l.last, l.p.stopAt.Load())) < drainPatience {
		return false
	}
	l.bookAbandoned(now)
	return true
}

// bookAbandoned counts what is in flight as lost; in an open loop it enters the latencies at its age. The silence until
// now is a gap.
func (l *lane) bookAbandoned(now int64) {
	l.st.gap = max(l.st.gap, now-l.p.lastDone.Load())
	idle := make([]bool, l.depth)
	for _, i := range l.free {
		idle[i] = true
	}
	for i := range l.slots {
		if idle[i] {
			continue
		}
		l.st.abandoned++
		if s := &l.slots[i]; l.st.lag != nil {
			l.st.censor(s.op, now-s.intended)
		}
	}
}

func (st *stats) censor(op Op, age int64) {
	st.ops[op].censored++
	st.ops[op].response.record(age)
}

// close frees the thread's resources. While I/Os are abandoned it must leave them to the kernel.
func (l *lane) close() {
	if l.be != nil {
		l.be.close()
	}
	l.memory.free()
}
