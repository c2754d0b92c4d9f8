package reminders

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/sessions"
)

// record is the data of a reminder's note. It only gains fields.
type record struct {
	Key     channels.Key    `json:"key"` // where it is delivered
	Private bool            `json:"private,omitempty"`
	Maker   channels.Person `json:"maker"`
	Text    string          `json:"text,omitempty"`
	Prompt  string          `json:"prompt,omitempty"`
	When    heartbeat.When  `json:"when"`
	// From is when it was asked for: rules and intervals are counted from it.
	From time.Time `json:"from"`
	// Zone is the zone that the person had said; "": the configuration's.
	Zone    string            `json:"zone,omitempty"`
	Origins []sessions.Origin `json:"origins,omitempty"`
	// Paused is why it is not due; "": it is. Refused is set if its maker may not talk in
	// Key: it goes on when they may, from Since, when it was due and was paused.
	Paused  string    `json:"paused,omitempty"`
	Refused bool      `json:"refused,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Fired is when it was delivered last. With Done it stays for a while, to be put off.
	Fired time.Time `json:"fired,omitzero"`
	Done  bool      `json:"done,omitempty"`
	// Cancelled is when it was cancelled so that it can be brought back for a while; it is Done.
	Cancelled time.Time `json:"cancelled,omitzero"`
	// Missed is how many occurrences were not delivered since the last one that was.
	Missed int `json:"missed,omitempty"`
}

// paused is why r is not due, for people; "": it is.
func (r *reminder) paused() string {
	if r.broken {
		return "it cannot be read"
	}
	if r.Refused {
		return r.Paused + "; it goes on by itself when that changes"
	}
	return r.Paused
}

// reminder is a note that was read.
type reminder struct {
	record

	owner, name string
	due         time.Time
	broken      bool // its data cannot be read
}

// LastName is the name of the note that has the greatest number ever given.
const LastName = "last"

// last is its data.
type last struct {
	Number int `json:"number"`
}

// read reads a note; false for the one that is no reminder.
func read(n sessions.Note) (reminder, bool) {
	r := reminder{owner: n.Owner, name: n.Name, due: n.Due}
	if n.Name == LastName {
		return r, false
	}
	err := json.Unmarshal(n.Data, &r.record)
	r.broken = err != nil
	return r, true
}

// note is r as a note.
func (r *reminder) note() (sessions.Note, error) {
	data, err := json.Marshal(r.record)
	if err != nil {
		return sessions.Note{}, fmt.Errorf("reminders: write %s: %w", r.name, err)
	}
	return sessions.Note{Kind: Kind, Owner: r.owner, Name: r.name, Due: r.due, Data: data}, nil
}

// readAll reads notes and sorts the reminders that have not ended: soonest first, paused
// ones last.
func readAll(notes []sessions.Note) (list []reminder) {
	for _, n := range notes {
		if r, is := read(n); is && !r.Done {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(x, y reminder) int {
		switch {
		case x.due.IsZero() && y.due.IsZero():
			return strings.Compare(x.name, y.name)
		case x.due.IsZero():
			return 1
		case y.due.IsZero():
			return -1
		}
		return x.due.Compare(y.due)
	})
	return list
}

// nextName is the name of a new reminder of an owner with those notes, and the note that
// remembers it.
func nextName(have []sessions.Note) (name string, remember sessions.Note, err error) {
	var l last
	for _, n := range have {
		if n.Name == LastName {
			err = json.Unmarshal(n.Data, &l)
		}
		if number, numbered := strings.CutPrefix(n.Name, "r"); numbered {
			given, _ := strconv.Atoi(number)
			l.Number = max(l.Number, given)
		}
	}
	if err != nil {
		return "", sessions.Note{}, fmt.Errorf("reminders: read the last number: %w", err)
	}
	l.Number++
	data, err := json.Marshal(l)
	return "r" + strconv.Itoa(l.Number), sessions.Note{Name: LastName, Data: data}, err
}

// cleanName is how people and models write the name of a reminder: r7, R7, 7, #7.
func cleanName(text string) string {
	text = strings.TrimLeft(strings.ToLower(strings.TrimSpace(text)), "#r")
	return "r" + text
}
