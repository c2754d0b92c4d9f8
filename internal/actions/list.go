package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Question is a record as others see it.
type Question struct {
	ID, Code string
	State    State
	Chat     channels.Key
	Turn     string
	// Call is the id of the call in its turn.
	Call string
	Tool string
	// Shown are its arguments, perhaps cut, and Length how long all of them are, in
	// characters.
	Shown  string
	Length int
	// Parts are the arguments one by one, what decides most first; nil if Shown is in words.
	Parts   []Part
	Files   []File
	Origins []string
	// Why says why it is asked about.
	Why string
	// Requester is the identity that it is done for, and Deciders are those that may answer.
	Requester string
	Deciders  []string
	Asked     time.Time
	Until     time.Time
	Decided   time.Time // zero: it is not
	By        string    // the identity that decided
	ByName    string
	// MayAlways: it can be allowed for the future, too. Always: it was.
	MayAlways, Always bool
	// Runs: it runs a program.
	Runs bool
	// Plain: Shown is in words, in place of the arguments.
	Plain bool
	// Settled: its turn has read how it ended.
	Settled bool
	// Message is the network's id of the message that shows it, "" if that is not known.
	Message string

	standing string
	private  bool
	zone     *time.Location // of times that people read; nil: the machine's
}

// question is r for others. What is pending and late is expired for them.
func (p *page) question(r *record) Question {
	q := Question{
		ID: r.id, Code: r.Code, State: r.State, Chat: r.Chat, Turn: r.Turn, Call: r.Call, Tool: r.Tool, Shown: r.Shown, Length: r.Length,
		Files: r.Files, Origins: r.Origins, Why: r.Why, Requester: r.Requester, Deciders: r.Deciders, Asked: r.Asked, Until: r.Until,
		Decided: r.Decided, By: r.By, ByName: r.ByName, MayAlways: r.Standing != "", Always: r.Always, Message: r.Message, standing: r.Standing,
		private: r.Private, Runs: r.Runs, Plain: r.Plain, Settled: r.Settled,
	}
	if !q.Plain {
		q.Parts = r.Parts
	}
	if !q.Plain && q.Parts == nil {
		q.Parts = partsOf(r.Shown)
	}
	if q.State == Pending && !p.pending(r) {
		q.State = Expired
		q.Decided = r.Until
	}
	return q
}

// MayDecide reports whether w may answer q.
func (w Who) MayDecide(q Question) bool { return w.mayDecide(&record{Deciders: q.Deciders}) }

// chatOf is the chat that owns a note, zero if none does.
func chatOf(owner string) channels.Key {
	scope := strings.TrimPrefix(owner, "chat:")
	k, err := channels.ParseKey(scope)
	if err != nil || sessions.ChatScope(k) != owner {
		return channels.Key{}
	}
	return k
}

// List returns the questions of a chat, the newest first; of all chats if it is zero.
func (b *Book) List(ctx context.Context, chat channels.Key) ([]Question, error) {
	f := sessions.NoteFilter{Kind: recordKind}
	if !chat.IsZero() {
		f.Owner = sessions.ChatScope(chat)
	}
	return b.read(ctx, f)
}

// Questions returns those of a turn that wait for an answer, the oldest first.
func (b *Book) Questions(ctx context.Context, chat channels.Key, turn string) ([]Question, error) {
	list, err := b.List(ctx, chat)
	slices.Reverse(list)
	return slices.DeleteFunc(list, func(q Question) bool { return q.Turn != turn || q.State != Pending }), err
}

// Find returns the question with an id, of any chat; false if there is none.
func (b *Book) Find(ctx context.Context, id string) (Question, bool, error) {
	list, err := b.read(ctx, sessions.NoteFilter{Kind: recordKind, Name: id})
	if err != nil || len(list) == 0 {
		return Question{}, false, err
	}
	return list[0], true, nil
}

// Show returns one question by its code or id; false if there is none.
func (b *Book) Show(ctx context.Context, chat channels.Key, ref string) (Question, bool, error) {
	list, err := b.List(ctx, chat)
	for _, q := range list {
		if q.ID == ref || q.Code == strings.ToUpper(ref) {
			return q, true, err
		}
	}
	return Question{}, false, err
}

// ShownBy returns the question that a message of the network shows; false if it shows
// none.
func (b *Book) ShownBy(ctx context.Context, chat channels.Key, message string) (Question, bool, error) {
	list, err := b.List(ctx, chat)
	for _, q := range list {
		if q.Message == message && message != "" {
			return q, true, err
		}
	}
	return Question{}, false, err
}

func (b *Book) read(ctx context.Context, f sessions.NoteFilter) (list []Question, err error) {
	notes, err := b.store.Notes(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("actions: list questions: %w", err)
	}
	p := &page{now: b.o.Now()}
	for _, n := range notes {
		r := recordOf(n)
		if r != nil {
			p.all = append(p.all, r)
		}
	}
	p.sort()
	zones := map[string]*time.Location{}
	for _, r := range slices.Backward(p.all) {
		q := p.question(r)
		b.place(ctx, &q, zones)
		list = append(list, q)
	}
	return list, nil
}

// place gives q the zone of its times: in a private chat that of the person, as far as it is
// known. known are those that were looked up before.
func (b *Book) place(ctx context.Context, q *Question, known map[string]*time.Location) {
	q.zone = b.o.Zone
	if !q.private {
		return
	}
	zone, looked := known[q.Requester]
	if !looked {
		zone = b.o.ZoneOf(ctx, q.Requester)
		known[q.Requester] = zone
	}
	q.zone = zone
}
