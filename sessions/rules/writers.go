package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// Writers are people who wrote, each once, in the order in which they were
// added. The zero value is empty.
type Writers struct {
	list []sessions.Writer
	// seen finds one in a long list. A conversation has mostly one or two.
	seen map[writer]bool
}

// writer is what tells one from another.
type writer struct {
	key       channels.Key
	ids, name string
	private   bool
}

// shortList is how many are looked through one by one.
const shortList = 8

// Add adds w, if it has an id and is new.
func (s *Writers) Add(w sessions.Writer) {
	if len(w.IDs) == 0 || s.has(w) {
		return
	}
	s.list = append(s.list, w)
	switch {
	case s.seen != nil:
		s.seen[identity(w)] = true
	case len(s.list) > shortList:
		s.seen = map[writer]bool{}
		for _, one := range s.list {
			s.seen[identity(one)] = true
		}
	}
}

func (s *Writers) has(w sessions.Writer) bool {
	if s.seen != nil {
		return s.seen[identity(w)]
	}
	return slices.ContainsFunc(s.list, func(one sessions.Writer) bool { return compareWriters(one, w) == 0 })
}

// identity is w as the key of a map. An id is quoted in effect: its length
// stands before it.
func identity(w sessions.Writer) writer {
	var ids strings.Builder
	for _, id := range w.IDs {
		ids.WriteString(strconv.Itoa(len(id)) + ":" + id)
	}
	return writer{w.Key, ids.String(), w.Name, w.Private}
}

// Inbound adds the sender of m.
func (s *Writers) Inbound(m channels.Inbound) {
	s.Add(sessions.Writer{Key: m.Key, IDs: m.Sender.IDs, Name: m.Sender.Name, Private: m.Private})
}

// Message adds who wrote m, a message of k.
func (s *Writers) Message(k channels.Key, m sessions.Message) {
	if m.Role == sessions.RoleUser && m.Sender != "" {
		s.Add(sessions.Writer{Key: k, IDs: []string{m.Sender}, Name: m.Name})
	}
}

// List is all there are now. Nobody may change it, and nothing that is added
// later does.
func (s *Writers) List() []sessions.Writer { return slices.Clip(s.list) }

// SortWriters is a copy of list in the order of [sessions.Directory].
func SortWriters(list []sessions.Writer) []sessions.Writer {
	list = slices.SortedFunc(slices.Values(list), compareWriters)
	for i := range list {
		list[i].IDs = slices.Clone(list[i].IDs)
	}
	return list
}

func compareWriters(a, b sessions.Writer) int {
	private := func(w sessions.Writer) int {
		if w.Private {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Key.Channel(), b.Key.Channel()), cmp.Compare(a.Key.Chat(), b.Key.Chat()),
		slices.Compare(a.IDs, b.IDs), cmp.Compare(a.Name, b.Name), private(a)-private(b))
}
