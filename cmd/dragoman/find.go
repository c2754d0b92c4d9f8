package main

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// sessionsListCmd is "dragoman sessions list", in pages.
type sessionsListCmd struct {
	Limit   int      `default:"10" help:"How many to show, 1 to 200 (${default})."`
	After   string   `placeholder:"CURSOR" help:"Continue after a page, with the cursor that it printed."`
	Channel string   `placeholder:"NAME" help:"Only conversations on this channel."`
	Tag     string   `placeholder:"TAG" help:"Only those with this tag."`
	Text    string   `placeholder:"TEXT" help:"Only those whose key or title contains this."`
	Meta    []string `placeholder:"NAME=VALUE" sep:"none" help:"Only those with this metadata; can be repeated."`
	jsonFlag
}

func (k *sessionsListCmd) query() (api.ConversationQuery, error) {
	q := api.ConversationQuery{Channel: k.Channel, Tag: k.Tag, Text: k.Text, After: k.After, Limit: min(max(k.Limit, 1), sessions.MaxPage)}
	if k.After != "" {
		if _, err := sessions.ParseCursor(k.After); err != nil {
			return q, &usageError{"--after wants the cursor that the previous page printed at its end"}
		}
	}
	for _, pair := range k.Meta {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return q, &usageError{"--meta wants NAME=VALUE"}
		}
		if q.Meta == nil {
			q.Meta = map[string]string{}
		}
		q.Meta[name] = value
	}
	return q, nil
}

func (k *sessionsListCmd) Run(e *env, c *cli) error {
	q, err := k.query()
	if err != nil {
		return err
	}
	return listPage(e, c, k.JSON, api.Find, q, func(page api.Page[api.Conversation]) {
		if len(page.Data) == 0 {
			e.say("%s", e.nothingListed(q))
			return
		}
		t := &table{head: []string{"KEY", "TITLE", "MESSAGES", "TOKENS", "LAST"}, less: []int{3, 2}}
		for _, s := range page.Data {
			t.add(s.Key.String(), withTags(s), fmt.Sprint(s.MessageCount), fmt.Sprint(s.TotalTokens), e.when(s.Updated))
		}
		t.print(e)
		if page.Next != "" {
			e.say("(there may be more: --after %s)", page.Next)
		}
		if cfg, err := e.loadWithoutSecrets(c.Config); err == nil {
			e.sayDamage(cfg)
		}
	})
}

func (e *env) nothingListed(q api.ConversationQuery) string {
	switch {
	case q.After != "":
		return "No more conversations match."
	case q.Channel != "" || q.Tag != "" || q.Text != "" || q.Meta != nil:
		return "No conversation matches. Without options, " + e.command("sessions list") + " shows all."
	}
	return "No conversations yet. Write to Dragoman on one of its channels, or run: " + e.command("chat")
}

func withTags(s api.Conversation) string {
	name := s.Name()
	for _, tag := range s.Tags {
		name += " #" + tag
	}
	return strings.TrimSpace(name)
}

// sessionsGenerationsCmd is "dragoman sessions generations": what a conversation
// was before each /new.
type sessionsGenerationsCmd struct {
	keyArg
	jsonFlag
}

func (k *sessionsGenerationsCmd) Run(e *env, c *cli) error {
	return e.withKey(c, k.Key, func(ctx context.Context, a *api.Client, key channels.Key) error {
		all, err := api.ListGenerations.Call(ctx, a, api.About{Key: key})
		switch {
		case err != nil:
			return err
		case k.JSON:
			return e.json(all.Data)
		case len(all.Data) == 0:
			e.say("Nothing was said in %s yet.", key)
			return nil
		}
		t := &table{head: []string{"GENERATION", "BEGAN", "MESSAGES", "FIRST", "LAST"}, less: []int{3, 4}}
		for _, g := range all.Data {
			first, last := fmt.Sprint(g.FirstSeq), fmt.Sprint(g.LastSeq)
			if g.LastSeq < g.FirstSeq {
				first, last = "-", "-"
			}
			t.add(g.ID, e.when(g.Began), fmt.Sprint(g.LastSeq-g.FirstSeq+1), first, last)
		}
		t.print(e)
		return nil
	})
}
