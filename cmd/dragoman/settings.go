package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/sessions"
)

// sessionsSetCmd is "dragoman sessions set": settings of one conversation, which
// count more than the configuration.
type sessionsSetCmd struct {
	keyArg
	Settings []string `arg:"" help:"model=NAME, agent=NAME, reasoning=LEVEL, system=TEXT, meta.NAME=VALUE (JSON, or text)."`
	newFlag
}

func (k *sessionsSetCmd) Run(e *env, c *cli) error {
	change := api.Change{New: k.New}
	for _, s := range k.Settings {
		name, value, found := strings.Cut(s, "=")
		if !found || value == "" {
			return &usageError{fmt.Sprintf("%q sets nothing: write NAME=VALUE, or use %s", oneLine(s), e.command("sessions unset"))}
		}
		if !change.Put(name, value) {
			return &usageError{fmt.Sprintf("there is no setting %q: write model=…, agent=…, reasoning=…, system=… or meta.NAME=…", oneLine(name))}
		}
	}
	return e.configure(c, k.Key, change)
}

// sessionsUnsetCmd is "dragoman sessions unset": the conversation follows the
// configuration again.
type sessionsUnsetCmd struct {
	keyArg
	Settings []string `arg:"" help:"model, agent, reasoning, system, meta.NAME."`
}

func (k *sessionsUnsetCmd) Run(e *env, c *cli) error {
	var change api.Change
	for _, name := range k.Settings {
		if !change.Put(name, "") {
			return &usageError{fmt.Sprintf("there is no setting %q: write model, agent, reasoning, system or meta.NAME", oneLine(name))}
		}
	}
	return e.configure(c, k.Key, change)
}

func (e *env) configure(c *cli, name string, change api.Change) error {
	key, err := e.parseKey(name)
	if err != nil {
		return err
	}
	change.Key = key
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		now, err := api.Configure.Call(ctx, a, change)
		if errors.Is(err, sessions.ErrNotFound) {
			return fmt.Errorf("%w; to set something before its first message, use sessions set or tag with --new", e.noConversation(key))
		}
		if err != nil {
			return err
		}
		e.say("%s", settingsText(key, now))
		if change.Model != nil && *change.Model != "" {
			e.sayModel(ctx, c, a, *change.Model)
		}
		if settingsLines(now, 0) != "" {
			return nil
		}
		head, err := api.ReadConversation.Call(ctx, a, api.About{Key: key})
		if err == nil && head.MessageCount == 0 && head.Generation == "" {
			e.say("It has no messages either; %s removes it from the list.", e.command("sessions delete", key.String()))
		}
		return nil // the change itself succeeded
	})
}

// newFlag is for changes that can be made before the first message.
type newFlag struct {
	New bool `help:"Allow a conversation that does not exist yet."`
}

func settingsText(key channels.Key, s api.Settings) string {
	lines := settingsLines(s, 68)
	if lines == "" {
		return fmt.Sprintf("%s has no settings of its own.", key)
	}
	return fmt.Sprintf("%s has now:\n%s", key, strings.TrimRight(lines, "\n"))
}

// settingsLines lists the settings, one a line, cut to width; 0 means not cut.
func settingsLines(s api.Settings, width int) string {
	var b strings.Builder
	line := func(name, value string) {
		value = oneLine(value)
		if width > 0 {
			value = fit(value, width)
		}
		fmt.Fprintf(&b, "  %-8s %s\n", name, value)
	}
	if s.Model != "" {
		line("model", s.Model)
	}
	if s.Agent != "" {
		line("agent", s.Agent)
	}
	if s.Reasoning != "" {
		line("thinking", s.Reasoning)
	}
	if s.SystemPrompt != "" {
		line("system", s.SystemPrompt)
	}
	if len(s.Tags) > 0 {
		line("tags", strings.Join(s.Tags, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Metadata)) {
		line("meta", name+" = "+metaText(name, s.Metadata[name]))
	}
	return b.String()
}

// metaText is a value of metadata for people. Fields of other programs can be as
// long as a document, so only their names and sizes are printed. Exports and
// --json have them whole.
func metaText(name string, value json.RawMessage) string {
	var fields map[string]json.RawMessage
	if name != sessions.FieldsName || json.Unmarshal(value, &fields) != nil {
		return string(value)
	}
	var list []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, fmt.Sprintf("%s (%d bytes)", fit(oneLine(field), 40), len(fields[field])))
	}
	const most = 8
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// sessionsJoinCmd is "dragoman sessions join": it makes one conversation of two.
type sessionsJoinCmd struct {
	From string `arg:"" help:"The conversation to move; both must be on the same channel."`
	To   string `arg:"" help:"The conversation that receives it, before its own messages."`
	Yes  bool   `short:"y" help:"Do not ask."`
}

func (k *sessionsJoinCmd) Run(e *env, c *cli) error {
	from, err := e.parseKey(k.From)
	if err != nil {
		return err
	}
	to, err := e.parseKey(k.To)
	if err != nil {
		return err
	}
	switch {
	case from == to:
		return &usageError{fmt.Sprintf("%s cannot be joined to itself: name two conversations", oneLine(from.String()))}
	case from.Channel() != to.Channel():
		return &usageError{fmt.Sprintf("%s and %s are on different channels; only conversations on the same channel can be joined", oneLine(from.String()), oneLine(to.String()))}
	}
	return e.withKey(c, k.From, func(ctx context.Context, a *api.Client, from channels.Key) error {
		if _, err := api.ReadConversation.Call(ctx, a, api.About{Key: from}); err != nil {
			return err
		}
		if err := e.confirm(k.Yes, fmt.Sprintf("Put all messages of %s before those of %s for good?", oneLine(from.String()), oneLine(to.String()))); err != nil {
			return err
		}
		if err := api.Join.Call(ctx, a, api.Pair{From: from, To: to}); err != nil {
			return err
		}
		e.say("%s is part of %s now.", from, to)
		return nil
	})
}

// sessionsTagCmd is "dragoman sessions tag".
type sessionsTagCmd struct {
	keyArg
	Tags   []string `arg:"" optional:"" help:"Tags to add."`
	Remove []string `placeholder:"TAG" help:"Remove this tag; can be repeated."`
	newFlag
}

func (k *sessionsTagCmd) Run(e *env, c *cli) error {
	if len(k.Tags)+len(k.Remove) == 0 {
		return &usageError{"name tags to add, or --remove TAG"}
	}
	change := api.Change{New: k.New, Untag: k.Remove}
	for _, tag := range k.Tags {
		change.Tag = append(change.Tag, strings.TrimPrefix(tag, "+"))
	}
	return e.configure(c, k.Key, change)
}

// sayModel warns if a conversation's new model may not exist. It does not ask the
// model's server, which may be down.
func (e *env) sayModel(ctx context.Context, c *cli, a *api.Client, name string) {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return // the setting is stored, and the daemon will report the configuration's error
	}
	running := ""
	if s, err := api.ReadStatus.Call(ctx, a, api.None{}); err == nil && s.Running {
		running = s.Model
	}
	known := slices.ContainsFunc(cfg.Model.Others, func(o config.Other) bool { return o.Name == name })
	switch {
	case cfg.Model.Type == "demo" || running == "demo" && cfg.Model.Type == "auto":
		e.say("The built-in demo has no other models and answers anyway. The setting takes effect when a server is configured (model.base_url).")
	case !known && name != cfg.Model.Name && name != running:
		e.say("The configuration does not name %s, so the server may not have it. If so, messages here are answered with an error, and %s says why.",
			oneLine(name), e.command("status"))
	}
}
