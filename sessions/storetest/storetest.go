// Package storetest is the conformance suite of package sessions: the contract of a
// backend as tests. A backend's tests call [Run], [RunClocked] if its clock can be
// set, and [RunDurable] if it keeps a directory.
//
// The suite uses only the contract. A failure names the broken promise. Goroutines
// that the suite starts end before the test does.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// patience is how long the suite waits for something that must happen.
const patience = time.Minute

// Run tests a backend. open makes an empty store and registers its Close with
// t.Cleanup; it may be called several times in a test.
func Run(t *testing.T, open func(t *testing.T) *engine.Store) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, *rig){
		inboxTests, editTests, replaceTests, withdrawTests, controlTests, workTests, parkTests, runTests, outboxTests,
		transcriptTests, archiveTests, searchTests, catalogTests, lifetimeTests, deletedTests, attachedTests, feedTests, recentTests, queueTests, jobTests, peopleTests, directoryTests, textTests, raceTests,
		noteTests, stickerTests, feedbackTests, ownerTests, endingTests, memoryTests,
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(t, newRig(t, open(t))) })
		}
	}
	for name, test := range fieldTests {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, open(t)), func() *rig { return newRig(t, open(t)) }) })
	}
}

// rig is a store under test and its Run, which starts when a test first asks for a
// claim.
type rig struct {
	*engine.Store
	ctx     context.Context
	stop    context.CancelFunc
	claims  chan *held // unbuffered: a handler waits for its test
	running chan struct{}
	ended   chan error
}

// held is a claim that the test works under until it calls release.
type held struct {
	sessions.Claim
	ctx  context.Context
	done chan error
}

func newRig(t *testing.T, s *engine.Store) *rig {
	r := &rig{Store: s, claims: make(chan *held), ended: make(chan error, 1)}
	r.ctx, r.stop = context.WithCancel(t.Context())
	t.Cleanup(func() { sameWriters(t, s) }) // before the store is closed
	return r
}

// Search is Lookup in a whole conversation.
func (r *rig) Search(ctx context.Context, k channels.Key, query string, limit int) ([]sessions.Message, error) {
	hits, err := r.Lookup(ctx, k, sessions.Lookup{Query: query, Limit: limit})
	return hits.Messages, err
}

// run starts handing claims to the test.
func (r *rig) run(t *testing.T) {
	if r.running != nil {
		return
	}
	r.running = make(chan struct{})
	go func() {
		defer close(r.running)
		r.ended <- r.Run(r.ctx, func(ctx context.Context, c sessions.Claim) error {
			h := &held{c, ctx, make(chan error, 1)}
			select {
			case r.claims <- h:
			case <-ctx.Done():
				return nil
			}
			select {
			case err := <-h.done:
				return err
			case <-r.ctx.Done():
				return nil
			}
		})
	}()
	// Run ends before the store closes: this cleanup is newer than open's.
	t.Cleanup(func() {
		r.stop()
		<-r.running
	})
}

// claim waits for the next claim.
func (r *rig) claim(t *testing.T) *held {
	t.Helper()
	r.run(t)
	select {
	case h := <-r.claims:
		return h
	case <-time.After(patience):
		t.Fatal("no claim came")
		return nil
	}
}

// noClaim checks that none comes for a little while.
func (r *rig) noClaim(t *testing.T, d time.Duration, why string) {
	t.Helper()
	r.run(t)
	select {
	case h := <-r.claims:
		h.release(nil)
		t.Fatalf("claim of %s: %s", h.Key, why)
	case <-time.After(d):
	}
}

func (h *held) release(err error) { h.done <- err }

// key, in, user: short ways to write the usual values.

var alice = channels.Person{IDs: []string{"42"}, Name: "alice"}

func key(s string) channels.Key { return channels.MustKey(s) }

func in(k, id, text string) channels.Inbound {
	return channels.Inbound{
		Key: key(k), ID: id, MessageID: "m" + id, Sender: alice, Text: text,
		At: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
	}
}

func user(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Content: text}
}

func assistant(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleAssistant, Content: text}
}

// accept accepts a chat message and fails the test if it is not queued.
func (r *rig) accept(t *testing.T, k, id, text string) int64 {
	t.Helper()
	return r.enter(t, sessions.Entry{Inbound: in(k, id, text)}, sessions.Queued).Seq
}

func (r *rig) enter(t *testing.T, e sessions.Entry, want sessions.Outcome) sessions.Acceptance {
	t.Helper()
	a, err := r.Accept(t.Context(), e)
	if err != nil || a.Outcome != want {
		t.Fatalf("Accept(%s) = %+v, %v, want %s", e.Inbound.ID, a, err, want)
	}
	return a
}

// say adds messages to a transcript with an answered entry.
func (r *rig) say(t *testing.T, k, id string, messages ...sessions.Message) {
	t.Helper()
	r.enter(t, sessions.Entry{Inbound: in(k, id, "/x"), Answered: true, Append: messages}, sessions.Done)
}

// pending reads the next task of h and checks its messages.
func (r *rig) pending(t *testing.T, h *held, most int, want ...string) sessions.Pending {
	t.Helper()
	p, err := r.Pending(t.Context(), h.Claim, most)
	must(t, err)
	var got []string
	for _, w := range p.Messages {
		got = append(got, w.Inbound.Text)
	}
	same(t, "Pending", got, want)
	return p
}

// commit answers the pending messages of h with text.
func (r *rig) commit(t *testing.T, h *held, text string) {
	t.Helper()
	p, err := r.Pending(t.Context(), h.Claim, 0)
	must(t, err)
	turn := sessions.Turn{ID: cmpOr(p.Turn, "turn-"+text), Replies: []sessions.Reply{{Text: text}}}
	for _, w := range p.Messages {
		turn.Answers = append(turn.Answers, sessions.Answered{Seq: w.Seq, Rev: w.Rev})
		turn.Authors = append(turn.Authors, sessions.AuthorOf(w.Inbound))
		turn.Messages = append(turn.Messages, sessions.UserMessage(w.Inbound))
	}
	turn.Messages = append(turn.Messages, assistant(text))
	must(t, r.CommitTurn(t.Context(), h.Claim, turn))
}

// deliver sends all unsent deliveries of h.
func (r *rig) deliver(t *testing.T, h *held) []string {
	t.Helper()
	ds, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	var sent []string
	for _, d := range ds {
		must(t, r.MarkSending(t.Context(), h.Claim, d.ID))
		must(t, r.MarkSent(t.Context(), h.Claim, d.ID, channels.Receipt{MessageID: "n" + d.ID}))
		sent = append(sent, d.Text)
	}
	return sent
}

// transcript is the text of all messages of k.
func (r *rig) transcript(t *testing.T, k string) []string {
	t.Helper()
	ms, err := r.Messages(t.Context(), key(k), 0, 1_000_000)
	must(t, err)
	var texts []string
	for i, m := range ms {
		if i > 0 && m.Seq <= ms[i-1].Seq {
			t.Errorf("message %q has seq %d after %d", m.Content, m.Seq, ms[i-1].Seq)
		}
		texts = append(texts, string(m.Role)+": "+m.Content)
	}
	return texts
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is fails the test unless err is want.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(channels.Key{})); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func number(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, n) }
