package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ssd_exporter/engine/worker"
)

// scripted is a child whose every sign is made by the test.
type scripted struct {
	replies chan worker.Reply
	done    chan struct{}
	aborts  []time.Duration // since the start
	kills   []time.Duration
	start   time.Time
	onAbort func()
	onKill  func()
}

func newScripted() *scripted {
	return &scripted{replies: make(chan worker.Reply), done: make(chan struct{}), start: time.Now()}
}

func (c *scripted) Replies() <-chan worker.Reply { return c.replies }
func (c *scripted) Done() <-chan struct{}        { return c.done }
func (c *scripted) end()                         { close(c.replies); close(c.done) }
func (c *scripted) Abort() {
	c.aborts = append(c.aborts, time.Since(c.start))
	if c.onAbort != nil {
		go c.onAbort()
	}
}

func (c *scripted) Kill() {
	c.kills = append(c.kills, time.Since(c.start))
	if c.onKill != nil {
		go c.onKill()
	}
}

func (c *scripted) beat(phase string, idle time.Duration) {
	c.replies <- worker.Reply{Beat: &worker.Beat{Phase: phase, Idle: idle}}
}

func TestSupervise(t *testing.T) {
	limits := patience{open: time.Minute, work: 12 * time.Second}
	fill := patience{open: time.Minute, idle: 30 * time.Second}
	for name, c := range map[string]struct {
		patience patience
		cancel   time.Duration
		life     func(*scripted)
		want     answer
		took     time.Duration
		aborts   int
		kills    int
	}{
		"answers and goes": {patience: limits, life: func(c *scripted) {
			c.beat("run", 0)
			c.replies <- worker.Reply{Final: true}
			c.end()
		}, want: answer{reply: worker.Reply{Final: true}}},
		"opening may take longer than the work": {patience: limits, life: func(c *scripted) {
			for range 50 {
				c.beat("open", 0)
				time.Sleep(time.Second)
			}
			c.beat("run", 0)
			time.Sleep(11 * time.Second)
			c.end()
		}, took: 61 * time.Second},
		"works too long, then obeys": {patience: limits, life: func(c *scripted) {
			c.onAbort = func() { c.replies <- worker.Reply{Final: true}; c.end() }
			c.beat("run", 0)
		}, want: answer{cause: AbortTimeout, reply: worker.Reply{Final: true}}, took: 12 * time.Second, aborts: 1},
		"must be killed": {patience: limits, life: func(c *scripted) {
			c.onKill = c.end
			c.beat("run", 0)
		}, want: answer{cause: AbortTimeout}, took: 17 * time.Second, aborts: 1, kills: 1},
		"cannot be killed": {patience: limits, life: func(c *scripted) {
			c.beat("run", 0)
		}, want: answer{cause: AbortTimeout, stuck: true}, took: 18 * time.Second, aborts: 1, kills: 1},
		"never says anything": {
			patience: limits, life: func(*scripted) {},
			want: answer{cause: AbortTimeout, stuck: true}, took: 66 * time.Second, aborts: 1, kills: 1,
		},
		"answers and does not go": {patience: limits, life: func(c *scripted) {
			c.replies <- worker.Reply{Final: true}
			close(c.replies)
		}, want: answer{reply: worker.Reply{Final: true}, stuck: true}, took: 6 * time.Second, kills: 1},
		"the exporter ends": {patience: limits, cancel: 2 * time.Second, life: func(c *scripted) {
			c.onAbort = func() { c.replies <- worker.Reply{Final: true}; c.end() }
			c.beat("run", 0)
		}, want: answer{cause: AbortShutdown, reply: worker.Reply{Final: true}}, took: 2 * time.Second, aborts: 1},
		"the exporter ends while the disk hangs": {patience: limits, cancel: 2 * time.Second, life: func(c *scripted) {
			c.beat("run", 0)
		}, want: answer{cause: AbortShutdown, stuck: true}, took: 6 * time.Second, aborts: 1, kills: 1},
		"a fill that makes progress has all the time": {patience: fill, life: func(c *scripted) {
			for range 3600 {
				c.beat("fill", 0)
				time.Sleep(time.Second)
			}
			c.end()
		}, took: time.Hour},
		"a fill that stalls": {patience: fill, life: func(c *scripted) {
			quit := make(chan struct{})
			c.onAbort = func() { close(quit) }
			for i := range 60 {
				select {
				case c.replies <- worker.Reply{Beat: &worker.Beat{Phase: "fill", Idle: time.Duration(i) * time.Second}}:
				case <-quit:
				}
				select {
				case <-time.After(time.Second):
				case <-quit:
					c.end()
					return
				}
			}
		}, want: answer{cause: AbortTimeout}, took: 30 * time.Second, aborts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				child := newScripted()
				go c.life(child)
				began := time.Now()
				a := supervise(ctx, child, c.patience, nil)
				took := time.Since(began)
				if a.reply.Final != c.want.reply.Final || a.cause != c.want.cause || a.stuck != c.want.stuck {
					t.Errorf("final %v, cause %q, stuck %v", a.reply.Final, a.cause, a.stuck)
				}
				if took != c.took || len(child.aborts) != c.aborts || len(child.kills) != c.kills {
					t.Errorf("took %v, aborted at %v, killed at %v; want %v, %d, %d", took, child.aborts, child.kills, c.took, c.aborts, c.kills)
				}
				time.Sleep(2 * time.Second) // for the child's own goroutine to end
			})
		})
	}
}
