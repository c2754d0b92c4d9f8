package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

type sessionsEraseCmd struct {
	Target       string `arg:"" help:"A conversation's key, a person like telegram:123456, or the name of somebody who was paired."`
	Conversation bool   `help:"Only the conversation of that key, not the person of that id."`
	Yes          bool   `short:"y" help:"Do not ask."`
	jsonFlag
}

func (k *sessionsEraseCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		plan, err := a.PlanErase(ctx, k.Target, k.Conversation)
		if err != nil {
			return err
		}
		if !k.JSON {
			e.say("%s", planText(k.Target, plan))
		}
		// Even what seems empty is erased: messages may wait that were never
		// answered, and facts of long ago.
		if err := e.confirm(k.Yes, "Erase this for good? Nothing brings it back."); err != nil {
			return err
		}
		got, err := a.Erase(ctx, plan.Erasure)
		if errors.Is(err, sessions.ErrNotFound) {
			return &usageError{fmt.Sprintf("nothing is known of %s; dragoman sessions list shows all conversations", oneLine(k.Target)) + elsewhereText(plan)}
		}
		if err != nil {
			return err
		}
		if k.JSON {
			return e.json(erased{got, plan.Elsewhere, remembering(plan), namesakes(plan)})
		}
		e.say(
			"Erased: %s, %s, %s, %s, %s, %s, %s.", count(got.Conversations, "conversation", "conversations"),
			count(got.Messages, "message", "messages"), count(got.Queued, "queue entry", "queue entries"),
			count(got.Facts, "fact", "facts"), count(got.Pairings, "pairing", "pairings"), count(len(got.Files), "file", "files"),
			count(got.Noted, "note of a channel", "notes of channels"),
		)
		if len(got.Copies) > 0 {
			e.say("Removed, because they are copies of the whole store:\n%s", pathLines(got.Copies))
		}
		if text := elsewhereText(plan); text != "" {
			e.say("%s", strings.TrimPrefix(text, "\n"))
		}
		return nil
	})
}

// erased is what an erasure took away, and where it did not look.
type erased struct {
	sessions.Erased
	NotErased []string `json:"not_erased,omitempty"`
	// MayRemain are shared chats whose memory stays.
	MayRemain []string `json:"may_remain,omitempty"`
	// MaybeTheirs are people, as an erasure takes them, who may be the same.
	MaybeTheirs []string `json:"maybe_theirs,omitempty"`
}

func namesakes(p httpapi.Plan) (people []string) {
	for _, m := range p.Maybe {
		people = append(people, m.Person)
	}
	return people
}

// remembering lists the shared chats in whose memory something may remain.
func remembering(p httpapi.Plan) (keys []string) {
	for _, s := range p.Shared {
		if s.Facts > 0 {
			keys = append(keys, oneLine(s.Key.String()))
		}
	}
	return keys
}
