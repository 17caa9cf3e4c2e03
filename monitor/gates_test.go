package monitor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestGatesGiveAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		a, err := g.acquire(context.Background(), "a", "x")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan *permit)
		go func() {
			p, err := g.acquire(context.Background(), "b", "y", "x")
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		synctest.Wait()
		y, err := g.acquire(context.Background(), "c", "y") // b waits for x and holds nothing meanwhile
		if err != nil {
			t.Fatal(err)
		}
		a.release()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("b came through while y was held")
		default:
		}
		y.release()
		(<-got).release()
	})
}

func TestGatesDoNotWaitForWhatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		p, _ := g.acquire(context.Background(), "a probe", "x")
		done := make(chan error)
		go func() {
			_, err := g.acquire(context.Background(), "b", "x")
			done <- err
		}()
		synctest.Wait()
		p.keep()
		if err := <-done; !errors.Is(err, errStuck) {
			t.Errorf("who waited got %v", err)
		}
		p.release() // the pass that started it ends; the child does not
		if err := g.stuck("y", "x"); !errors.Is(err, errStuck) {
			t.Errorf("after release: %v", err)
		}
		p.giveBack()
		if err := g.stuck("x"); err != nil {
			t.Errorf("after giving back: %v", err)
		}
		if _, err := g.acquire(context.Background(), "b", "x"); err != nil {
			t.Error(err)
		}
	})
}

func TestGatesLetGoOfWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		p, _ := g.acquire(context.Background(), "a", "x")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := g.acquire(ctx, "b", "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		p.release()
	})
}
