package durable_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/internal/durable"
)

// TestQueue: operations that are queued at one time run together, each gets its own result,
// and one whose caller gave up does not run.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable.NewQueue[int](8)
		odd := errors.New("odd")
		hold := make(chan struct{})
		var batches [][]int
		commit := func(batch []int) (errs []error) {
			batches = append(batches, slices.Clone(batch))
			for _, n := range batch {
				if n == 0 {
					<-hold
				}
				errs = append(errs, map[bool]error{true: odd}[n%2 == 1])
			}
			return errs
		}
		go q.Run(commit)
		var all sync.WaitGroup
		do := func(ctx context.Context, n int, want error) {
			all.Go(func() {
				if err := q.Do(ctx, n); !errors.Is(err, want) {
					t.Errorf("Do(%d) = %v, want %v", n, err, want)
				}
			})
			synctest.Wait()
		}
		do(t.Context(), 0, nil)
		ctx, giveUp := context.WithCancel(t.Context())
		do(t.Context(), 1, odd)
		do(ctx, 2, context.Canceled)
		do(t.Context(), 4, nil)
		do(t.Context(), 9, odd)
		do(t.Context(), 6, nil)
		giveUp()
		synctest.Wait()
		if n := q.Len(); n != 5 {
			t.Errorf("Len = %d, want 5", n)
		}
		close(hold)
		all.Wait()
		q.Close()
		if want := [][]int{{0}, {1, 4, 9, 6}}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("batches = %v, want %v", batches, want)
		}
		do(t.Context(), 1, durable.ErrClosed)
		q.Close()
	})
}

// TestQueueEnds: operations that were queued before Close run.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := durable.NewQueue[int](1)
		ended := make(chan error)
		go func() { ended <- q.Do(t.Context(), 1) }()
		synctest.Wait()
		go q.Close()
		synctest.Wait()
		go q.Run(func(batch []int) []error { return make([]error, len(batch)) })
		if err := <-ended; err != nil {
			t.Errorf("Do = %v", err)
		}
	})
}
