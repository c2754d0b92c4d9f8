package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/sessions"
)

const (
	pinKind = "mcp-pin"
	// headName is the note about the server itself. No tool has this name.
	headName = "server"
	// freshFor is how old the copy in memory may be: another node, or a command, may accept.
	freshFor = 10 * time.Second
)

// head is the stored form of what was accepted of a server itself.
type head struct {
	At time.Time `json:"at"`
	// Files are the hashes of what its command runs: see programFiles.
	Files map[string]string `json:"files,omitempty"`
}

// pin is the stored form of an accepted tool. Its note has the name that the model knows.
type pin struct {
	Own  string          `json:"own"`
	Text json.RawMessage `json:"text"` // a definition
	At   time.Time       `json:"at"`
	// Read: an operator was shown it and accepted it. The tools of a first listing are accepted
	// unread.
	Read bool `json:"read,omitempty"`

	name, hash string
}

// pinned is what was accepted of one server. It is not changed.
type pinned struct {
	head
	tools []pin // by name
	read  time.Time
}

// byOwn returns the accepted tool of that name.
func (p *pinned) byOwn(own string) (pin, bool) {
	i := slices.IndexFunc(p.tools, func(t pin) bool { return t.Own == own })
	if i < 0 {
		return pin{}, false
	}
	return p.tools[i], true
}

// pins keeps what was accepted.
type pins struct {
	notes Notes
	now   func() time.Time

	mu    sync.Mutex
	known map[string]*pinned // by server
}

func ownerOf(server string) string { return "server " + server }

// of returns what was accepted of a server, at most freshFor old; nil if nothing ever was.
func (p *pins) of(ctx context.Context, server string) (*pinned, error) {
	p.mu.Lock()
	known := p.known[server]
	p.mu.Unlock()
	if known != nil && p.now().Sub(known.read) < freshFor {
		return known, nil
	}
	list, err := p.notes.Notes(ctx, sessions.NoteFilter{Kind: pinKind, Owner: ownerOf(server)})
	if err != nil {
		return nil, fmt.Errorf("mcp: read what was accepted of %s: %w", server, err)
	}
	return p.keep(server, list), nil
}

// keep remembers what the notes of a server say. Nothing changes if they say the same.
func (p *pins) keep(server string, list []sessions.Note) *pinned {
	found := readPins(list)
	p.mu.Lock()
	defer p.mu.Unlock()
	if found == nil {
		delete(p.known, server)
		return nil
	}
	found.read = p.now()
	p.known[server] = found
	return found
}

// readPins reads notes; nil without the one about the server itself.
func readPins(list []sessions.Note) *pinned {
	found := &pinned{}
	for _, n := range list {
		if n.Name == headName {
			if json.Unmarshal(n.Data, &found.head) != nil || found.At.IsZero() {
				return nil
			}
			continue
		}
		t := pin{name: n.Name}
		if json.Unmarshal(n.Data, &t) != nil {
			continue // of a newer version
		}
		text, err := canonical(t.Text)
		if err != nil {
			continue
		}
		t.Text = text
		t.hash = hashOf(text)
		found.tools = append(found.tools, t)
	}
	if found.At.IsZero() {
		return nil
	}
	slices.SortFunc(found.tools, func(x, y pin) int { return cmp.Compare(x.name, y.name) })
	return found
}

// checkFiles refuses a program whose files are not those that were accepted.
func (p *pins) checkFiles(ctx context.Context, server string, files map[string]string) error {
	have, err := p.of(ctx, server)
	if err != nil || have == nil || maps.Equal(have.Files, files) {
		return err
	}
	return fmt.Errorf("files of its program have changed since %s (%s). If you changed them: dragoman mcp accept %s",
		have.At.Format(time.DateOnly), strings.Join(changedFiles(have.Files, files), ", "), server)
}

// first accepts the first listing of a server, and reports whether this was it.
func (p *pins) first(ctx context.Context, server string, files map[string]string, found *listing) (bool, error) {
	have, err := p.of(ctx, server)
	if err != nil || have != nil {
		return false, err
	}
	return true, p.put(ctx, server, files, found, false)
}

// put stores a listing as accepted. Without again, nothing changes if one was before.
func (p *pins) put(ctx context.Context, server string, files map[string]string, found *listing, again bool) error {
	var now []sessions.Note
	err := p.notes.ChangeNotes(ctx, pinKind, ownerOf(server), func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		before := readPins(have)
		if before != nil && !again {
			now = have
			return nil, nil, nil
		}
		put, err = p.notesOf(server, files, found, before, again)
		for _, n := range have {
			if !slices.ContainsFunc(put, func(o sessions.Note) bool { return o.Name == n.Name }) {
				remove = append(remove, n.Name)
			}
		}
		now = put
		return put, remove, err
	})
	if err != nil {
		return fmt.Errorf("mcp: keep what was accepted of %s: %w", server, err)
	}
	p.keep(server, now)
	return nil
}

// notesOf are the notes of a listing. read: an operator has read it.
func (p *pins) notesOf(server string, files map[string]string, found *listing, before *pinned, read bool) (list []sessions.Note, err error) {
	at := p.now().UTC().Truncate(time.Second)
	data, err := encode(head{At: at, Files: files})
	if err != nil {
		return nil, err
	}
	list = append(list, sessions.Note{Name: headName, Data: data})
	names := namesFor(server, found, before)
	for _, t := range found.tools {
		one := pin{Own: t.own, Text: t.text, At: at, Read: read}
		if old, known := before.of(t.own); known && old.hash == t.hash {
			one.At = old.At
		}
		data, err = encode(one)
		if err != nil {
			return nil, err
		}
		list = append(list, sessions.Note{Name: names[t.own], Data: data})
	}
	return list, nil
}

// of is byOwn of what may be nil.
func (p *pinned) of(own string) (pin, bool) {
	if p == nil {
		return pin{}, false
	}
	return p.byOwn(own)
}

// encode is json.Marshal without longer spellings of <, > and &.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// namesFor gives each tool of a listing the name that the model knows. One that was accepted
// keeps its name; of new ones that would have the same, the first keeps it: one whose own name
// is exactly that, else the first by its own name.
func namesFor(server string, found *listing, before *pinned) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{}
	for _, t := range found.tools {
		if old, known := before.of(t.own); known {
			names[t.own] = old.name
			taken[old.name] = true
		}
	}
	exact := func(own string) bool { return ToolName(server, own) == server+between+own }
	order := slices.Clone(found.tools)
	slices.SortStableFunc(order, func(x, y listed) int {
		if exact(x.own) == exact(y.own) {
			return cmp.Compare(x.own, y.own)
		}
		if exact(x.own) {
			return -1
		}
		return 1
	})
	for _, t := range order {
		if names[t.own] != "" {
			continue
		}
		name := ToolName(server, t.own)
		if taken[name] {
			name = withHash(server, t.own)
		}
		taken[name] = true
		names[t.own] = name
	}
	return names
}
