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
			return e.json(erased{got, plan.Elsewhere, remembering(plan)})
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

// elsewhereText names the stores that were not looked into, in lines of their
// own, or is "".
func elsewhereText(p httpapi.Plan) string {
	if len(p.Elsewhere) == 0 {
		return ""
	}
	return "\nNot erased, because they are no part of the store in use:\n" + pathLines(p.Elsewhere) +
		"\nRemove what you do not need any more. To erase in another store as well, do so with a configuration that names it."
}

// pathLines are paths, one a line.
func pathLines(paths []string) string {
	var lines []string
	for _, path := range paths {
		lines = append(lines, "  "+oneLine(path))
	}
	return strings.Join(lines, "\n")
}

// namingText lists the facts that stay and call the person by name, each with
// the command that forgets it, in lines of their own; or it is "".
func namingText(p httpapi.Plan) string {
	var b strings.Builder
	for _, s := range p.Shared {
		for _, f := range s.Naming {
			fmt.Fprintf(&b, "\n  %s\n    dragoman sessions facts %s --forget %d", fit(oneLine(f.Text), 70), oneLine(s.Key.String()), f.ID)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nThese call the person by name, and are forgotten one by one:" + b.String()
}

// copiesText names the copies of the store that go as well, in lines of their
// own, or is "".
func copiesText(p httpapi.Plan) string {
	if len(p.Copies) == 0 {
		return ""
	}
	return "\nThese copies of the whole store, from before a new version, are removed with all that they hold:\n" + pathLines(p.Copies)
}

// unfinishedText says that an erasure was cut off, in a line of its own, or is
// "".
func unfinishedText(p httpapi.Plan) string {
	if p.Unfinished.IsZero() {
		return ""
	}
	return "An erasure that began at " + p.Unfinished.Local().Format("2006-01-02 15:04:05") + " was cut off. It is finished first.\n"
}

// planText says what will go, before it goes.
func planText(target string, p httpapi.Plan) string { return unfinishedText(p) + foundText(target, p) }

func foundText(target string, p httpapi.Plan) string {
	if p.Empty() {
		return fmt.Sprintf("No conversation, message or fact of %s was found. What may wait in queues is looked for when you erase.", oneLine(target)) + copiesText(p)
	}
	var b strings.Builder
	b.WriteString("This will erase:\n")
	for _, c := range p.Conversations {
		title := ""
		if c.Title != "" {
			title = fmt.Sprintf(" (%s)", fit(oneLine(c.Title), 30))
		}
		fmt.Fprintf(&b, "  all of %s%s: %s\n", oneLine(c.Key.String()), title, count(c.Messages, "message", "messages"))
	}
	for _, s := range p.Shared {
		fmt.Fprintf(&b, "  in %s: what the person wrote, %s\n", oneLine(s.Key.String()), count(s.Messages, "message", "messages"))
	}
	if p.Facts > 0 {
		fmt.Fprintf(&b, "  memory: %s\n", count(p.Facts, "fact", "facts"))
	}
	if p.Pairings > 0 {
		fmt.Fprintf(&b, "  %s\n", count(p.Pairings, "pairing", "pairings"))
	}
	b.WriteString("Summaries that tell of it, queues, files, what the channel keeps of its own, and the search index go with it.")
	if keys := remembering(p); len(keys) > 0 {
		fmt.Fprintf(&b, "\nThe memory of %s stays, and may tell of the person: dragoman sessions facts %s lists it, or erase that chat too: dragoman sessions erase %[2]s",
			strings.Join(keys, ", "), keys[0])
		b.WriteString(namingText(p))
	}
	b.WriteString(copiesText(p))
	return b.String()
}
