package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Command is a command that somebody allowed.
type Command struct {
	Key     channels.Key
	Person  channels.Person // who asked for it
	Private bool
	// Origins are whose words led to it.
	Origins []sessions.Origin
	Line    string
	Most    time.Duration
	// Run runs it, and calls printed with what it prints.
	Run func(ctx context.Context, printed func([]byte)) (Result, error)
}

// Result is what a command left.
type Result struct {
	Output string
	Code   int
	Ended  string // which limit ended it; "" if it ended by itself
}

// Ended is a command that runs no longer: the id of the message about it, what it is called,
// like c1, and the message.
type Ended struct {
	ID, Name, Text string
	Key            channels.Key
	Person         channels.Person
	Private        bool
	Origins        []sessions.Origin
}

// Running is a command in a list.
type Running struct {
	Name, Line string
	Since      time.Time
	Last       string // the end of what it printed, on the node that runs it
}

// Refusal is a sentence for whoever asks.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// record is the data of a note. It only gains fields.
type record struct {
	ID      string            `json:"id,omitempty"`
	N       int               `json:"n"`
	Node    string            `json:"node,omitempty"`
	Key     channels.Key      `json:"key,omitempty"`
	Person  channels.Person   `json:"person,omitzero"`
	Private bool              `json:"private,omitempty"`
	Origins []sessions.Origin `json:"origins,omitempty"`
	Line    string            `json:"line,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	Stop    bool              `json:"stop,omitempty"`
	Shown   string            `json:"shown,omitempty"` // the message that shows how far it is
}

func (r *record) name() string { return fmt.Sprintf("c%d", r.N) }

// read reads a note; false for the counter, and for what another version wrote.
func read(n sessions.Note) (r record, is bool) {
	err := json.Unmarshal(n.Data, &r)
	return r, err == nil && r.ID != "" && n.Name != counter
}

// note writes down that cmd runs, under the next number of its chat.
func (b *Book) note(ctx context.Context, cmd *command, most time.Duration) error {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: kind})
	if err != nil {
		return fmt.Errorf("background: count what runs: %w", err)
	}
	here := func(n sessions.Note) bool { r, is := read(n); return is && r.Node == b.o.Node }
	if len(slices.DeleteFunc(notes, func(n sessions.Note) bool { return !here(n) })) >= MostAll {
		return Refusal("too many commands run in the background already, in this chat and others; try again later")
	}
	err = b.store.ChangeNotes(ctx, kind, sessions.ChatScope(cmd.Key), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		last, run := 0, 0
		for _, n := range have {
			var r record
			if json.Unmarshal(n.Data, &r) == nil {
				last = max(last, r.N)
			}
			if _, is := read(n); is {
				run++
			}
		}
		if run >= MostHere {
			return nil, nil, Refusal(fmt.Sprintf("%d commands run in the background of this chat already; stop one first, or wait", run))
		}
		cmd.N = last + 1
		n, err := cmd.note(cmd.Since.Add(most + grace))
		if err != nil {
			return nil, nil, err
		}
		count, err := json.Marshal(record{N: cmd.N})
		return []sessions.Note{n, {Name: counter, Data: count}}, nil, err
	})
	if _, refused := errors.AsType[Refusal](err); err != nil && !refused {
		return fmt.Errorf("background: note a command of %s: %w", cmd.Key, err)
	}
	return err
}

// note is how the store keeps r until due.
func (r *record) note(due time.Time) (sessions.Note, error) {
	data, err := json.Marshal(r)
	return sessions.Note{Name: r.ID, Due: due, Data: data}, err
}

// print keeps the end of what a command prints.
func (c *command) print(p []byte) {
	const most = 2 << 10
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(c.tail, p[max(0, len(p)-most):]...)
	c.tail = slices.Clone(c.tail[max(0, len(c.tail)-most):])
}

// last is the last line that a command printed.
func (c *command) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(c.tail), ""), "\r\n \t"), "\n")
	line := lines[len(lines)-1]
	line = line[strings.LastIndexByte(line, '\r')+1:] // a bar that is drawn again and again
	return shorten(strings.TrimSpace(line), 160)
}
