package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// sessionsEraseCmd is "dragoman sessions erase": it removes everything of a person
// or a conversation, and shows first what that is.
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
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		plan, err := api.PlanErase.Call(ctx, a, api.Target{Name: k.Target, OnlyConversation: k.Conversation})
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
		got, err := api.Erase.Call(ctx, a, plan.Erasure)
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
		if got.Notes+got.Counts > 0 {
			e.say("Also erased: %s.", ownedText(got.Notes, got.Counts))
		}
		if len(plan.Names) > 0 {
			e.say("Also removed, because only the name was left: %s.", keyLine(plan.Names))
		}
		for _, left := range got.Left {
			e.say("%s", left)
		}
		return nil
	})
}

// ownedText counts what subjects kept of a person or chat.
func ownedText(notes, sums int) string {
	return fmt.Sprintf("%s (tokens, reminders and the like) and %s", count(notes, "open record", "open records"), count(sums, "count of a day", "counts of days"))
}

// erased is the JSON output of sessions erase.
type erased struct {
	api.Erased
	// Names are keys of which only the name was left.
	Names []channels.Key `json:"names,omitempty"`
	// NotErased are stores that are not in use.
	NotErased []string `json:"not_erased,omitempty"`
	// MayRemain are shared chats whose memory is kept.
	MayRemain []string `json:"may_remain,omitempty"`
	// MaybeTheirs are people who may be the same person, as targets of an erasure.
	MaybeTheirs []string `json:"maybe_theirs,omitempty"`
}

func namesakes(p api.ErasePlan) (people []string) {
	for _, m := range p.Maybe {
		people = append(people, m.Person)
	}
	return people
}

// remembering lists the shared chats whose memory is kept and may mention the
// person.
func remembering(p api.ErasePlan) (keys []string) {
	for _, s := range p.Shared {
		if s.Facts > 0 {
			keys = append(keys, oneLine(s.Key.String()))
		}
	}
	return keys
}

func (e *env) planText(target string, p api.ErasePlan) string {
	return unfinishedText(p) + e.foundText(target, p) + elsewhereText(p)
}

func (e *env) foundText(target string, p api.ErasePlan) string {
	if p.Empty() {
		found := fmt.Sprintf("Nothing of %s was found.", oneLine(target))
		if len(p.Names) > 0 {
			found = fmt.Sprintf("Only the name of %s is left; it will be removed too.", keyLine(p.Names))
		}
		return found + " Messages that were set aside are searched when you erase." + e.keptText(p) + e.maybeText(p)
	}
	var b strings.Builder
	b.WriteString("This will erase:\n")
	if len(p.Joined) > 0 {
		fmt.Fprintf(&b, "  the same person also as %s, because these were joined (%s shows who)\n", oneLine(strings.Join(p.Joined, ", ")), e.command("people list"))
	}
	for _, c := range p.Conversations {
		title := ""
		if c.Title != "" {
			title = fmt.Sprintf(" (%s)", fit(oneLine(c.Title), 30))
		}
		fmt.Fprintf(&b, "  all of %s%s: %s\n", oneLine(c.Key.String()), title, count(c.MessageCount, "message", "messages"))
	}
	for _, s := range p.Shared {
		fmt.Fprintf(&b, "  in %s: what the person wrote, %s\n", oneLine(s.Key.String()), count(s.Messages, "message", "messages"))
	}
	if p.Facts > 0 {
		fmt.Fprintf(&b, "  memory: %s\n", count(p.Facts, "fact", "facts"))
	}
	if p.Queued > 0 {
		fmt.Fprintf(&b, "  queues: %s, done ones included\n", count(p.Queued, "entry", "entries"))
	}
	if p.Pairings > 0 {
		fmt.Fprintf(&b, "  %s\n", count(p.Pairings, "pairing", "pairings"))
	}
	if p.Notes+p.Counts > 0 {
		fmt.Fprintf(&b, "  %s\n", ownedText(p.Notes, p.Counts))
	}
	b.WriteString("This includes summaries that mention it, queues, files, the channel's own records and the search index.")
	b.WriteString("\nFiles in the workspace are not touched. The model may have written notes about the person there; look for them and delete them.")
	b.WriteString(e.keptText(p))
	b.WriteString(e.memoriesText(p))
	b.WriteString(e.maybeText(p))
	return b.String()
}

func keyLine(keys []channels.Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, oneLine(k.String()))
	}
	return strings.Join(all, ", ")
}

// elsewhereText names the stores that the erasure does not touch, or returns "".
func elsewhereText(p api.ErasePlan) string {
	if len(p.Elsewhere) == 0 {
		return ""
	}
	return "\nThese are not erased, because they are not the store in use:\n" + pathLines(p.Elsewhere) +
		"\nRemove those that you no longer need. To erase from another store too, use a configuration that names it."
}

func pathLines(paths []string) string {
	var lines []string
	for _, path := range paths {
		lines = append(lines, "  "+oneLine(path))
	}
	return strings.Join(lines, "\n")
}

// keptText says what is kept and may mention the person, or returns "".
func (e *env) keptText(p api.ErasePlan) string {
	if len(p.Erasure.Senders) == 0 {
		return ""
	}
	return fmt.Sprintf("\nWhat others wrote, titles, and other memories and summaries are kept. %s NAME and %s KEY find what still mentions the person.",
		e.command("sessions search"), e.command("sessions facts"))
}

// memoriesText names the kept memories of shared chats, each with its commands, or
// returns "".
func (e *env) memoriesText(p api.ErasePlan) string {
	var b strings.Builder
	for _, key := range remembering(p) {
		fmt.Fprintf(&b, "\nThe memory of %s is kept and may mention the person. %s lists it; to erase that chat too: %s", oneLine(key), e.command("sessions facts", key), e.command("sessions erase", key))
	}
	return b.String()
}

// maybeText lists people who may be the same person, each with the command that
// erases them, or returns "".
func (e *env) maybeText(p api.ErasePlan) string {
	if len(p.Maybe) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nThese may be the same person, but Dragoman cannot tell, so they are kept. Look at them, and erase those that are:")
	for _, m := range p.Maybe {
		where := ""
		if len(m.Chats) > 0 {
			where = ", in " + keyLine(m.Chats)
		}
		fmt.Fprintf(&b, "\n  %s%s\n    %s", oneLine(m.Person), where, e.command("sessions erase", m.Person))
	}
	return b.String()
}

// unfinishedText says that an earlier erasure was interrupted, or returns "".
func unfinishedText(p api.ErasePlan) string {
	if p.Unfinished.IsZero() {
		return ""
	}
	return "An erasure that began at " + p.Unfinished.Local().Format("2006-01-02 15:04:05") + " was interrupted. It will be finished first.\n"
}
