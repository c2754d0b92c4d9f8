package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// Memory is what is remembered beyond any conversation. people.Memory is one.
type Memory interface {
	// Scope is whose memory is meant in k by who: in a private chat the person's, in a
	// shared one the chat's, if about is "".
	Scope(k channels.Key, who channels.Person, private bool, about string) (string, error)
	Remember(ctx context.Context, scope, text string, origins ...sessions.Origin) (sessions.Fact, error)
	// Recall lists the newest facts, if query is "".
	Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error)
	Forget(ctx context.Context, scope string, id int64) error
}

// Bounds of the commands for the memory.
const (
	maxFactsShown = 50
	maxFactsKnown = 10_000 // that are searched for one by its number
	maxFactBytes  = 2000
)

const (
	sayNoMemory    = "I have no memory beyond this conversation."
	sayWhatToKeep  = "Write what I should remember after the command, like /remember The bins are collected on Fridays."
	sayWhichFact   = "Write the number of what I should forget after the command, as /memory shows it: /forget 12"
	sayMemoryError = "Sorry, I could not reach my memory. Please try again later."
)

// aboutMemory answers /memory, /remember and /forget, each for the memory of the chat: the
// person's if it is private.
func (g *Gateway) aboutMemory(ctx context.Context, m channels.Inbound, name string) (string, error) {
	if g.opts.Memory == nil {
		return sayNoMemory, nil
	}
	scope, err := g.opts.Memory.Scope(m.Key, m.Sender, m.Private, "")
	if err != nil {
		return "", fmt.Errorf("gateway: memory of %s: %w", m.Key, err)
	}
	text, err := g.changeMemory(ctx, m, name, scope)
	if err != nil && ctx.Err() == nil {
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("the memory cannot be read or changed", "command", name, "err", err)
		return sayMemoryError, nil
	}
	return text, err
}

func (g *Gateway) changeMemory(ctx context.Context, m channels.Inbound, name, scope string) (string, error) {
	if name == "memory" {
		return g.listMemory(ctx, scope, m.Private)
	}
	done, err := g.wasTaken(ctx, m)
	if done || err != nil {
		return "", err
	}
	words := strings.Join(strings.Fields(arguments(m.Text)), " ")
	if name == "forget" {
		return g.forget(ctx, scope, words)
	}
	return g.remember(ctx, scope, words)
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

func (g *Gateway) listMemory(ctx context.Context, scope string, private bool) (string, error) {
	facts, err := g.opts.Memory.Recall(ctx, scope, "", maxFactsKnown)
	if err != nil {
		return "", err
	}
	whom := "this chat"
	if private {
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
		fmt.Fprintf(&b, "- #%d, %s: %s\n", f.ID, f.At.Format("2 January 2006"), strings.Join(strings.Fields(f.Text), " "))
	}
	fmt.Fprintf(&b, "\n/forget %d makes me forget one, /remember followed by a sentence adds one.", facts[0].ID)
	return b.String(), nil
}

// remember keeps a sentence. The store keeps the same words once.
func (g *Gateway) remember(ctx context.Context, scope, words string) (string, error) {
	switch {
	case words == "":
		return sayWhatToKeep, nil
	case len(words) > maxFactBytes:
		return fmt.Sprintf("That is too long for one thing to remember (%d bytes; at most %d fit).", len(words), maxFactBytes), nil
	}
	f, err := g.opts.Memory.Remember(ctx, scope, words)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("I will remember it, as #%d. /forget %d takes it back.", f.ID, f.ID), nil
}

// forget removes what has that number, and says what it was: a copy of those words brings
// it back.
func (g *Gateway) forget(ctx context.Context, scope, number string) (string, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(number, "#"), 10, 64)
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
		return fmt.Sprintf("I have forgotten #%d. To take that back:\n\n/remember %s", id, f.Text), nil
	}
	return fmt.Sprintf("There is no #%d here; /memory shows the numbers.", id), nil
}
