//go:build crashpoints

package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// crashPoint kills this process, as kill -9 would, when it is passed for the n-th
// time. $DRAGOMAN_CRASH names it: "commit.after@3". Builds without the tag do not
// have it.
var crashPoint = func() *point {
	name, count, found := strings.Cut(os.Getenv("DRAGOMAN_CRASH"), "@")
	p := &point{name: name, left: 1}
	if found {
		_, _ = fmt.Sscan(count, &p.left)
	}
	return p
}()

// point is a place in the code at which a test makes the process kill itself.
type point struct {
	name string
	mu   sync.Mutex
	left int
}

func (p *point) pass(name string) {
	if p.name != name {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
	if p.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // nothing more must happen before the signal arrives
	}
}

// around runs f between the two points of a step.
func around(step string, f func() error) error {
	crashPoint.pass(step + ".before")
	err := f()
	crashPoint.pass(step + ".after")
	return err
}

func passPoint(name string) { crashPoint.pass(name) }

// crashStore is the store with points before and after its steps.
type crashStore struct{ *engine.Store }

func (s crashStore) Accept(ctx context.Context, e sessions.Entry) (got sessions.Acceptance, err error) {
	err = around("accept", func() error { got, err = s.Store.Accept(ctx, e); return err })
	return got, err
}

func (s crashStore) AppendStep(ctx context.Context, c sessions.Claim, turn string, a []sessions.Answered, st sessions.Step) error {
	return around("journal."+string(st.Kind), func() error { return s.Store.AppendStep(ctx, c, turn, a, st) })
}

func (s crashStore) CommitTurn(ctx context.Context, c sessions.Claim, t sessions.Turn) error {
	return around("commit", func() error { return s.Store.CommitTurn(ctx, c, t) })
}

func (s crashStore) Postpone(ctx context.Context, c sessions.Claim, seqs []int64, until time.Time, why string) error {
	return around("postpone", func() error { return s.Store.Postpone(ctx, c, seqs, until, why) })
}

func (s crashStore) Park(ctx context.Context, c sessions.Claim, p sessions.Parking) error {
	return around("park", func() error { return s.Store.Park(ctx, c, p) })
}

func (s crashStore) MarkSending(ctx context.Context, c sessions.Claim, id string) error {
	return around("sending", func() error { return s.Store.MarkSending(ctx, c, id) })
}

func (s crashStore) MarkSent(ctx context.Context, c sessions.Claim, id string, r channels.Receipt) error {
	return around("sent", func() error { return s.Store.MarkSent(ctx, c, id, r) })
}

func (s crashStore) AddSummary(ctx context.Context, k channels.Key, sum sessions.Summary, counts ...sessions.Count) error {
	return around("summary", func() error { return s.Store.AddSummary(ctx, k, sum, counts...) })
}

func (s crashStore) Delete(ctx context.Context, k channels.Key) error {
	return around("delete", func() error { return s.Store.Delete(ctx, k) })
}

func (s crashStore) ChangeNotes(ctx context.Context, kind, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	return around("notes."+kind, func() error { return s.Store.ChangeNotes(ctx, kind, owner, change) })
}

func (s crashStore) ChangeAllNotes(ctx context.Context, kinds []string, change func([]sessions.Note) (put, remove []sessions.Note, err error)) error {
	return around("notes.all", func() error { return s.Store.ChangeAllNotes(ctx, kinds, change) })
}

func (s crashStore) AddNotes(ctx context.Context, notes ...sessions.Note) error {
	kind := ""
	if len(notes) > 0 {
		kind = notes[0].Kind
	}
	return around("notes."+kind, func() error { return s.Store.AddNotes(ctx, notes...) })
}

func (s crashStore) Remind(ctx context.Context, m sessions.Reminding) error {
	return around("remind", func() error { return s.Store.Remind(ctx, m) })
}

func (s crashStore) RefusePairing(ctx context.Context, code string, now time.Time) (p sessions.Pairing, err error) {
	err = around("unpair", func() error {
		p, err = s.Store.RefusePairing(ctx, code, now)
		return err
	})
	return p, err
}

func (s crashStore) Unpair(ctx context.Context, channel, person string) error {
	return around("unpair", func() error { return s.Store.Unpair(ctx, channel, person) })
}
