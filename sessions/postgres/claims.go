package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
)

// claim is a claim of this process.
type claim struct {
	sessions.Claim
	job            wakeUp // that led to it
	began, version int64  // the version of the row when it began, and the last known one
	cache          *keyCache
	ctx            context.Context //nolint:containedctx // of the handler
	cancel         context.CancelCauseFunc
}

// committed updates the claims of this process after the commit of t. fenced are the
// keys whose claims it ended, and due is when it left work for later, if it did.
func (b *backend) committed(t *tx, fenced []channels.Key, due time.Time) {
	for _, k := range fenced {
		b.fence(k, t.keys[k].live)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, version := range t.versions {
		if c := b.claims[k]; c != nil {
			c.version = max(c.version, version)
		}
	}
	if b.run != nil && !due.IsZero() {
		select {
		case b.run.kick <- struct{}{}:
		default: // it will look soon anyway
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

// Live checks a claim of this process. If another node has fenced it and the notice
// is still on its way, the next write is refused.
func (b *backend) Live(c sessions.Claim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if mine := b.claims[c.Key]; mine == nil || mine.Epoch != c.Epoch {
		return sessions.ErrFenced
	}
	return nil
}

// release ends a claim whose handler succeeded, with one statement, if the key has no
// work left. It reports false if nextClaim has to decide: there may be work left, the
// handler changed nothing, or another process changed the row.
func (r *running) release(last *claim) bool {
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
	b.dropClaim(last)
	return true
}

// nextClaim ends the last claim, if there was one, whose handler returned failed. If
// the key has work now it begins the next claim, otherwise it ends the wake-up. It
// does all this in one transaction, under the lock of the key.
func (r *running) nextClaim(job wakeUp, last *claim, failed error) (next *claim, err error) {
	err = r.b.change(context.WithoutCancel(r.ctx), nil, func(ctx context.Context, t *tx) (func(), error) {
		r.b.dropClaim(next) // of a failed try
		next = nil
		var found []*keyRow
		batchAll(t, &found, scanKey, `SELECT `+keyColumns+` FROM keys WHERE id = $1 FOR UPDATE`, job.Key)
		// A statement sees what was committed before it began. This one begins under the lock.
		due, err := batchOne(ctx, t, pgx.RowTo[*int64], `SELECT due FROM (`+nextQuery+`) n`, job.Key)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && found[0].wake != job.Wake {
			r.b.dropClaim(last)
			return nil, nil // an old wake-up
		}
		if err != nil {
			return nil, err
		}
		row := found[0]
		row.due = due
		s, epoch := r.decide(row, last, failed), int64(0)
		if s.now {
			// A frozen node may take a job before it finds out that it is dead.
			epoch, err = value[int64](ctx, t, `UPDATE keys SET live = nextval('epochs'), node = $2, rest = 0, failures = $3
				WHERE id = $1 AND EXISTS (SELECT 1 FROM nodes WHERE id = $2 AND expires > clock_timestamp()) RETURNING live`, row.id, r.b.id, s.failures)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return nil, err
			}
		}
		if epoch != 0 {
			next = r.b.addClaim(r.ctx, job, sessions.Claim{Key: row.head.Key, Epoch: epoch}, row.version)
			return func() { r.b.dropClaim(last) }, nil
		}
		var later time.Time
		if row.due != nil {
			*row.due = max(*row.due, s.rest)
			later = timeOf(max(*row.due, 0))
		}
		t.queue(`UPDATE keys SET live = 0, node = '', wake = 0, rest = $2, failures = $3, due = $4 WHERE id = $1`, row.id, s.rest, s.failures, row.due)
		return func() {
			r.b.dropClaim(last)
			r.b.committed(t, nil, later)
		}, nil
	})
	if err != nil {
		r.b.dropClaim(next)
		return nil, err
	}
	return next, nil
}

// verdict is what happens to a key when its claim ends.
type verdict struct {
	now            bool // claim it again
	rest, failures int64
}

// decide decides whether to claim a key now, or to let it rest because its handler
// failed. After a fence the failures do not count.
func (r *running) decide(row *keyRow, last *claim, failed error) verdict {
	now := r.b.Now()
	due := row.due != nil && *row.due <= nanos(now)
	select {
	case <-r.left: // another node goes on
		return verdict{false, row.rest, row.failures}
	case <-r.ctx.Done(): // another node goes on, or this one after its restart
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
	r.b.Logger.Warn("work on a conversation failed; will try again", "key", row.head.Key.String(), "attempt", row.failures+1, "pause", pause, "err", failed)
	return verdict{false, nanos(now.Add(pause)), row.failures + 1}
}

// addClaim adds a claim of this process. Call it before the commit, because a fence
// may follow right after.
func (b *backend) addClaim(ctx context.Context, job wakeUp, c sessions.Claim, version int64) *claim {
	mine := &claim{Claim: c, job: job, began: version, version: version}
	mine.ctx, mine.cancel = context.WithCancelCause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claims[c.Key] = mine
	return mine
}

// dropClaim ends a claim of this process; nil is none.
func (b *backend) dropClaim(c *claim) {
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

var errLost = fmt.Errorf("%w: this node could not renew its row in time, so other nodes take over its work", sessions.ErrFenced)
