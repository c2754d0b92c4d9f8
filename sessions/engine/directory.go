package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// Writers lists who wrote on channel, each once, sorted by chat, ids and name: the
// senders of inbox messages, answered or not, and of user messages in transcripts. It
// may read each message of the channel once, which takes seconds for a million
// messages but blocks no writes. A person disappears with their last message.
func (s *Store) Writers(ctx context.Context, channel string) ([]sessions.Writer, error) {
	v, all := s.view(ctx), map[string]sessions.Writer{}
	for _, h := range slices.Collect(v.heads(rows.ByKey)) {
		if h.Key.Channel() == channel {
			v.addWriters(h.Key, all)
		}
	}
	list := slices.SortedFunc(maps.Values(all), func(a, b sessions.Writer) int {
		return cmp.Or(cmp.Compare(a.Key.Chat(), b.Key.Chat()), slices.Compare(a.IDs, b.IDs), cmp.Compare(a.Name, b.Name),
			cmp.Compare(strconv.FormatBool(a.Private), strconv.FormatBool(b.Private)))
	})
	return list, s.wrap("writers", v.err)
}

// addWriters adds the people who wrote in k to all.
func (v *view) addWriters(k channels.Key, all map[string]sessions.Writer) {
	add := func(w sessions.Writer) { all[fmt.Sprintf("%s %q %q %v", w.Key, w.IDs, w.Name, w.Private)] = w }
	for r := range v.inbox(k, rows.QueueFilter{Writers: true}) {
		if ids := r.Inbound.Sender.IDs; len(ids) > 0 {
			add(sessions.Writer{Key: k, IDs: slices.Clone(ids), Name: r.Inbound.Sender.Name, Private: r.Inbound.Private})
		}
	}
	for m := range v.messages(k, rows.MessageFilter{Light: true, Writers: true}) {
		if m.Role == sessions.RoleUser && m.Sender != "" {
			add(sessions.Writer{Key: k, IDs: []string{m.Sender}, Name: m.Name})
		}
	}
}

// FactScopes lists the scopes that begin with prefix and have facts, sorted.
func (s *Store) FactScopes(ctx context.Context, prefix string) (list []string, err error) {
	v := s.view(ctx)
	for r := range v.records(factsOf("")) {
		if scope := r.Fact.Scope; strings.HasPrefix(scope, prefix) && (len(list) == 0 || list[len(list)-1] != scope) {
			list = append(list, scope)
		}
	}
	return list, s.wrap("scopes", v.err)
}
