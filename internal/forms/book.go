// Package forms asks a person what a tool needs to know in the middle of a call: the forms of
// servers of tools, one field a message.
//
// The promise: only whoever asked for the turn answers, only with a value that fits the field,
// and each of their messages counts once, whatever crashes. What a server says is shown as its
// words. A form waits for a while and is then over; nothing waits for ever.
//
// [Asker.Ask] puts a form: a note of the chat. The caller parks the turn and sends
// [Book.Question]. [Book.Take] reads the words that people write meanwhile, and says what to
// answer them. When the turn goes on, Ask is called again and finds what became of the form.
//
//	what happens                                  then
//	the store cannot be read or written           an error: the turn, or the message, is tried again
//	the same message comes twice                  the same answer, and nothing changes
//	words that do not fit                         the field is asked again, and says what fits
//	somebody else writes                          their words are no answer
//	nobody answers in time, or nobody is there    dismissed
//	/stop and /new                                the form is closed; words are words again
//	another form waits in the chat                dismissed
//	more than three forms in a turn               dismissed
//
// The package starts no goroutine. All of it may be used concurrently.
package forms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

const (
	recordKind = "form"
	// MaxForms is how many forms a turn may put.
	MaxForms = 3
	// keptFor is how long a form is kept that is over: until its turn has read that.
	keptFor = 24 * time.Hour
)

// Store keeps the forms: an engine.Store.
type Store interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Book has the forms of all chats. Make it with [New].
type Book struct {
	store Store
	wait  time.Duration
	now   func() time.Time
}

// New returns the book that store keeps. A form waits that long; 0: ten minutes. Without now it
// is time.Now.
func New(store Store, wait time.Duration, now func() time.Time) *Book {
	if now == nil {
		now = time.Now
	}
	return &Book{store, cmp.Or(wait, 10*time.Minute), now}
}

// Turn is whose forms an [Asker] puts.
type Turn struct {
	Chat channels.Key
	// Item is the item of the queue that makes the turn due.
	Item string
	// Who may answer; nobody: every form is dismissed. Name is for others to read.
	Who     []string
	Name    string
	Private bool
}

// Asker puts the forms of one turn.
type Asker struct {
	b *Book
	t Turn
}

var _ agent.Asker = (*Asker)(nil)

// Asker returns that of a turn.
func (b *Book) Asker(t Turn) *Asker { return &Asker{b, t} }

// Ask implements [agent.Asker].
func (a *Asker) Ask(ctx context.Context, asked agent.Asked) (answer *agent.Answer, until time.Time, err error) {
	if len(a.t.Who) == 0 {
		return &agent.Answer{Action: agent.Dismissed}, time.Time{}, nil
	}
	err = a.b.on(ctx, a.t.Chat, func(all []*record) []*record {
		answer = nil
		now := a.b.now()
		forms := 0
		others := false
		for _, r := range all {
			if r.Turn == asked.Turn {
				forms++
			}
			if r.Turn == asked.Turn && r.Call == asked.Call && r.Nth == asked.Nth {
				until = r.Until
				if !r.waits(now) {
					answer = &agent.Answer{Action: cmp.Or(r.Action, agent.Dismissed), Values: r.Value}
				}
				return nil
			}
			others = others || r.waits(now)
		}
		if others || forms >= MaxForms {
			answer = &agent.Answer{Action: agent.Dismissed}
			return nil
		}
		r := &record{
			Turn: asked.Turn, Call: asked.Call, Nth: asked.Nth, Item: a.t.Item, Who: a.t.Who, Name: a.t.Name, Private: a.t.Private,
			Form: asked.Form, Asked: now, Until: now.Add(a.b.wait).Truncate(time.Second), id: idOf(asked),
		}
		until = r.Until
		return []*record{r}
	})
	return answer, until, err
}

func idOf(a agent.Asked) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", a.Turn, a.Call, a.Nth))
	return hex.EncodeToString(sum[:8])
}

// on changes the forms of a chat in one step. change may be called more than once.
func (b *Book) on(ctx context.Context, k channels.Key, change func(all []*record) (changed []*record)) error {
	err := b.store.ChangeNotes(ctx, recordKind, sessions.ChatScope(k), func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		var all []*record
		for _, n := range have {
			r := recordOf(n)
			if r == nil {
				continue
			}
			if b.now().Sub(r.Until) > keptFor {
				remove = append(remove, r.id)
				continue
			}
			all = append(all, r)
		}
		for _, r := range change(all) {
			data, err := json.Marshal(r)
			if err != nil {
				return nil, nil, fmt.Errorf("forms: encode a form: %w", err)
			}
			put = append(put, sessions.Note{Name: r.id, Data: data, Due: r.Until})
		}
		return put, remove, nil
	})
	if err != nil {
		return fmt.Errorf("forms: forms of a chat: %w", err)
	}
	return nil
}

// waiting returns the form that waits in a chat; nil: none does.
func (b *Book) waiting(ctx context.Context, k channels.Key) (*record, error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: recordKind, Owner: sessions.ChatScope(k)})
	if err != nil {
		return nil, fmt.Errorf("forms: what waits in a chat: %w", err)
	}
	for _, n := range notes {
		if r := recordOf(n); r != nil && r.waits(b.now()) {
			return r, nil
		}
	}
	return nil, nil
}

// Waiting is a form that waits for somebody.
type Waiting struct {
	Turn, Call string
	Nth        int
	// Item makes its turn due.
	Item  string
	Until time.Time
	who   []string
	text  string
}

func (r *record) waiting() *Waiting {
	return &Waiting{r.Turn, r.Call, r.Nth, r.Item, r.Until, r.Who, r.question()}
}

// Question is what asks for the field that waits, in Markdown.
func (w *Waiting) Question() string { return w.text }

// IsFor reports whether somebody with those identities answers it.
func (w *Waiting) IsFor(who []string) bool { return anyIn(who, w.who) }

func (r *record) isFor(who []string) bool { return anyIn(who, r.Who) }

func anyIn(ids, of []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(of, id) })
}

// Waiting returns the form that waits in a chat; nil: none does.
func (b *Book) Waiting(ctx context.Context, k channels.Key) (*Waiting, error) {
	r, err := b.waiting(ctx, k)
	if r == nil || err != nil {
		return nil, err
	}
	return r.waiting(), nil
}

// Take reads the words of a message as the answer to the form that waits in a chat, if who may
// give one.
func (b *Book) Take(ctx context.Context, k channels.Key, who []string, message, words string) (t Taken, err error) {
	err = b.on(ctx, k, func(all []*record) []*record {
		t = Taken{}
		now := b.now()
		for _, r := range all {
			if !r.isFor(who) {
				continue
			}
			if message != "" && r.Last == message { // the network hands it in again
				t = Taken{Is: true, Say: r.Said}
				if r.Action != "" {
					t.Due = r.Item
				}
				return nil
			}
		}
		for _, r := range all {
			if !r.waits(now) || !r.isFor(who) {
				continue
			}
			t = r.take(words, now)
			r.Last = message
			r.Said = t.Say
			return []*record{r}
		}
		return nil
	})
	return t, err
}

// Concerns returns the form that waits in a chat, nil without one, and whether somebody's
// message of that id has answered one before.
func (b *Book) Concerns(ctx context.Context, k channels.Key, who []string, message string) (w *Waiting, again bool, err error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: recordKind, Owner: sessions.ChatScope(k)})
	if err != nil {
		return nil, false, fmt.Errorf("forms: what waits in a chat: %w", err)
	}
	for _, n := range notes {
		r := recordOf(n)
		if r == nil {
			continue
		}
		again = again || message != "" && r.Last == message && r.isFor(who)
		if r.waits(b.now()) {
			w = r.waiting() // of one that is over there is no field to ask for
		}
	}
	return w, again, nil
}

// Close ends the form that waits in a chat, because its turn does not.
func (b *Book) Close(ctx context.Context, k channels.Key) error {
	return b.on(ctx, k, func(all []*record) (changed []*record) {
		for _, r := range all {
			if r.Action == "" {
				r.Action = agent.Dismissed
				changed = append(changed, r)
			}
		}
		return changed
	})
}
