package erasure

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

const (
	// leavingKind is the kind of the notes of people who want to be erased. Their owner is
	// the identity that is erased, so nothing of them is left afterwards.
	leavingKind = "leaving"
	leavingName = "person" // of the note: a person leaves once
	// confirmWithin is how long a person has to confirm.
	confirmWithin = 10 * time.Minute
	// farewellWithin is how long a confirmed erasure waits until its last message is
	// delivered: somebody may have blocked us.
	farewellWithin = 10 * time.Minute
	// farewellLook is how often it looks whether that is so, and leavingLook how often it
	// looks for what another node has left behind or could not be erased.
	farewellLook = time.Second
	leavingLook  = 5 * time.Minute
	// feedLook is how many items of a feed are searched for the confirmation.
	feedLook = 100
)

const (
	sayNothingAsked = "There is nothing to confirm. /forget_me tells you what I would erase, and how to confirm it."
	sayWrongCode    = "That is another code, so I have erased nothing. /forget_me shows the right one."
	sayLeaving      = "I erase all of it now. This is the last that you hear of me; if you write again, we begin anew."
	sayKnowNothing  = "I have nothing of you that I could erase."
)

// leave is a note of somebody who wants to be erased. On disk: it only gains fields.
type leave struct {
	Chat  channels.Key `json:"chat"`
	Asked string       `json:"asked"` // the id of the message that asked
	Code  string       `json:"code"`
	Until time.Time    `json:"until"`
	// Confirmed is when it was, zero before, and Last the id of the message that did.
	Confirmed time.Time `json:"confirmed,omitzero"`
	Last      string    `json:"last,omitempty"`
}

// LeavingStore is what a [Leaving] needs of the store.
type LeavingStore interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error
	QueueOf(ctx context.Context, k channels.Key) ([]sessions.QueueItem, error)
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error)
}

// LeavingOptions configure a [Leaving]. Eraser and Store must be set.
type LeavingOptions struct {
	Eraser *Eraser
	Store  LeavingStore
	// Announce tells whoever runs Dragoman, before e is erased. The text names nobody. It
	// may be called again with the same id. Nil: nobody is told.
	Announce func(ctx context.Context, id, text string, e sessions.Erasure) error
	Log      *slog.Logger // nil: nothing is logged
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Leaving erases people who ask for it themselves. A person is told what would go and what
// stays, and confirms it with a code in the same chat. The confirmation is a note, so a
// crash changes nothing: [Leaving.Run] erases once the last message to them is delivered.
// All methods are safe for concurrent use.
type Leaving struct {
	o     LeavingOptions
	asked chan struct{} // capacity 1: somebody has confirmed
}

// NewLeaving returns a Leaving. It starts nothing.
func NewLeaving(o LeavingOptions) *Leaving {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Leaving{o: o, asked: make(chan struct{}, 1)}
}

// Ask answers m, in which the person who asks to be erased wrote code, or nothing. target is
// who they are: an identity as a key, "telegram:71". The answer to the same message is the
// same. Errors are the store's.
func (l *Leaving) Ask(ctx context.Context, target channels.Key, m channels.Inbound, code string) (said string, err error) {
	if code == "" {
		return l.propose(ctx, target, m)
	}
	err = l.change(ctx, target, func(has *leave) {
		switch {
		case has.Chat != m.Key || has.Confirmed.IsZero() && l.o.Now().After(has.Until):
			said = sayNothingAsked
		case has.Code != code:
			said = sayWrongCode
		default:
			said = sayLeaving
		}
		if said == sayLeaving && has.Confirmed.IsZero() {
			has.Confirmed = l.o.Now()
			has.Last = m.ID
		}
	})
	if err == nil && said == sayLeaving {
		select {
		case l.asked <- struct{}{}:
		default: // it looks already
		}
	}
	return said, err
}

// propose tells the author of m what would be erased.
func (l *Leaving) propose(ctx context.Context, target channels.Key, m channels.Inbound) (said string, err error) {
	p, err := l.o.Eraser.Plan(ctx, target, false)
	if err != nil {
		return "", fmt.Errorf("erasure: plan for somebody who leaves: %w", err)
	}
	if p.Empty() {
		return sayKnowNothing, nil
	}
	fresh, err := newLeavingCode()
	if err != nil {
		return "", err
	}
	err = l.change(ctx, target, func(has *leave) {
		switch {
		case !has.Confirmed.IsZero():
			said = sayLeaving
			return
		case has.Asked != m.ID || has.Chat != m.Key: // else the network repeats the message
			*has = leave{Chat: m.Key, Asked: m.ID, Code: fresh, Until: l.o.Now().Add(confirmWithin)}
		}
		said = p.toldTo(m.Key, has.Code)
	})
	return said, err
}

// newLeavingCode is four digits: they only keep somebody from erasing all by mistake.
func newLeavingCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(10_000))
	if err != nil {
		return "", fmt.Errorf("erasure: make a code: %w", err)
	}
	return fmt.Sprintf("%04d", n), nil
}

// change changes the note of target. A note that is there no longer is zero; one that stays
// zero is not written.
func (l *Leaving) change(ctx context.Context, target channels.Key, f func(*leave)) error {
	owner := target.String()
	err := l.o.Store.ChangeNotes(ctx, leavingKind, owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		var has leave
		if len(have) > 0 {
			err = json.Unmarshal(have[0].Data, &has)
			if err != nil {
				return nil, nil, err
			}
		}
		was := has
		f(&has)
		if has == was {
			return nil, nil, nil
		}
		data, err := json.Marshal(has)
		due := has.Until
		if !has.Confirmed.IsZero() {
			due = has.Confirmed
		}
		return []sessions.Note{{Kind: leavingKind, Owner: owner, Name: leavingName, Due: due, Data: data}}, nil, err
	})
	if err != nil {
		return fmt.Errorf("erasure: note of somebody who leaves: %w", err)
	}
	return nil
}

// Run erases those who have confirmed, until ctx ends. Those of a former run are first.
// Several nodes may run it: erasing twice does no harm.
func (l *Leaving) Run(ctx context.Context) {
	for {
		wait := leavingLook
		if l.eraseConfirmed(ctx) {
			wait = farewellLook
		}
		select {
		case <-ctx.Done():
			return
		case <-l.asked:
		case <-time.After(wait):
		}
	}
}

// eraseConfirmed erases those who have confirmed and were told so. more reports whether some
// wait for their last message.
func (l *Leaving) eraseConfirmed(ctx context.Context) (more bool) {
	now := l.o.Now()
	notes, err := l.o.Store.Notes(ctx, sessions.NoteFilter{Kind: leavingKind, DueBefore: now.Add(time.Nanosecond)})
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn("those who want to be erased cannot be read; trying again", "err", err)
	}
	for _, n := range notes {
		var has leave
		target, err := channels.ParseKey(n.Owner)
		if err == nil {
			err = json.Unmarshal(n.Data, &has)
		}
		if err != nil || has.Confirmed.IsZero() { // nobody confirmed it in time
			continue
		}
		told, err := l.told(ctx, has)
		switch {
		case err == nil && !told && now.Sub(has.Confirmed) < farewellWithin:
			more = true
		case ctx.Err() == nil:
			err = l.erase(ctx, target, has)
		}
		if err != nil && ctx.Err() == nil {
			l.o.Log.Error("somebody who asked for it was not erased; trying again", "err", err)
		}
	}
	return more
}

// told reports whether the last message to the person is delivered.
func (l *Leaving) told(ctx context.Context, has leave) (bool, error) {
	feed, err := l.o.Store.Feed(ctx, has.Chat, 0, feedLook)
	if err != nil {
		return false, fmt.Errorf("erasure: look for the last message: %w", err)
	}
	if !slices.ContainsFunc(feed, func(it sessions.FeedItem) bool { return it.From == "person" && it.ID == has.Last }) {
		return false, nil
	}
	items, err := l.o.Store.QueueOf(ctx, has.Chat)
	if err != nil {
		return false, fmt.Errorf("erasure: look for the last message: %w", err)
	}
	return !slices.ContainsFunc(items, func(it sessions.QueueItem) bool { return it.Lane == sessions.LaneOut }), nil
}

// erase erases what there is of target now.
func (l *Leaving) erase(ctx context.Context, target channels.Key, has leave) error {
	p, err := l.o.Eraser.Plan(ctx, target, false)
	if err != nil {
		return err
	}
	if l.o.Announce != nil {
		err = l.o.Announce(ctx, "leaving "+has.Asked+has.Code, p.toldAbout(has.Chat.Channel()), p.Erasure)
		if err != nil { // the person's wish counts more
			l.o.Log.Warn("whoever runs this is not told that somebody is erased", "err", err)
		}
	}
	p.Erasure.Owners = append(p.Erasure.Owners, target.String())
	ctx = people.With(ctx, people.Principal{ID: target.String(), Name: "/forget_me"})
	_, err = l.o.Eraser.Erase(ctx, p.Erasure)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	l.o.Log.Info("somebody who asked for it was erased", "channel", has.Chat.Channel())
	return nil
}

// size is what p has: conversations with their messages, and parts of shared ones.
func (p Plan) size() (conversations, messages, shared, parts int) {
	for _, c := range p.Conversations {
		messages += c.Messages
	}
	for _, part := range p.Shared {
		parts += part.Messages
	}
	return len(p.Conversations), messages, len(p.Shared), parts
}

// toldAbout is p for whoever runs Dragoman. It names nobody.
func (p Plan) toldAbout(channel string) string {
	conversations, messages, shared, parts := p.size()
	return fmt.Sprintf("Somebody on %s has asked me to forget them, and I erase all that I have of them: %s with %s, and %s in %s.",
		channel, number(conversations, "conversation"), number(messages, "message"), number(parts, "message"), number(shared, "shared chat"))
}

// toldTo is p for the person themself, in the chat k.
func (p Plan) toldTo(k channels.Key, code string) string {
	conversations, messages, shared, parts := p.size()
	var goes []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			goes = append(goes, "- "+fmt.Sprintf(format, args...))
		}
	}
	add(conversations, "%s with you: %s, with their files and summaries, and what is still queued", number(conversations, "conversation"), number(messages, "message"))
	add(parts, "%s of yours in %s: there they become “[erased]”", number(parts, "message"), number(shared, "shared chat"))
	add(p.Facts, "what I remember about you: %s", number(p.Facts, "thing"))
	add(p.Notes, "your reminders, settings, permissions and the like: %s", number(p.Notes, "entry"))
	add(p.Counts, "what I counted of your use")
	add(p.Pairings, "that you were let in: whoever runs me must do that again before you can write to me")
	add(len(p.Joined), "all that belongs to you elsewhere: %s", strings.Join(p.Joined, ", "))
	stays := "- my answers in chats with others, and what is remembered about those chats\n" +
		"- one line in the log of whoever runs me: that somebody was erased, without a name\n" +
		"- their backups, until these are deleted\n" +
		"- what " + k.Channel() + " and the model's provider keep"
	if len(p.Maybe) > 0 {
		stays += "\n- what somebody wrote who may be you or somebody else; whoever runs me can look"
	}
	return fmt.Sprintf("This I would erase for good:\n\n%s\n\nThis stays:\n\n%s\n\nTo do it, write here within %d minutes: /forget_me %s",
		strings.Join(goes, "\n"), stays, int(confirmWithin.Minutes()), code)
}

// number is "1 message" or "3 messages".
func number(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}
