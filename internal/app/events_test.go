package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/hooks"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"

	"github.com/google/go-cmp/cmp"
)

// process is a store with its stream, as a daemon has them.
type process struct {
	*engine.Store
	events *stream.Hub
}

func open(t *testing.T, path string) process {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{}
	d.openEvents(s)
	return process{s, d.events}
}

func (p process) accept(t *testing.T, id string) {
	t.Helper()
	m := channels.Inbound{Key: channels.MustKey("net:1"), ID: id, Text: "hello", At: time.Now()}
	if _, err := p.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
		t.Fatal(err)
	}
}

// answer answers all that waits. sent: the answers are delivered, too.
func (p process) answer(t *testing.T, sent bool) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	err := p.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
		defer end()
		pending, err := p.Pending(ctx, c, 0)
		if err != nil {
			return err
		}
		turn := sessions.Turn{ID: "t"}
		for _, m := range pending.Messages {
			turn.Answers = append(turn.Answers, sessions.Answered{Seq: m.Seq, Rev: m.Rev})
			turn.Replies = append(turn.Replies, sessions.Reply{Text: "hi"})
		}
		if len(turn.Answers) > 0 {
			if err := p.CommitTurn(ctx, c, turn); err != nil {
				return err
			}
		}
		unsent, err := p.Unsent(ctx, c, 0)
		if err != nil {
			return err
		}
		for _, d := range unsent {
			if err := p.MarkSending(ctx, c, d.ID); err != nil {
				return err
			}
			if sent {
				err = errors.Join(err, p.MarkSent(ctx, c, d.ID, channels.Receipt{}))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// next reads the events that are there and the cursor after them.
func next(t *testing.T, l *stream.Listener) (got []string, cursor string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	events, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Event.Event, " ", e.Key, "/", e.Seq, " ", e.State))
		cursor = e.Cursor
	}
	return got, cursor
}

// A listener that comes back to the next process misses nothing: neither what was
// stored while it was away nor the end of a delivery that it saw under way.
func TestEventsOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	p := open(t, path)
	l, err := p.events.Listen(t.Context(), stream.Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	p.accept(t, "1")
	p.answer(t, false)
	got, cursor := next(t, l)
	want := []string{"message_accepted net:1/1 ", "delivery_changed net:1/2 queued", "delivery_changed net:1/2 sending"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	l.Close()
	p.accept(t, "2") // nobody listens
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	p = open(t, path)
	defer p.Close()
	l, err = p.events.Listen(t.Context(), stream.Filter{}, cursor)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, _ = next(t, l)
	// The first two are repeats: their rows are newer than the cursor less the slack.
	want = []string{"message_accepted net:1/1 ", "delivery_changed net:1/2 sending", "message_accepted net:1/3 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missed events (-want +got):\n%s", diff)
	}
	p.answer(t, true)
	got, _ = next(t, l)
	if got[len(got)-1] != "delivery_changed net:1/4 sent" {
		t.Errorf("events now = %q", got)
	}
}

// A listener that may see one job hears its outcome after a restart, however many others
// there are, and however late it was.
func TestOutcomesOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	p := open(t, path)
	mine := stream.Filter{See: func(e *stream.Event) bool { return e.Event != stream.JobDone || e.Job == "mine" }}
	l, err := p.events.Listen(t.Context(), mine, "")
	if err != nil {
		t.Fatal(err)
	}
	p.accept(t, "1")
	_, cursor := next(t, l)
	l.Close()
	due := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	outcome := func(job string, due time.Time) {
		t.Helper()
		err := errors.Join(p.Plan(t.Context(), job, time.Time{}, due), p.Skip(t.Context(), job, due, due.Add(time.Hour), "missed", "late"))
		if err != nil {
			t.Fatal(err)
		}
	}
	outcome("mine", due)
	for i := range stream.MaxMissed + 50 {
		outcome(fmt.Sprint("other", i), due.Add(time.Minute))
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	p = open(t, path)
	defer p.Close()
	l, err = p.events.Listen(t.Context(), mine, cursor)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := l.Next(t.Context())
	if err != nil || len(got) != 2 || got[1].Job != "mine" || got[1].Outcome != "missed" {
		t.Errorf("heard %+v, %v; want the repeat of the message and the outcome", got, err)
	}
}

// An outcome that changed is new at that time: a listener from before it hears of it.
func TestAChangedOutcomeIsNew(t *testing.T) {
	ran := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	failed := sessions.Occurrence{Job: "j", Outcome: "failed", At: ran, Changed: ran.Add(time.Hour)}
	if e := jobEvent(failed); !e.At.Equal(failed.Changed) {
		t.Errorf("it is told as of %s, want %s", e.At, failed.Changed)
	}
	failed.Changed = time.Time{}
	if e := jobEvent(failed); !e.At.Equal(ran) {
		t.Errorf("it is told as of %s, want %s", e.At, ran)
	}
}

// What was published before the end reaches the hooks.
func TestHooksGetTheLastEvents(t *testing.T) {
	const many = 50 // more than the hooks are given at once
	hub := stream.New(stream.Options{})
	counted := map[string]int{}
	h := hooks.New([]hooks.Hook{{On: []stream.Name{stream.SessionSave}, Command: []string{"/bin/true"}}}, hooks.Options{
		Queue: 1, Count: func(name, _ string) { counted[name]++ },
	})
	stop := feedHooks(hub, h, slog.New(slog.DiscardHandler))
	for range many {
		hub.Publish(stream.Event{Event: stream.SessionSave})
	}
	stop()
	if got := counted["session_save"] + h.Waiting()["hooks[0] /bin/true"]; got != many {
		t.Errorf("%d of %d events reached the hooks", got, many)
	}
}
