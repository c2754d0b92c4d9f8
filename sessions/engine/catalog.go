package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// conversationOf returns h, which has a transcript, as an entry of a list. It shares
// the settings of h: see own.
func conversationOf(h rows.Head) sessions.Conversation {
	v := h.Conversation
	return sessions.Conversation{
		Key: h.Key, Generation: v.Generation, Title: v.Title, Created: rules.Time(v.Created), Updated: rules.Time(v.Updated),
		Messages: v.Messages, Usage: v.Usage, Settings: v.Settings,
	}
}

// own returns c with a copy of its settings, for callers of the store.
func own(c sessions.Conversation) sessions.Conversation {
	c.Settings = rules.Settings(c.Settings)
	return c
}

// Find returns conversations, the most recently updated first, ties by key.
func (s *Store) Find(ctx context.Context, q sessions.Query) (list []sessions.Conversation, err error) {
	limit := min(max(cmp.Or(q.Limit, sessions.DefaultPage), 1), sessions.MaxPage)
	v := s.view(ctx)
	heads := each(v, v.r.Heads(ctx, rows.Newest, q.After))
	if q.Owners != nil {
		heads = slices.Values(v.headsOf(q.Owners, q.After))
	}
	for h := range heads {
		if c := conversationOf(h); matches(q, c) {
			list = append(list, own(c))
		}
		if len(list) == limit {
			break
		}
	}
	return list, s.wrap("find", v.err)
}

// headsOf are the heads of the conversations in which one of these identities wrote, in
// the order of rows.Newest, those after a place in it.
func (v *view) headsOf(identities []string, after *sessions.Cursor) (list []rows.Head) {
	seen := map[string]bool{}
	var names []string
	for _, identity := range identities {
		for r := range v.records(rows.Record{Note: &sessions.Note{Kind: talkKind, Owner: identity}}) {
			if !seen[r.Note.Name] {
				seen[r.Note.Name] = true
				names = append(names, r.Note.Name)
			}
		}
	}
	for _, name := range names {
		k, err := channels.ParseKey(name)
		if err != nil {
			continue
		}
		if h, known := v.head(k); known && h.Conversation != nil && (after == nil || isAfter(h, *after)) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b rows.Head) int {
		return cmp.Or(b.Conversation.Updated.Compare(a.Conversation.Updated), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return list
}

// isAfter reports whether h comes after a place in the order of rows.Newest.
func isAfter(h rows.Head, place sessions.Cursor) bool {
	by := h.Conversation.Updated.Compare(place.Updated)
	return by < 0 || by == 0 && h.Key.String() > place.Key.String()
}

// matches reports whether q selects c.
func matches(q sessions.Query, c sessions.Conversation) bool {
	if q.Channel != "" && c.Key.Channel() != q.Channel || q.Tag != "" && !slices.Contains(c.Settings.Tags, q.Tag) {
		return false
	}
	for name, want := range q.Metadata {
		if v, ok := c.Settings.Metadata[name]; !ok || plainJSON(v) != want {
			return false
		}
	}
	if q.Text == "" {
		return true
	}
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(c.Key.String()), text) || strings.Contains(strings.ToLower(c.Title), text)
}

// plainJSON returns a value as a query writes it: a string as it is, other values as
// compact JSON.
func plainJSON(v json.RawMessage) string {
	var s string
	if bytes.HasPrefix(v, []byte(`"`)) && json.Unmarshal(v, &s) == nil {
		return s
	}
	// Stored values have < > & escaped for HTML (\u003c); a query does not.
	var value any
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if dec.Decode(&value) != nil || enc.Encode(value) != nil {
		return string(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Top returns the conversations that have used the most tokens (input and output)
// since they began, most first.
func (s *Store) Top(ctx context.Context, limit int) (list []sessions.Conversation, err error) {
	order := func(a, b sessions.Conversation) int {
		return cmp.Or(cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output), cmp.Compare(a.Key.String(), b.Key.String()))
	}
	v := s.view(ctx)
	for h := range v.heads(rows.Newest) {
		c, full := conversationOf(h), len(list) >= limit
		if limit <= 0 || full && order(c, list[limit-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, c, order)
		if full {
			list = list[:limit-1]
		}
		list = slices.Insert(list, at, c)
	}
	for i := range list {
		list[i] = own(list[i])
	}
	return list, s.wrap("top", v.err)
}

// Conversation returns one. Errors: ErrNotFound.
func (s *Store) Conversation(ctx context.Context, k channels.Key) (c sessions.Conversation, err error) {
	h, err := s.conversation(ctx, k)
	if err != nil {
		return c, s.wrap("conversation", err)
	}
	return own(conversationOf(h)), nil
}

// conversation returns the head of k. Errors: ErrNotFound if k has no transcript.
func (s *Store) conversation(ctx context.Context, k channels.Key) (rows.Head, error) {
	if err := hasKey(k); err != nil {
		return rows.Head{}, err
	}
	h, _, err := s.back.Head(ctx, k)
	if err == nil && h.Conversation == nil {
		err = notFound(k)
	}
	return h, err
}

// Configure calls change with the conversation's settings and stores the result, in
// one step. If change returns an error, nothing is stored. change must be quick, must
// not call a store, and may be called twice. Configure creates a missing conversation.
// It does not count as an update of the conversation.
func (s *Store) Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error {
	return s.update(ctx, "configure", func(st *step) error {
		c := st.chat(k)
		var set sessions.Settings
		if c.Conversation != nil {
			set = rules.Settings(c.Conversation.Settings)
		}
		if err := cmp.Or(change(&set), checkSettings(set)); err != nil {
			return err
		}
		st.touch(c)
		if c.Conversation == nil {
			c.Conversation = &rows.Conversation{From: c.MessageSeq, Created: rules.Time(st.now)}
			st.updated(c.Conversation)
		}
		c.Conversation.Settings = rules.Settings(set)
		return nil
	}, k)
}

// checkSettings refuses metadata that is not JSON.
func checkSettings(s sessions.Settings) error {
	for name, v := range s.Metadata {
		if !json.Valid(v) {
			return fmt.Errorf("the metadata %q is not JSON", name)
		}
	}
	return nil
}

// Generations lists those of k, oldest first. Errors: ErrNotFound.
func (s *Store) Generations(ctx context.Context, k channels.Key) (list []sessions.Generation, err error) {
	h, err := s.conversation(ctx, k)
	v := s.view(ctx)
	if err == nil {
		list = withEnds(v.generations(k), h.MessageSeq)
	}
	return list, s.wrap("generations", cmp.Or(err, v.err))
}

// withEnds returns a copy of generations with LastSeq set; the last one ends at seq.
func withEnds(generations []sessions.Generation, seq int64) []sessions.Generation {
	list := slices.Clone(generations)
	for i := range list {
		list[i].LastSeq = max(seq, list[i].FirstSeq-1)
		if i > 0 {
			list[i-1].LastSeq = list[i].FirstSeq - 1
		}
	}
	return list
}

// Days counts messages by day, oldest first, and omits days without any. from and to
// (exclusive) are truncated to UTC days.
func (s *Store) Days(ctx context.Context, from, to time.Time) (list []sessions.DayCount, err error) {
	v, days := s.view(ctx), map[string]*sessions.DayCount{}
	v.err = inOrder(from, to)
	for _, h := range slices.Collect(v.heads(rows.Newest)) {
		v.countDays(h.Key, from, to, days)
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		list = append(list, *days[day])
	}
	return list, s.wrap("days", v.err)
}

// countDays adds the messages of k to days.
func (v *view) countDays(k channels.Key, from, to time.Time, days map[string]*sessions.DayCount) {
	seen := map[string]bool{}
	for m := range v.messages(k, rows.MessageFilter{Light: true}) {
		day := m.At.UTC().Format(time.DateOnly)
		if !from.IsZero() && day < from.UTC().Format(time.DateOnly) || !to.IsZero() && day >= to.UTC().Format(time.DateOnly) {
			continue
		}
		c := days[day]
		if c == nil {
			c = &sessions.DayCount{Day: day}
			days[day] = c
		}
		if !seen[day] {
			seen[day] = true
			c.Conversations++
		}
		c.Messages++
		if m.Usage != nil {
			c.Usage.Add(*m.Usage)
		}
	}
}
