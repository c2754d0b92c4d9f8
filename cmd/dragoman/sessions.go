package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// sessionsCmd is "dragoman sessions": everything that concerns stored
// conversations.
type sessionsCmd struct {
	List        sessionsListCmd        `cmd:"" default:"withargs" help:"List conversations, the most recent first."`
	Show        sessionsShowCmd        `cmd:"" help:"Show the messages of a conversation."`
	Search      sessionsSearchCmd      `cmd:"" help:"Find messages by words."`
	Stats       sessionsStatsCmd       `cmd:"" help:"Show the last days and the conversations with the most tokens."`
	Tag         sessionsTagCmd         `cmd:"" help:"Add or remove a conversation's tags."`
	Set         sessionsSetCmd         `cmd:"" help:"Set a conversation's own model, system prompt or metadata."`
	Unset       sessionsUnsetCmd       `cmd:"" help:"Remove a conversation's own settings."`
	Generations sessionsGenerationsCmd `cmd:"" help:"List the parts into which /new divided a conversation."`
	Join        sessionsJoinCmd        `cmd:"" help:"Join two conversations of the same channel."`
	Erase       sessionsEraseCmd       `cmd:"" help:"Forget a conversation or a person for good."`
	Facts       sessionsFactsCmd       `cmd:"" help:"List what Dragoman remembers about a chat or a person, or forget one fact."`
	Rename      sessionsRenameCmd      `cmd:"" help:"Give a conversation a title."`
	Delete      sessionsDeleteCmd      `cmd:"" help:"Delete a conversation's transcript for good."`
	Export      sessionsExportCmd      `cmd:"" help:"Export conversations as JSON, JSON lines or Markdown."`
	Import      sessionsImportCmd      `cmd:"" help:"Import conversations from files of other programs, or of Dragoman."`
	Migrate     sessionsMigrateCmd     `cmd:"" help:"Copy the whole store to another type of store, and compare them."`
}

// pageSize is how many messages one request asks for.
const pageSize = 100

func (e *env) noConversation(key channels.Key) error {
	return fmt.Errorf("there is no conversation %s; %s shows all", oneLine(key.String()), e.command("sessions list"))
}

// parseKey is channels.ParseKey with an error for people.
func (e *env) parseKey(s string) (channels.Key, error) {
	key, err := channels.ParseKey(s)
	if err != nil {
		return key, &usageError{fmt.Sprintf("%q is not a conversation; write its key, like telegram:123456 (see %s)", oneLine(s), e.command("sessions list"))}
	}
	return key, nil
}

// withKey runs a verb on the conversation whose key is text. If the verb returns
// sessions.ErrNotFound, the error names the key.
func (e *env) withKey(c *cli, text string, verb func(context.Context, *api.Client, channels.Key) error) error {
	key, err := e.parseKey(text)
	if err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		err := verb(ctx, a, key)
		if errors.Is(err, sessions.ErrNotFound) {
			return e.noConversation(key)
		}
		return err
	})
}

// sessionsRenameCmd is "dragoman sessions rename": it sets a conversation's title.
type sessionsRenameCmd struct {
	keyArg
	Title []string `arg:"" help:"The new title; an empty one removes it."`
}

func (k *sessionsRenameCmd) Run(e *env, c *cli) error {
	title := strings.Join(k.Title, " ")
	return e.withKey(c, k.Key, func(ctx context.Context, a *api.Client, key channels.Key) error {
		if err := api.Rename.Call(ctx, a, api.Title{Key: key, Title: title}); err != nil {
			return err
		}
		if strings.TrimSpace(title) == "" {
			e.say("%s no longer has a title.", key)
			return nil
		}
		e.say("%s is now called %s.", key, oneLine(title))
		return nil
	})
}

// sessionsDeleteCmd is "dragoman sessions delete": it deletes one conversation. To
// erase a person, see [sessionsEraseCmd].
type sessionsDeleteCmd struct {
	keyArg
	Yes bool `short:"y" help:"Do not ask."`
}

func (k *sessionsDeleteCmd) Run(e *env, c *cli) error {
	return e.withKey(c, k.Key, func(ctx context.Context, a *api.Client, key channels.Key) error {
		if err := e.confirm(k.Yes, fmt.Sprintf("Delete all messages of %s for good?", key)); err != nil {
			return err
		}
		if err := api.Delete.Call(ctx, a, api.About{Key: key}); err != nil {
			return err
		}
		e.say("%s was deleted.", key)
		return nil
	})
}

func (e *env) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !e.interactive {
		return &usageError{"this cannot be undone, and there is no terminal to ask for confirmation; add --yes"}
	}
	_, _ = fmt.Fprintf(e.out, "%s [y/N] ", question)
	answer, err := bufio.NewReader(e.in).ReadString('\n')
	if err != nil && answer == "" {
		return errors.New("no answer given; nothing was done")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}

// sessionsFactsCmd is "dragoman sessions facts": what the tool remember kept about
// a person or a chat.
type sessionsFactsCmd struct {
	Target string `arg:"" help:"A conversation's key, a person like telegram:123456, or the name of a paired person."`
	Forget int64  `placeholder:"ID" help:"Forget the fact with this number."`
	jsonFlag
}

func (k *sessionsFactsCmd) Run(e *env, c *cli) error {
	if k.Forget != 0 {
		return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
			err := api.Forget.Call(ctx, a, api.Fact{Target: k.Target, ID: k.Forget})
			if errors.Is(err, sessions.ErrNotFound) {
				return &usageError{fmt.Sprintf("there is no fact number %d about %s; %s lists all of them", k.Forget, oneLine(k.Target), e.command("sessions facts", k.Target))}
			}
			if err == nil {
				e.say("Forgotten.")
			}
			return err
		})
	}
	page := func(after string, limit int) api.FactsOf {
		return api.FactsOf{Target: k.Target, After: after, Limit: limit}
	}
	return listAll(e, c, k.JSON, api.ListFacts, 0, page, func(facts api.Page[api.Remembered]) {
		if len(facts.Data) == 0 {
			e.say("Dragoman remembers nothing about %s.", oneLine(k.Target))
		}
		for _, f := range facts.Data {
			whose := "" // a paired person can have several ids, each with its own facts
			if person, ok := strings.CutPrefix(f.Scope, "person:"); ok && person != k.Target {
				whose = fmt.Sprintf("  (%s)", oneLine(person))
			}
			e.say("%d  %s  %s%s", f.ID, f.At.Local().Format("2006-01-02"), oneLine(f.Text), whose)
		}
	})
}
