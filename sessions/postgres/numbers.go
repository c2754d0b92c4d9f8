package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dragoman/channels"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Generations are numbered by day, over all conversations and nodes. Who counts one up keeps
// the lock of the store until its commit is on disk, so new conversations would be one queue.
// A node at which many begin sets numbers aside, in a commit of its own, and its changes
// take those without a lock. A node at which few begin counts as before, so their numbers
// have no gaps. Numbers that are left at the end of a day are lost.

const (
	// numbersPause is how long a node gathers how many numbers it needs.
	numbersPause = 25 * time.Millisecond
	// numbersMost is how many it sets aside at once.
	numbersMost = 1024
)

// numbers are those of one day that this node has set aside: next to last.
type numbers struct {
	mu         sync.Mutex
	day        string
	next, last int64
	asked      int           // since the last look
	wanted     chan struct{} // capacity 1: somebody asked
	never      bool          // only tests set it
}

// take returns a number of that day; false: there is none.
func (n *numbers) take(day string) (number int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	select {
	case n.wanted <- struct{}{}:
	default:
	}
	if day != n.day || n.next > n.last || n.never {
		return 0, false
	}
	n.next++
	return n.next - 1, true
}

// need returns how many numbers to set aside: none if few are asked for.
func (n *numbers) need(day string) (most int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := int64(n.asked)
	n.asked = 0
	left := n.last - n.next + 1
	if day != n.day {
		left = 0
	}
	if asked < 2 || left >= 2*asked || n.never {
		return 0
	}
	return min(8*asked, numbersMost)
}

func (n *numbers) put(day string, next, last int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.day = day
	n.next = next
	n.last = last
}

// numbersLoop sets numbers aside while they are needed, until ctx ends.
func (b *backend) numbersLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.node.lost.Done():
			return
		case <-b.numbers.wanted:
		}
		channels.Sleep(ctx, numbersPause)
		day := rules.Day(b.Now())
		need := b.numbers.need(day)
		if need == 0 {
			continue
		}
		if err := b.setAside(ctx, day, need); err != nil && ctx.Err() == nil {
			b.Logger.Warn("could not set numbers of generations aside; will try again", "err", b.explain(err))
		}
	}
}

// setAside commits that this node has n more numbers of that day. What is left of earlier
// ones is lost, if anything is.
func (b *backend) setAside(ctx context.Context, day string, n int64) error {
	var last int64
	err := pgx.BeginFunc(ctx, b.pool, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext('store'))`, lockClass); err != nil {
			return err
		}
		return t.QueryRow(ctx, `INSERT INTO days (day, begun) VALUES ($1, $2)
			ON CONFLICT (day) DO UPDATE SET begun = days.begun + excluded.begun RETURNING begun`, day, n).Scan(&last)
	})
	if err == nil {
		b.numbers.put(day, last-n+1, last)
	}
	return err
}

// takeNumber gives a step a number of the one day that it asks for, if there is one. Then the
// record of the store has only that day.
func (t *tx) takeNumber(some map[string]int64) *rows.Store {
	if len(some) != 1 || t.cache != nil || t.counts == nil || *t.counts {
		return nil
	}
	for day := range some {
		if n, ok := t.b.numbers.take(day); ok {
			t.number = n
			t.numbersDay = day
			return &rows.Store{Days: map[string]int64{day: n - 1}}
		}
	}
	return nil
}

// errMoreNumbers: a step began several generations, and has one number.
var errMoreNumbers = &pgconn.PgError{Severity: "ERROR", Code: "55P03", Message: "a step needs more than one number"}

// checkNumber drops the count of a step that has taken a number: it is counted already. If
// the step needs more, it runs again and counts.
func (t *tx) checkNumber(c *rows.Changes) error {
	if t.number == 0 {
		return nil
	}
	for i, r := range c.Records {
		if r.Store == nil {
			continue
		}
		if len(r.Store.Days) != 1 || r.Store.Days[t.numbersDay] != t.number {
			*t.counts = true
			return errMoreNumbers
		}
		c.Records[i].Store = &rows.Store{}
	}
	return nil
}
