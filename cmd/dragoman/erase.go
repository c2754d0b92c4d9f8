package main

import (
	"context"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

type sessionsEraseCmd struct {
	Target       string `arg:"" help:"A conversation's key, a person like telegram:123456, or the name of a paired person."`
	Conversation bool   `help:"Erase only that conversation. What the person wrote elsewhere is kept."`
	Yes          bool   `short:"y" help:"Do not ask."`
	jsonFlag
}

func (*sessionsEraseCmd) Help() string {
	return `The key of a private chat means the person in it, everywhere on that channel: what they wrote in shared chats, their facts and their pairings are erased too. ` +
		`With --conversation only that chat is erased. The key of a shared chat means that chat alone.

These are kept: what the model and other people said in shared chats, the memory of those chats, titles, summaries of what others wrote, files that the model wrote into the workspace, backups, exports, and what the model's provider and people's phones keep. ` +
		`Before it asks, the command shows what it will erase. "sessions search NAME" and "sessions facts KEY" find what still mentions the person.`
}

func (k *sessionsEraseCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		plan, err := httpapi.PlanErase.Call(ctx, a, httpapi.Target{Name: k.Target, OnlyConversation: k.Conversation})
		if err != nil {
			return err
		}
		if !k.JSON {
			e.say("%s", e.planText(k.Target, plan))
		}
		// An empty plan is carried out too: there may be unanswered messages and old
		// facts.
		if err := e.confirm(k.Yes, "Erase this for good? It cannot be undone."); err != nil {
			return err
		}
		got, err := httpapi.Erase.Call(ctx, a, plan.Erasure)
		if errors.Is(err, sessions.ErrNotFound) {
			return &usageError{fmt.Sprintf("Dragoman has nothing of %s; %s shows all conversations", oneLine(k.Target), e.command("sessions list"))}
		}
		if err != nil {
			return err
		}
		if k.JSON {
			return e.json(erased{got, plan.Names, plan.Elsewhere, remembering(plan), namesakes(plan)})
		}
		e.say(
			"Erased: %s, %s, %s, %s, %s, %s, %s.", count(got.Conversations, "conversation", "conversations"),
			count(got.Messages, "message", "messages"), count(got.Queued, "queue entry", "queue entries"),
			count(got.Facts, "fact", "facts"), count(got.Pairings, "pairing", "pairings"), count(len(got.Files), "file", "files"),
			count(got.Noted, "note of a channel", "notes of channels"),
		)
		if len(plan.Names) > 0 {
			e.say("Also removed, because only the name was left: %s.", keyLine(plan.Names))
		}
		for _, left := range got.Left {
			e.say("%s", left)
		}
		return nil
	})
}

// erased is the JSON output of sessions erase.
type erased struct {
	sessions.Erased
	// Names are keys of which only the name was left.
	Names []channels.Key `json:"names,omitempty"`
	// NotErased are stores that are not in use.
	NotErased []string `json:"not_erased,omitempty"`
	// MayRemain are shared chats whose memory is kept.
	MayRemain []string `json:"may_remain,omitempty"`
	// MaybeTheirs are people who may be the same person, as targets of an erasure.
	MaybeTheirs []string `json:"maybe_theirs,omitempty"`
}

func namesakes(p erasure.Plan) (people []string) {
	for _, m := range p.Maybe {
		people = append(people, m.Person)
	}
	return people
}

// remembering lists the shared chats whose memory is kept and may mention the
// person.
func remembering(p erasure.Plan) (keys []string) {
	for _, s := range p.Shared {
		if s.Facts > 0 {
			keys = append(keys, oneLine(s.Key.String()))
		}
	}
	return keys
}
