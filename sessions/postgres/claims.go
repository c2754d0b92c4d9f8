package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
)

// claim is one of this process.
type claim struct {
	sessions.Claim
	job            wakeUp // by which it came
	began, version int64  // of the row when it began, and as this process knows it
	known          *known
	ctx            context.Context //nolint:containedctx // of the handler
	cancel         context.CancelCauseFunc
}

// changed is told of each commit: whose claims it ended, and when it left
// something to do, if that is later.
func (b *backend) changed(t *tx, fenced []channels.Key, due time.Time) {
	for _, k := range fenced {
		b.fence(k, t.keys[k].live)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, version := range t.saved {
		if c := b.claims[k]; c != nil {
			c.version = max(c.version, version)
		}
	}
	if b.run != nil && !due.IsZero() {
		select {
		case b.run.kick <- struct{}{}:
		default: // it looks soon
		}
	}
}

// fence ends a claim, if this process has it.
func (b *backend) fence(k channels.Key, epoch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.claims[k]; c != nil && c.Epoch == epoch {
		delete(b.claims, k)
		c.cancel(sessions.ErrFenced)
	}
}

// claimed are the keys that this process has claimed.
func (b *backend) claimed() []channels.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.claims))
}

// Live checks a claim of this process. What another node fenced is refused when
// it is written, if its notice was not there before.
func (b *backend) Live(c sessions.Claim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if mine := b.claims[c.Key]; mine == nil || mine.Epoch != c.Epoch {
		return sessions.ErrFenced
	}
	return nil
}

// letGo ends a claim whose handler succeeded, if nothing is left to do. It sees
// every change of the key: one that came after those of this process has given the
// row another version.
func (r *running) letGo(last *claim) bool {
	b := r.b
	b.mu.Lock()
	version := last.version
	b.mu.Unlock()
	if version == last.began || b.fault != nil && b.fault() != nil {
		return false
	}
	tag, err := b.pool.Exec(context.WithoutCancel(r.ctx), `UPDATE keys k SET live = 0, node = '', wake = 0, rest = 0, failures = 0, due = NULL
		WHERE id = $1 AND wake = $2 AND live = $3 AND version = $4 AND (`+dueQuery+`) IS NULL`, last.job.Key, last.job.Wake, last.Epoch, version)
	if err != nil || tag.RowsAffected() == 0 {
		return false
	}
	b.forget(last)
	return true
}

// turn ends the claim before, if there was one, which ended with an error or
// nil, and begins the next one, if the key has something to do now. If not, the
// wake-up is over: all in one transaction, under the lock of the key.
func (r *running) turn(job wakeUp, last *claim, failed error) (next *claim, err error) {
	err = r.b.change(context.WithoutCancel(r.ctx), nil, func(ctx context.Context, t *tx) (func(), error) {
		r.b.forget(next) // of a try that failed
		next = nil
		var found []*keyRow
		gather(t, &found, scanKey, `SELECT `+keyColumns+` FROM keys WHERE id = $1 FOR UPDATE`, job.Key)
		// A statement sees what was committed before it: this one begins under the lock.
		due, err := ask(ctx, t, pgx.RowTo[*int64], `SELECT due FROM (`+nextQuery+`) n`, job.Key)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && found[0].wake != job.Wake {
			r.b.forget(last)
			return nil, nil // an old one
		}
		if err != nil {
			return nil, err
		}
		row := found[0]
		row.due = due
		s, epoch := r.judge(row, last, failed), int64(0)
		if s.now {
			// A node that was frozen may have taken a job before it finds out.
			epoch, err = value[int64](ctx, t, `UPDATE keys SET live = nextval('epochs'), node = $2, rest = 0, failures = $3
				WHERE id = $1 AND EXISTS (SELECT 1 FROM nodes WHERE id = $2 AND expires > clock_timestamp()) RETURNING live`, row.id, r.b.id, s.failures)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return nil, err
			}
		}
		if epoch != 0 {
			next = r.b.begin(r.ctx, job, sessions.Claim{Key: row.head.Key, Epoch: epoch}, row.version)
			return func() { r.b.forget(last) }, nil
		}
		var later time.Time
		if row.due != nil {
			*row.due = max(*row.due, s.rest)
			later = timeOf(max(*row.due, 0))
		}
		t.queue(`UPDATE keys SET live = 0, node = '', wake = 0, rest = $2, failures = $3, due = $4 WHERE id = $1`, row.id, s.rest, s.failures, row.due)
		return func() {
			r.b.forget(last)
			r.b.changed(t, nil, later)
		}, nil
	})
	if err != nil {
		r.b.forget(next)
		return nil, err
	}
	return next, nil
}

// verdict is what comes of a key when its claim ends.
type verdict struct {
	now            bool // it is claimed again
	rest, failures int64
}

// judge decides whether a key is claimed now, or rests because its handler
// failed. A fence begins afresh.
func (r *running) judge(row *keyRow, last *claim, failed error) verdict {
	now := r.b.now()
	due := row.due != nil && *row.due <= nanos(now)
	select {
	case <-r.left: // another node
		return verdict{false, row.rest, row.failures}
	case <-r.ctx.Done(): // the same, or the next life
		return verdict{false, row.rest, row.failures}
	default:
	}
	if last == nil || row.live != last.Epoch {
		return verdict{due, 0, row.failures}
	}
	if failed == nil && due && row.version == last.began {
		failed = errors.New("the handler returned with work left and nothing done")
	}
	if failed == nil {
		return verdict{due, 0, 0}
	}
	pause := dispatch.Backoff(int(row.failures) + 1)
	r.b.log.Warn("work on a conversation failed; will try again", "key", row.head.Key.String(), "attempt", row.failures+1, "pause", pause, "err", failed)
	return verdict{false, nanos(now.Add(pause)), row.failures + 1}
}

// begin notes a claim of this process before it is committed: a fence may come
// right after.
func (b *backend) begin(ctx context.Context, job wakeUp, c sessions.Claim, version int64) *claim {
	mine := &claim{Claim: c, job: job, began: version, version: version}
	mine.ctx, mine.cancel = context.WithCancelCause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claims[c.Key] = mine
	return mine
}

// forget ends a claim of this process.
func (b *backend) forget(c *claim) {
	if c == nil {
		return
	}
	c.cancel(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.claims[c.Key] == c {
		delete(b.claims, c.Key)
	}
}

var errLost = fmt.Errorf("%w: this node could not renew its row in time; its work is another's now", sessions.ErrFenced)
