package people

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"dragoman/channels"
	"dragoman/sessions"
)

// halfRecord is one side of a connection in its note. On disk: it only gains fields.
type halfRecord struct {
	First      bool         `json:"first,omitempty"` // it made the code
	State      State        `json:"state"`
	Identities []string     `json:"identities"`
	Name       string       `json:"name,omitempty"`
	Chat       channels.Key `json:"chat"`
	Yes        bool         `json:"yes,omitempty"`
	// Sum is a hash of all identities that the sentence named.
	Sum   string    `json:"sum,omitempty"`
	Until time.Time `json:"until"`
	// Told is the last state that this side knows of.
	Told State `json:"told,omitempty"`
	// Gone names who left, for a note of the state Left, until it is told.
	Gone string `json:"gone,omitempty"`
}

// half is one side of a connection.
type half struct {
	name    string // of the note
	side    Side
	record  halfRecord
	changed bool
	removed bool
}

func (h *half) ended() bool { return h.record.State != Offered && h.record.State != Asked }

func readHalf(n sessions.Note) (*half, bool) {
	h := &half{name: n.Name}
	if !strings.HasPrefix(n.Name, sidePrefix) && !strings.HasPrefix(n.Name, leftPrefix) {
		return nil, false
	}
	if json.Unmarshal(n.Data, &h.record) != nil || len(h.record.Identities) == 0 || h.record.Identities[0] != n.Owner {
		return nil, false // it connects nobody
	}
	h.side = Side{Identities: h.record.Identities, Name: h.record.Name, Chat: h.record.Chat}
	return h, true
}

// note is h as it is stored.
func (h *half) note() (sessions.Note, error) {
	h.record.Identities = h.side.Identities
	h.record.Name = h.side.Name
	h.record.Chat = h.side.Chat
	data, err := json.Marshal(h.record)
	if err != nil {
		return sessions.Note{}, fmt.Errorf("people: store a connection: %w", err)
	}
	return sessions.Note{Kind: connectKind, Owner: h.side.Identities[0], Name: h.name, Due: h.record.Until, Data: data}, nil
}

// connecting is a step on the notes of all connections and identities.
type connecting struct {
	now    time.Time
	halves []*half
	tries  map[string]sessions.Note // by identity
	links  links
	put    []sessions.Note
	remove []sessions.Note
}

func readConnecting(have []sessions.Note, now time.Time) *connecting {
	st := &connecting{now: now, tries: map[string]sessions.Note{}, links: readLinks(have)}
	for _, n := range have {
		if n.Kind != connectKind {
			continue
		}
		if n.Name == triesName {
			st.tries[n.Owner] = n
		}
		if h, is := readHalf(n); is {
			st.halves = append(st.halves, h)
		}
	}
	return st
}

// changes are all that the step changes.
func (st *connecting) changes() (put, remove []sessions.Note, err error) {
	for _, h := range st.halves {
		if !h.changed && !h.removed {
			continue
		}
		n, err := h.note()
		if err != nil {
			return nil, nil, err
		}
		if h.removed {
			st.remove = append(st.remove, n)
			continue
		}
		st.put = append(st.put, n)
	}
	return st.put, st.remove, nil
}

func (st *connecting) add(h half) *half {
	h.changed = true
	st.halves = append(st.halves, &h)
	return &h
}

// named are the sides of one connection.
func (st *connecting) named(name string) (list []*half) {
	for _, h := range st.halves {
		if h.name == name && !h.removed {
			list = append(list, h)
		}
	}
	return list
}

// other is the other side of h, nil if it is gone.
func (st *connecting) other(h *half) *half {
	for _, o := range st.named(h.name) {
		if o != h {
			return o
		}
	}
	return nil
}

// of reports whether h is a side of s.
func (h *half) of(s Side) bool { return sharesAny(h.side.Identities, s.Identities) }

// seen is the connection as h sees it.
func (st *connecting) seen(h *half) Connecting {
	c := Connecting{
		State: h.record.State, Told: h.record.Told == h.record.State, Me: h.side, First: h.record.First, Agreed: h.record.Yes,
		Until: h.record.Until, ID: h.name,
		Mine: h.side.label(st.links.all(h.side.Identities[0])), Other: h.record.Gone,
	}
	if o := st.other(h); o != nil {
		c.Other = o.side.label(st.links.all(o.side.Identities[0]))
		c.OtherAgreed = o.record.Yes
		if c.State == Connected { // all are one person now
			c.Other = o.side.Label()
		}
	}
	return c
}

// questionFor is what waits for an answer of s, else what ended last.
func (st *connecting) questionFor(s Side) (found *half) {
	for _, h := range st.halves {
		if !h.of(s) || h.removed || h.record.State == Offered || h.record.State == Left {
			continue
		}
		if h.record.State == Asked {
			return h
		}
		if st.now.Before(h.record.Until) && (found == nil || h.record.Until.After(found.record.Until)) {
			found = h
		}
	}
	return found
}

// isAsked reports whether a question waits for s.
func (st *connecting) isAsked(s Side) bool {
	h := st.questionFor(s)
	return h != nil && h.record.State == Asked && st.now.Before(h.record.Until)
}

// personOf is the person of s, by any identity that was joined.
func (st *connecting) personOf(s Side) string {
	for _, identity := range s.Identities {
		if st.links.person(identity) != identity {
			return st.links.person(identity)
		}
	}
	return s.Identities[0]
}

// allOf are all identities of the person of s, sorted.
func (st *connecting) allOf(s Side) []string {
	all := append(st.links.members(st.personOf(s)), s.Identities...)
	slices.Sort(all)
	return slices.Compact(all)
}

// end ends a connection for both sides. They are told, and whoever says the same again
// within ten minutes gets the same answer.
func (st *connecting) end(name string, with State) {
	for _, h := range st.named(name) {
		h.record.State = with
		h.record.Until = st.now.Add(ConnectWithin)
		h.changed = true
	}
}

// expire ends the questions that were not answered in time, and removes what is over.
func (st *connecting) expire() {
	for _, h := range st.halves {
		over := !st.now.Before(h.record.Until)
		switch {
		case !over:
		case h.record.State == Asked:
			st.end(h.name, TimedOut)
		case h.record.State == Offered, h.record.Told == h.record.State:
			h.removed = true
		}
	}
}

// cleanSideName is what somebody calls themselves as one line of visible characters.
func cleanSideName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	name = strings.NewReplacer("“", "\"", "”", "\"").Replace(strings.Join(strings.Fields(name), " "))
	for len(name) > maxSideName {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}
	return name
}
