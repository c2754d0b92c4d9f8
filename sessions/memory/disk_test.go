package memory_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// emptyDisk has nothing and keeps nothing.
type emptyDisk struct{}

func (emptyDisk) Image() (memory.Image, error) {
	return memory.Image{Shared: memory.NewShared(), Seen: &memory.SeenIDs{}}, nil
}

func (emptyDisk) Content(channels.Key, bool) (memory.Content, error) { return memory.Content{}, nil }
func (emptyDisk) Commit([]memory.Change) error                       { return nil }
func (emptyDisk) Wipe([]channels.Key) error                          { return nil }
func (emptyDisk) Moment() memory.Moment                              { return noMoment{} }

type noMoment struct{}

func (noMoment) Take()                                        {}
func (noMoment) Content(channels.Key) (memory.Content, error) { return memory.Content{}, nil }
func (noMoment) End()                                         {}

// countingDisk counts how often a conversation is read.
type countingDisk struct {
	emptyDisk
	read *atomic.Int64
}

func (d countingDisk) Content(channels.Key, bool) (memory.Content, error) {
	d.read.Add(1)
	return memory.Content{}, nil
}

// A large restore comes in parts: none of them reads what is there already,
// or moving a store would take the square of its conversations.
func TestRestoreInParts(t *testing.T) {
	d := countingDisk{read: new(atomic.Int64)}
	s := memory.Open(memory.Options{}, d)
	defer s.Close()
	part := func(n int) func() (sessions.Record, error) {
		out := &sessions.OutboxRecord{Delivery: sessions.Delivery{ID: fmt.Sprint("d", n), Key: channels.MustKey(fmt.Sprint("x:", n)), Seq: 1, State: sessions.DeliverySent}}
		records := []sessions.Record{{Outbox: out}}
		return func() (r sessions.Record, err error) {
			if len(records) == 0 {
				return r, io.EOF
			}
			r, records = records[0], nil
			return r, nil
		}
	}
	for n := range 100 {
		if _, err := s.Restore(t.Context(), part(n)); err != nil {
			t.Fatal(err)
		}
		s.Release(time.Now().Add(time.Hour))
	}
	if n := d.read.Load(); n > 0 {
		t.Errorf("100 parts read %d conversations, want none", n)
	}
}

// halfDisk has two conversations, of which one cannot be read.
type halfDisk struct{ emptyDisk }

func (halfDisk) Image() (memory.Image, error) {
	img, _ := emptyDisk{}.Image()
	for n, k := range []string{"x:good", "x:bad"} {
		g := sessions.Generation{ID: rules.Generation("20260101", int64(n+1)), FirstSeq: 1}
		img.Heads = append(img.Heads, memory.Head{
			Key: channels.MustKey(k), MessageSeq: 1,
			Conversation: &memory.ConvHead{Conversation: rows.Conversation{Messages: 1}, Generations: []sessions.Generation{g}},
		})
	}
	return img, nil
}

func (halfDisk) Content(k channels.Key, _ bool) (memory.Content, error) {
	if k == channels.MustKey("x:bad") {
		return memory.Content{}, errors.New("the disk does not read")
	}
	return memory.Content{Messages: []sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: "hi"}}}, nil
}

// An entry that fails because another conversation cannot be read has changed
// nothing, not even begun the generation that its hour asks for.
func TestAcceptThatFailsChangesNothing(t *testing.T) {
	s := memory.Open(memory.Options{}, halfDisk{})
	defer s.Close()
	k := channels.MustKey("x:good")
	before, err := s.Generations(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Accept(t.Context(), sessions.Entry{
		Inbound: channels.Inbound{Key: k, ID: "1"}, Answered: true, ResetBefore: time.Now(),
		Replies: []sessions.Reply{{Key: channels.MustKey("x:bad"), Text: "there"}},
	})
	if err == nil {
		t.Error("Accept with a reply to what cannot be read succeeds")
	}
	after, err := s.Generations(t.Context(), k)
	if err != nil || len(after) != len(before) {
		t.Errorf("%d generations, %v; want %d as before", len(after), err, len(before))
	}
}
