package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

type sessionsCmd struct {
	List        sessionsListCmd        `cmd:"" default:"withargs" help:"List conversations, the most recent first."`
	Show        sessionsShowCmd        `cmd:"" help:"Show what was said in a conversation."`
	Search      sessionsSearchCmd      `cmd:"" help:"Find messages by words."`
	Stats       sessionsStatsCmd       `cmd:"" help:"Count the last days, and the conversations that took the most tokens."`
	Tag         sessionsTagCmd         `cmd:"" help:"Give a conversation tags, or take them away."`
	Set         sessionsSetCmd         `cmd:"" help:"Give a conversation a model, a system prompt or metadata of its own."`
	Unset       sessionsUnsetCmd       `cmd:"" help:"Take a conversation's own settings back."`
	Generations sessionsGenerationsCmd `cmd:"" help:"List what /new has divided a conversation into."`
	Join        sessionsJoinCmd        `cmd:"" help:"Make one conversation of two of the same channel."`
	Erase       sessionsEraseCmd       `cmd:"" help:"Forget a conversation or a person for good."`
	Facts       sessionsFactsCmd       `cmd:"" help:"List what is remembered of a chat or a person, or forget some of it."`
	Rename      sessionsRenameCmd      `cmd:"" help:"Give a conversation a title."`
	Delete      sessionsDeleteCmd      `cmd:"" help:"Delete a conversation's transcript for good."`
	Export      sessionsExportCmd      `cmd:"" help:"Write conversations out, as JSON, JSON lines or Markdown."`
	Import      sessionsImportCmd      `cmd:"" help:"Take conversations in from files of other programs, or of Dragoman."`
	Migrate     sessionsMigrateCmd     `cmd:"" help:"Copy the whole store into one of another kind, and compare them."`
}

// pageSize is how much is asked for at once.
const pageSize = 100

type sessionsShowCmd struct {
	keyArg
	Last int `default:"50" help:"Only the newest messages (${default}); 0 shows all."`
	jsonFlag
}

func (k *sessionsShowCmd) Run(e *env, c *cli) error {
	key, err := parseKey(k.Key)
	if err != nil {
		return err
	}
	if k.Last < 0 {
		return &usageError{"--last wants 0 or more"}
	}
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		now, err := a.Running(ctx, key) // first: what is committed after that is in the transcript
		if err != nil {
			return err
		}
		head, err := a.Conversation(ctx, key)
		if errors.Is(err, sessions.ErrNotFound) && now.Turn != "" { // its very first turn
			head, err = sessions.Conversation{Key: key}, nil
		}
		if errors.Is(err, sessions.ErrNotFound) {
			return noConversation(key)
		}
		if err != nil {
			return err
		}
		kept, total := []sessions.Message{}, 0
		err = eachMessage(ctx, a, key, func(m sessions.Message) error {
			kept, total = append(kept, m), total+1
			if m.Turn != "" && m.Turn == now.Turn {
				now = httpapi.Running{}
			}
			if k.Last > 0 && len(kept) > 2*k.Last { // keep memory small without copying each time
				kept = append(kept[:0], kept[len(kept)-k.Last:]...)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if k.Last > 0 && len(kept) > k.Last {
			kept = kept[len(kept)-k.Last:]
		}
		if k.JSON {
			return e.json(withRunning(kept, now))
		}
		e.say("%s", headText(head, now.Turn != ""))
		if earlier := total - len(kept); earlier > 0 {
			e.say("(%s before; --last 0 shows all)\n", count(earlier, "message", "messages"))
		}
		for _, m := range kept {
			e.say("%s", messageText(m))
		}
		if now.Turn != "" {
			e.say("In progress: these steps of an answer are safe, and not part of the transcript yet.\n")
		}
		for _, m := range now.Messages {
			e.say("%s", messageText(m))
		}
		return nil
	})
}

// shownMessage is a message as show prints it in JSON.
type shownMessage struct {
	sessions.Message
	// InProgress says that its turn is not finished: it has no seq yet.
	InProgress bool `json:"in_progress,omitempty"`
}

func withRunning(done []sessions.Message, now httpapi.Running) []shownMessage {
	all := make([]shownMessage, 0, len(done)+len(now.Messages))
	for _, m := range done {
		all = append(all, shownMessage{m, false})
	}
	for _, m := range now.Messages {
		all = append(all, shownMessage{m, true})
	}
	return all
}

// eachMessage walks through a transcript, page by page.
func eachMessage(ctx context.Context, a *httpapi.Client, key channels.Key, f func(sessions.Message) error) error {
	after := int64(0)
	for {
		page, err := a.Messages(ctx, key, after, pageSize)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
		for _, m := range page {
			if err := f(m); err != nil {
				return err
			}
			after = m.Seq
		}
		if len(page) == 0 {
			return nil
		}
	}
}

// headText is what stands above a transcript: what the conversation is called
// and what was chosen for it. A turn that runs has words already.
func headText(c sessions.Conversation, running bool) string {
	var b strings.Builder
	b.WriteString(oneLine(c.Key.String()))
	if c.Title != "" {
		fmt.Fprintf(&b, "  “%s”", oneLine(c.Title))
	}
	b.WriteString("\n")
	if c.Generation != "" {
		fmt.Fprintf(&b, "  %-8s %s\n", "since", c.Generation)
	}
	b.WriteString(settingsLines(c.Settings, 0))
	if c.Messages == 0 && !running {
		b.WriteString("\nNothing was said yet.\n")
	}
	return b.String()
}

func noConversation(key channels.Key) error {
	return fmt.Errorf("there is no conversation %s; dragoman sessions list shows all", key)
}

// parseKey explains a key that is none.
func parseKey(s string) (channels.Key, error) {
	key, err := channels.ParseKey(s)
	if err != nil {
		return key, &usageError{fmt.Sprintf("%q is no conversation: write its key, like telegram:123456 (see dragoman sessions list)", oneLine(s))}
	}
	return key, nil
}

// speaker says who wrote m.
func speaker(m sessions.Message) string {
	switch {
	case m.Role == sessions.RoleTool:
		return "tool " + m.Name
	case m.Role == sessions.RoleAssistant:
		return "dragoman"
	case m.Name != "":
		return m.Name
	case m.Sender != "":
		return m.Sender
	}
	return "person"
}

func messageText(m sessions.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", m.At.Local().Format("2006-01-02 15:04"), oneLine(speaker(m)))
	if m.Synthetic {
		b.WriteString(" (note)")
	}
	b.WriteString("\n")
	for _, call := range m.ToolCalls {
		fmt.Fprintf(&b, "    → %s %s\n", oneLine(call.Name), oneLine(call.Arguments))
	}
	for line := range strings.Lines(withoutSpeaker(m)) {
		b.WriteString("    " + printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// withoutSpeaker is what m says without the name that groups put before it for
// the model: it stands above already.
func withoutSpeaker(m sessions.Message) string {
	if m.Role != sessions.RoleUser || m.Name == "" {
		return m.Content
	}
	return strings.TrimPrefix(m.Content, m.Name+": ")
}

type sessionsRenameCmd struct {
	keyArg
	Title []string `arg:"" help:"The new title; an empty one takes it away."`
}

func (k *sessionsRenameCmd) Run(e *env, c *cli) error {
	key, err := parseKey(k.Key)
	if err != nil {
		return err
	}
	title := strings.Join(k.Title, " ")
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		err := a.Rename(ctx, key, title)
		if errors.Is(err, sessions.ErrNotFound) {
			return noConversation(key)
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(title) == "" {
			e.say("%s has no title any more.", key)
			return nil
		}
		e.say("%s is now called %s.", key, oneLine(title))
		return nil
	})
}

type sessionsDeleteCmd struct {
	keyArg
	Yes bool `short:"y" help:"Do not ask."`
}

func (k *sessionsDeleteCmd) Run(e *env, c *cli) error {
	key, err := parseKey(k.Key)
	if err != nil {
		return err
	}
	if err := e.confirm(k.Yes, fmt.Sprintf("Delete all that was said in %s, for good?", key)); err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		err := a.Delete(ctx, key)
		if errors.Is(err, sessions.ErrNotFound) {
			return noConversation(key)
		}
		if err != nil {
			return err
		}
		e.say("%s was deleted.", key)
		return nil
	})
}

// confirm asks before something that cannot be undone.
func (e *env) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !e.interactive {
		return &usageError{"this cannot be undone and nobody can be asked here; add --yes"}
	}
	_, _ = fmt.Fprintf(e.out, "%s [y/N] ", question)
	answer, err := bufio.NewReader(e.in).ReadString('\n')
	if err != nil && answer == "" {
		return errors.New("no answer; nothing was done")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}
