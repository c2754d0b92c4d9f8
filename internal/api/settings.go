package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// Change is a change of a conversation's settings. Nil fields stay unchanged.
type Change struct {
	Key    channels.Key `json:"key"`
	Model  *string      `json:"model,omitempty"`
	System *string      `json:"system_prompt,omitempty"`
	// Agent is a persona that may answer in the conversation, or "" for the configured one.
	Agent *string `json:"agent,omitempty"`
	// Reasoning is a level that model.reasoning accepts, or "" for that setting.
	Reasoning *string                    `json:"reasoning,omitempty"`
	Tag       []string                   `json:"tag,omitempty"`
	Untag     []string                   `json:"untag,omitempty"`
	Meta      map[string]json.RawMessage `json:"meta,omitempty"`
	Unmeta    []string                   `json:"unmeta,omitempty"`
	// New allows a conversation that does not exist yet. Without it the result
	// is ErrNotFound, because a mistyped key would appear in all lists.
	New bool `json:"new,omitempty"`
}

// Put adds a setting by its name and value as people write them; "" removes it.
// It reports whether there is a setting of that name.
func (c *Change) Put(name, value string) bool {
	meta, isMeta := strings.CutPrefix(name, "meta.")
	switch {
	case name == "model":
		c.Model = &value
	case name == "agent":
		c.Agent = &value
	case name == "reasoning":
		c.Reasoning = &value
	case name == "system", name == "system_prompt":
		c.System = &value
	case !isMeta || meta == "":
		return false
	case value == "":
		c.Unmeta = append(c.Unmeta, meta)
	default:
		if c.Meta == nil {
			c.Meta = map[string]json.RawMessage{}
		}
		c.Meta[meta] = json.RawMessage(value)
		if !json.Valid(c.Meta[meta]) {
			c.Meta[meta], _ = json.Marshal(value) // a string cannot fail
		}
	}
	return true
}

// The bounds of settings.
const (
	maxTags    = 50
	maxMeta    = 64
	maxValue   = 4 << 10
	maxSystem  = 32 << 10
	maxModelID = 200
)

var metaForm = lazily.Compile(`^[A-Za-z0-9_.:-]{1,64}$`)

// isTag uses no regular expression, because this one would cost every process 2 MB.
func isTag(s string) bool {
	const most = 50 // characters
	foreign := func(r rune) bool { return r == ',' || unicode.IsSpace(r) || unicode.Is(unicode.C, r) }
	return s != "" && utf8.RuneCountInString(s) <= most &&
		!strings.ContainsAny(s[:1], "+-") && !strings.ContainsFunc(s, foreign)
}

func (c Change) check() error {
	for _, tag := range slices.Concat(c.Tag, c.Untag) {
		if !isTag(tag) {
			return refuse("tag", "a tag has 1 to 50 characters, no spaces or commas, and begins with neither + nor -; --remove TAG takes one away")
		}
	}
	for name, value := range c.Meta {
		switch {
		case !metaForm.Regexp().MatchString(name):
			return refuse("meta", "a name of metadata has 1 to 64 letters, digits, or any of _ . : -")
		case len(value) > maxValue || !json.Valid(value):
			return refuse("meta", "a value of metadata is JSON of at most %d bytes", maxValue)
		}
	}
	if c.System != nil && len(*c.System) > maxSystem {
		return refuse("system_prompt", "a system prompt has at most %d bytes", maxSystem)
	}
	// "" removes the conversation's own.
	if c.Reasoning != nil && *c.Reasoning != "" && !slices.Contains(sessions.ReasoningLevels, *c.Reasoning) {
		return refuse("reasoning", "reasoning is one of %s", strings.Join(sessions.ReasoningLevels, ", "))
	}
	if c.Agent != nil && *c.Agent != "" && !channels.IsName(*c.Agent) {
		return refuse("agent", "a persona's name has 1 to 32 characters of a-z, 0-9, _ and -")
	}
	if c.Model != nil && len(*c.Model) > maxModelID {
		return refuse("model", "a model's name has at most %d bytes", maxModelID)
	}
	return nil
}

// apply changes s. It refuses to exceed the bounds.
func (c Change) apply(s *sessions.Settings) error {
	tags := slices.Concat(s.Tags, c.Tag)
	tags = slices.DeleteFunc(tags, func(t string) bool { return slices.Contains(c.Untag, t) })
	slices.Sort(tags)
	tags = slices.Compact(tags)
	meta := make(map[string]json.RawMessage, len(s.Metadata)+len(c.Meta))
	maps.Copy(meta, s.Metadata)
	for _, name := range c.Unmeta {
		delete(meta, name)
	}
	maps.Copy(meta, c.Meta)
	if len(tags) > maxTags || len(meta) > maxMeta {
		return refuse("", "a conversation has at most %d tags and %d values of metadata", maxTags, maxMeta)
	}
	s.Tags, s.Metadata = tags, meta
	if len(meta) == 0 {
		s.Metadata = nil
	}
	if c.Model != nil {
		s.Model = *c.Model
	}
	if c.System != nil {
		s.System = *c.System
	}
	if c.Agent != nil {
		s.Agent = *c.Agent
	}
	if c.Reasoning != nil {
		s.Reasoning = *c.Reasoning
	}
	return nil
}

func (s *server) configure(ctx context.Context, c Change) (now Settings, err error) {
	if err := c.check(); err != nil {
		return now, err
	}
	if err := s.change(ctx, c.Key); err != nil {
		return now, err
	}
	if err := s.mustExist(ctx, c); err != nil {
		return now, err
	}
	if c.Agent != nil && *c.Agent != "" && s.MayAnswer != nil {
		if err := s.MayAnswer(c.Key, *c.Agent); err != nil {
			return now, refuse("agent", "%s", err.Error())
		}
	}
	var refused error
	err = s.Store.Configure(ctx, c.Key, func(s *sessions.Settings) error {
		refused = c.apply(s)
		now = settingsOf(*s)
		return refused
	})
	return now, cmp.Or(refused, err) // refused is the sentence without the store's words
}

// mustExist returns ErrNotFound if c is about a conversation that should exist and
// does not. A conversation without a transcript exists as soon as its person wrote:
// their first message waits or is being answered, or was a command.
func (s *server) mustExist(ctx context.Context, c Change) error {
	if c.New {
		return nil
	}
	_, err := s.Store.Conversation(ctx, c.Key)
	if !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	seen, ferr := s.Store.Feed(ctx, c.Key, 0, 1)
	if ferr != nil || len(seen) > 0 {
		return ferr
	}
	return err
}
