package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Memory is what is remembered beyond any conversation. people.Memory is one.
type Memory interface {
	// Scope is whose memory is meant in k by who: in a private chat the person's, in a
	// shared one the chat's, if about is "".
	Scope(k channels.Key, who channels.Person, private bool, about string) (string, error)
	Remember(ctx context.Context, scope string, n sessions.NewFact) (sessions.Kept, error)
	// Recall lists the newest facts, if query is "".
	Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error)
	people.Corrections
}

// Bounds of the commands for the memory.
const (
	maxFactsShown = 50
	maxFactsKnown = 10_000 // that are searched for one by its number
	maxFactBytes  = 2000
	maxNearBytes  = 200
)

const (
	sayNoMemory    = "I have no memory beyond this conversation."
	sayWhatToKeep  = "Write what I should remember after the command, like /remember The bins are collected on Fridays."
	sayWhichFact   = "Write the number of what I should forget after the command, as /memory shows it: /forget 12"
	sayMemoryError = "Sorry, I could not reach my memory. Please try again later."
	sayWhichPin    = "Write the number of what I should keep in view, as /memory shows it: /memory pin 12 or /memory unpin 12"
	sayNothingGone = "There is nothing to take back: I have neither replaced nor forgotten anything here within the last 30 days."
)

// aboutMemory answers /memory, /remember, /forget and /undo, each for the memory of the chat: the
// person's if it is private.
func (g *Gateway) aboutMemory(ctx context.Context, m channels.Inbound, name string) (string, error) {
	if g.opts.Memory == nil {
		return sayNoMemory, nil
	}
	scope, err := g.opts.Memory.Scope(m.Key, m.Sender, m.Private, "")
	if err != nil {
		return "", fmt.Errorf("gateway: memory of %s: %w", m.Key, err)
	}
	set, err := g.settingsOf(ctx, m.Key)
	if err != nil {
		return "", fmt.Errorf("gateway: memory of %s: %w", m.Key, err)
	}
	own := g.ownMemory(set)
	scope = sessions.OwnScope(own, scope)
	text, err := g.changeMemory(ctx, m, name, scope)
	if err == nil && own != "" && name == "memory" {
		text = fmt.Sprintf("(%s has a memory of its own.) %s", own, text)
	}
	if err != nil && ctx.Err() == nil {
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("the memory cannot be read or changed", "command", name, "err", err)
		return sayMemoryError, nil
	}
	return text, err
}

func (g *Gateway) changeMemory(ctx context.Context, m channels.Inbound, name, scope string) (string, error) {
	words := strings.Join(strings.Fields(arguments(m.Text)), " ")
	if name == "memory" && words == "" {
		return g.listMemory(ctx, scope, m)
	}
	done, err := g.wasTaken(ctx, m)
	if done || err != nil {
		return "", err
	}
	switch name {
	case "memory":
		return g.pin(ctx, scope, words)
	case "forget":
		return g.forget(ctx, scope, words)
	case "undo":
		return g.undoMemory(ctx, scope)
	}
	return g.remember(ctx, m.Key, scope, words)
}

// takenLooksBack is how many items of the feed are searched for a command.
const takenLooksBack = 100

// wasTaken reports whether the command m was carried out and answered before: after a crash
// a network hands in again what it does not know to be taken, and /remember must not bring
// back what a later /forget has removed.
func (g *Gateway) wasTaken(ctx context.Context, m channels.Inbound) (bool, error) {
	feed, err := g.store.Feed(ctx, m.Key, 0, takenLooksBack)
	return slices.ContainsFunc(feed, func(it sessions.FeedItem) bool { return it.From == "person" && it.ID == m.ID }), err
}

func (g *Gateway) listMemory(ctx context.Context, scope string, m channels.Inbound) (string, error) {
	facts, err := g.opts.Memory.Recall(ctx, scope, "", maxFactsKnown)
	if err != nil {
		return "", err
	}
	whom := "this chat"
	if m.Private {
		whom = "you"
	}
	if len(facts) == 0 {
		return fmt.Sprintf("I remember nothing about %s yet. %s", whom, sayWhatToKeep), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This is what I remember about %s, the newest first:\n\n", whom)
	for i, f := range facts {
		if i == maxFactsShown {
			fmt.Fprintf(&b, "- and %d older ones\n", len(facts)-i)
			break
		}
		fmt.Fprintf(&b, "- #%d, %s: %s\n", f.ID, aboutFact(f)+saidOn(f, m.Key), strings.Join(strings.Fields(f.Text), " "))
	}
	fmt.Fprintf(&b, "\n/forget %d makes me forget one, /remember followed by a sentence adds one, /memory pin %d keeps one in view.", facts[0].ID, facts[0].ID)
	return b.String(), nil
}

// aboutFact is the date of a fact, whose words it is beside the person's, and whether it is
// pinned.
func aboutFact(f sessions.Fact) string {
	text := dateOfFact(f)
	var from []string
	for _, o := range f.Origins {
		from = append(from, string(o))
	}
	if len(from) > 0 {
		text += ", from " + strings.Join(from, " and ")
	}
	if f.Pinned {
		text += ", pinned"
	}
	return text
}

// saidOn is where a fact was said, if that was on another network than k's.
func saidOn(f sessions.Fact, k channels.Key) string {
	if f.From.IsZero() || f.From.Channel() == k.Channel() {
		return ""
	}
	return ", said on " + f.From.Channel()
}

func dateOfFact(f sessions.Fact) string { return f.At.Format("2 January 2006") }

// remember keeps a sentence. The store keeps the same words once.
func (g *Gateway) remember(ctx context.Context, k channels.Key, scope, words string) (string, error) {
	switch {
	case words == "":
		return sayWhatToKeep, nil
	case len(words) > maxFactBytes:
		return fmt.Sprintf("That is too long for one thing to remember (%d bytes; at most %d fit).", len(words), maxFactBytes), nil
	}
	kept, err := g.opts.Memory.Remember(ctx, scope, sessions.NewFact{Text: words, From: k})
	if errors.Is(err, sessions.ErrTooMany) {
		return fmt.Sprintf("My memory is full: of what was said here, %d things fit. /memory shows them. Forgetting some of those makes room, like /forget 12.", sessions.MostFacts(scope)), nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "I will remember it, as #%d. /forget %d takes it back.", kept.ID, kept.ID)
	for i, near := range kept.Near {
		if i == 0 {
			b.WriteString("\n\nI also remember something like it. If that is no longer true, make me forget it:\n")
		}
		fmt.Fprintf(&b, "\n- /forget %d: “%s” (%s)", near.ID, sessions.OneLine(near.Text, maxNearBytes), dateOfFact(near))
	}
	return b.String(), nil
}

// pin answers "/memory pin 12" and "/memory unpin 12".
func (g *Gateway) pin(ctx context.Context, scope, words string) (string, error) {
	what, number, _ := strings.Cut(words, " ")
	id, err := factNumber(number)
	if err != nil || what != "pin" && what != "unpin" {
		return sayWhichPin, nil //nolint:nilerr // it is told what to write
	}
	err = g.opts.Memory.PinFact(ctx, scope, id, what == "pin")
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return sayNoFact(id), nil
	case err != nil:
		return "", err
	case what == "unpin":
		return fmt.Sprintf("#%d is no longer pinned.", id), nil
	}
	return fmt.Sprintf("#%d is pinned: it comes first among what I know. /memory unpin %d takes that back.", id, id), nil
}

func factNumber(text string) (int64, error) {
	return strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
}

func sayNoFact(id int64) string {
	return fmt.Sprintf("There is no #%d here; /memory shows the numbers.", id)
}

// forget takes what has that number out of the memory, and says what it was.
func (g *Gateway) forget(ctx context.Context, scope, number string) (string, error) {
	id, err := factNumber(number)
	if err != nil {
		return sayWhichFact, nil //nolint:nilerr // it is told what to write
	}
	facts, err := g.opts.Memory.Recall(ctx, scope, "", maxFactsKnown)
	if err != nil {
		return "", err
	}
	for _, f := range facts {
		if f.ID != id {
			continue
		}
		err := g.opts.Memory.Forget(ctx, scope, id)
		if errors.Is(err, sessions.ErrNotFound) {
			break // somebody else was faster
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("I have forgotten #%d: %s\n\n/undo takes that back, for 30 days.", id, f.Text), nil
	}
	return sayNoFact(id), nil
}

// undoMemory takes back the newest replacement or forgetting, whoever made it: what is said
// in a chat belongs to all of it, and the model forgets in the name of nobody.
func (g *Gateway) undoMemory(ctx context.Context, scope string) (string, error) {
	undone, err := g.opts.Memory.UndoFacts(ctx, scope)
	if errors.Is(err, sessions.ErrNotFound) {
		return sayNothingGone, nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("I remember this again:\n\n")
	for _, f := range undone.Back {
		fmt.Fprintf(&b, "- #%d, %s: %s\n", f.ID, aboutFact(f), strings.Join(strings.Fields(f.Text), " "))
	}
	if undone.Dropped != nil {
		fmt.Fprintf(&b, "\nI have forgotten what had replaced it. To bring that back:\n\n/remember %s", undone.Dropped.Text)
	}
	return strings.TrimSpace(b.String()), nil
}
