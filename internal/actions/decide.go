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

// Answer is what somebody says to a question.
type Answer string

// The answers.
const (
	AllowOnce   Answer = "allow"
	AllowAlways Answer = "always"
	Deny        Answer = "deny"
)

// maxWrong is how many wrong codes close the questions of a chat.
const maxWrong = 5

// Ref says which question is meant.
type Ref struct {
	// Chat is where it is answered; zero: by its id from anywhere.
	Chat channels.Key
	// Text is its code or its id.
	Text string
	// Private: Chat has one person. There they may answer what was asked in other chats of
	// the same channel.
	Private bool
}

// Result says what an answer did.
type Result int

// The results.
const (
	NoSuch       Result = iota // there is no such question; nothing has changed
	NotYours                   // somebody else decides; nothing has changed
	NotAlways                  // it can only be allowed once; nothing has changed
	Decided                    // it is answered now
	Before                     // it was over before; nothing has changed
	TooManyWrong               // one wrong code too many: the questions of the chat are closed
)

// Outcome is what became of an answer.
type Outcome struct {
	Result Result
	// Question is the one that is meant; zero with NoSuch and TooManyWrong.
	Question Question
	// Waiting are the codes that the person may answer, with NoSuch.
	Waiting []string
	// Due are the items of the queue whose turns can go on.
	Due []string
}

// Decide answers a question in the name of who. Errors are the store's.
func (b *Book) Decide(ctx context.Context, who Who, ref Ref, a Answer) (Outcome, error) {
	if IsCode(ref.Text) {
		ref.Text = strings.ToUpper(ref.Text)
	}
	chat, err := b.locate(ctx, who, ref)
	if err != nil || chat.IsZero() {
		return Outcome{}, err
	}
	var o Outcome
	var told []*record
	err = b.on(ctx, chat, func(p *page) error {
		o, told = p.decide(who, ref.Text, a)
		return nil
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("actions: answer a question: %w", err)
	}
	b.place(ctx, &o.Question, map[string]*time.Location{})
	for _, r := range told {
		b.tell(r)
	}
	// Also if it was decided before: then a crash may have come in between.
	if o.Question.Always && o.Question.standing != "" && a == AllowAlways && who.MayDecide(o.Question) {
		err = b.stand(ctx, o.Question)
	}
	return o, err
}

// locate returns the chat whose question is meant; zero if there is none. A code that
// nobody has is looked for in ref.Chat.
func (b *Book) locate(ctx context.Context, who Who, ref Ref) (channels.Key, error) {
	is := func(r *record) bool { return r.id == ref.Text || r.Code == ref.Text && IsCode(ref.Text) }
	f := sessions.NoteFilter{Kind: recordKind}
	switch {
	case ref.Chat.IsZero():
		f.Name = ref.Text
	case ref.Private: // the few that wait anywhere
		f.DueBefore = b.o.Now().Add(1000 * time.Hour)
	default:
		return ref.Chat, nil
	}
	notes, err := b.store.Notes(ctx, f)
	if err != nil {
		return channels.Key{}, fmt.Errorf("actions: look for a question: %w", err)
	}
	found := ref.Chat
	for _, n := range notes {
		r := recordOf(n)
		switch {
		case r == nil || !is(r):
		case r.Chat == ref.Chat:
			return r.Chat, nil
		case ref.Chat.IsZero() || r.Chat.Channel() == ref.Chat.Channel() && who.mayDecide(r):
			found = r.Chat
		}
	}
	return found, nil
}

// Hears reports whether words of who with a code are an answer: to a question of which
// they may decide, or a wrong code while one waits in that chat. Other people's words are
// no codes.
func (b *Book) Hears(ctx context.Context, who Who, ref Ref) (bool, error) {
	ref.Text = strings.ToUpper(ref.Text)
	chat, err := b.locate(ctx, who, ref)
	if err != nil || chat.IsZero() {
		return false, err
	}
	list, err := b.List(ctx, chat)
	return slices.ContainsFunc(list, func(q Question) bool {
		return who.MayDecide(q) && (q.Code == ref.Text || q.State == Pending && IsCode(ref.Text))
	}), err
}

// decide is Decide on the records of one chat. It returns those that it has changed.
func (p *page) decide(who Who, ref string, a Answer) (o Outcome, changed []*record) {
	r := p.byID(ref)
	if r == nil {
		r = p.byCode(ref)
	}
	if r == nil {
		return p.wrong(who, IsCode(ref))
	}
	o.Question = p.question(r)
	switch {
	case !who.mayDecide(r):
		return Outcome{Result: NotYours, Question: o.Question}, nil
	case !p.pending(r):
		o.Result = Before
		if r.State == Pending { // its time is over
			p.end(r, Expired)
			changed = append(changed, r)
		}
	case a == AllowAlways && r.Standing == "":
		o.Result = NotAlways
		return o, nil
	default:
		o.Result = Decided
		r.By = who.identity()
		if who.Operator && r.By == "" {
			r.By = "operator"
		}
		r.ByName = who.Name
		r.Always = a == AllowAlways
		state := Allowed
		if a == Deny {
			state = Denied
		}
		p.end(r, state)
		changed = append(changed, r)
	}
	o.Question = p.question(r)
	if !r.Settled {
		o.Due = []string{r.Item}
	}
	return o, changed
}

// wrong counts a code that no question has, if who may decide one that waits. Other
// people's words are no codes.
func (p *page) wrong(who Who, isCode bool) (o Outcome, changed []*record) {
	worst := 0
	for _, r := range p.waiting() {
		if !who.mayDecide(r) {
			continue
		}
		o.Waiting = append(o.Waiting, r.Code)
		if isCode {
			r.Wrong++
			p.put(r)
		}
		worst = max(worst, r.Wrong)
	}
	if worst < maxWrong {
		return o, nil
	}
	for _, r := range p.waiting() {
		p.end(r, Closed)
		o.Due = append(o.Due, r.Item)
		changed = append(changed, r)
	}
	o.Result = TooManyWrong
	o.Waiting = nil
	return o, changed
}

// Close closes the questions of a chat whose turns wait no longer: /stop and /new end
// them. waits has the items of the queue that do.
func (b *Book) Close(ctx context.Context, chat channels.Key, waits map[string]bool) error {
	list, err := b.List(ctx, chat)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(q Question) bool { return !q.Settled }) {
		return nil
	}
	var told []*record
	err = b.on(ctx, chat, func(p *page) error {
		told = nil
		for _, r := range p.all {
			switch {
			case r.Settled || waits[r.Item]:
				continue
			case r.State == Pending:
				p.end(r, Closed)
				told = append(told, r)
			}
			p.settle(r)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("actions: close questions: %w", err)
	}
	for _, r := range told {
		b.tell(r)
	}
	return nil
}

// Shown notes which message of the network shows a question.
func (b *Book) Shown(ctx context.Context, chat channels.Key, id, message string) error {
	var shown *record
	err := b.on(ctx, chat, func(p *page) error {
		shown = nil
		r := p.byID(id)
		if r != nil && r.Message != message {
			r.Message = message
			p.put(r)
			shown = r
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("actions: note where a question is shown: %w", err)
	}
	if shown != nil {
		b.o.Log.Info("an approval is shown", "key", chat.String(), "approval", id, "msg_id", message)
		b.o.Tell(Event{State: Shown, Chat: chat, ID: id, Turn: shown.Turn, Tool: shown.Tool})
	}
	return nil
}
