// Package rules has the rules that the engine and all backends share: how text and times
// are cleaned before they are stored, how values are copied, how generations, pairing codes
// and marks of deleted messages are written, and what counts as a word in a search.
//
// Everything here is a pure function. The package starts no goroutines.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// PartMessages and PartBytes bound the part of a transcript that is in memory at once. A
// larger transcript is streamed.
const (
	PartMessages = 500
	PartBytes    = 1 << 20
)

// Text makes s storable: bytes that are not UTF-8 become U+FFFD. The engine does this
// before it stores, so that all backends return the same text.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// SameFact reports whether two facts are the same words. Capitals, spaces and the full
// stop make no difference: models write a fact in another dress each time.
func SameFact(a, b string) bool { return plainFact(a) == plainFact(b) }

func plainFact(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), " .!")
}

// Label returns l with clean texts.
func Label(l sessions.Label) sessions.Label {
	l.Kind = channels.Kind(Text(string(l.Kind)))
	l.Turn = Text(l.Turn)
	l.Job = Text(l.Job)
	l.File = Text(l.File)
	l.Kept = Text(l.Kept)
	l.As = channels.AttachmentKind(Text(string(l.As)))
	l.Form = channels.Form(Text(string(l.Form)))
	return l
}

// Inbound returns a cleaned deep copy of m.
func Inbound(m channels.Inbound) channels.Inbound {
	m.ID = Text(m.ID)
	m.Sender.IDs = slices.Clone(m.Sender.IDs)
	for i, id := range m.Sender.IDs {
		m.Sender.IDs[i] = Text(id)
	}
	m.Sender.Name = Text(m.Sender.Name)
	m.Text, m.Prefix = Text(m.Text), Text(m.Prefix)
	m.Instructions = Text(m.Instructions)
	m.Model = Text(m.Model)
	m.Via = channels.Via(Text(string(m.Via)))
	m.Origins = Origins(m.Origins)
	m.MessageID, m.Edits = Text(m.MessageID), Text(m.Edits)
	m.Deletes = channels.Deletion(Text(string(m.Deletes)))
	if m.Quote != nil {
		m.Quote = &channels.Quote{
			ID: Text(m.Quote.ID), Name: Text(m.Quote.Name), Text: Text(m.Quote.Text), Attachments: Attachments(m.Quote.Attachments),
		}
	}
	if m.Forwarded != nil {
		m.Forwarded = &channels.Forward{Name: Text(m.Forwarded.Name)}
	}
	m.Attachments = Attachments(m.Attachments)
	m.At = Time(m.At)
	return m
}

// Message returns a cleaned deep copy of m. A missing time becomes now.
func Message(m sessions.Message, now time.Time) sessions.Message {
	m = Clone(m)
	m.Content = Text(m.Content)
	m.Kind = sessions.MessageKind(Text(string(m.Kind)))
	m.Name = Text(m.Name)
	m.Sender = Text(m.Sender)
	m.ToolCallID = Text(m.ToolCallID)
	m.Turn = Text(m.Turn)
	m.Via = channels.Via(Text(string(m.Via)))
	cleanOrigins(m.Origins)
	m.Model = Text(m.Model)
	for i, c := range m.ToolCalls {
		m.ToolCalls[i] = sessions.ToolCall{ID: Text(c.ID), Name: Text(c.Name), Arguments: Text(c.Arguments)}
	}
	m.Attachments, m.Extra = Attachments(m.Attachments), Fields(m.Extra)
	m.Attached = attached(m.Attached)
	m.Replaces = max(m.Replaces, 0)
	m.At = Time(m.At)
	if m.At.IsZero() {
		m.At = Time(now)
	}
	return m
}

// Step returns a cleaned deep copy of s.
func Step(s sessions.Step, now time.Time) sessions.Step {
	s.CallID, s.MessageID = Text(s.CallID), Text(s.MessageID)
	s.Within = Text(s.Within)
	s.Tool = Text(s.Tool)
	s.Taint = Origins(s.Taint)
	if s.Message != nil {
		m := Message(*s.Message, now)
		s.Message = &m
	}
	s.At = Time(s.At)
	if s.At.IsZero() {
		s.At = Time(now)
	}
	return s
}

// Clone returns a deep copy of m.
func Clone(m sessions.Message) sessions.Message {
	// Backends read an empty list as nil.
	if len(m.ToolCalls) == 0 {
		m.ToolCalls = nil
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	if m.Usage != nil {
		u := *m.Usage
		m.Usage = &u
	}
	if len(m.Attachments) == 0 {
		m.Attachments = nil
	}
	m.Attachments = slices.Clone(m.Attachments)
	if m.Attached != nil {
		a := *m.Attached
		a.Data = slices.Clone(a.Data)
		m.Attached = &a
	}
	m.ForModel = slices.Clone(m.ForModel)
	if len(m.ForModel) == 0 {
		m.ForModel = nil
	}
	m.Origins = slices.Clone(m.Origins)
	if len(m.Origins) == 0 {
		m.Origins = nil
	}
	if len(m.Extra) == 0 {
		m.Extra = nil
	}
	m.Extra = maps.Clone(m.Extra)
	for name, v := range m.Extra {
		m.Extra[name] = slices.Clone(v)
	}
	return m
}

// Bytes is the size of m for [sessions.HistoryLimit].
func Bytes(m sessions.Message) int {
	n := len(m.Content)
	if m.Attached != nil {
		n += len(m.Attached.Data)
	}
	for _, c := range m.ToolCalls {
		n += len(c.Arguments)
	}
	return n
}

// Day is the part of a generation id that says when it began, in UTC.
func Day(now time.Time) string { return now.UTC().Format(dayOfID) }

const dayOfID = "20060102"

// Generation is the id of the n-th generation that began on day. The number has at least
// three digits.
func Generation(day string, n int64) string { return fmt.Sprintf("%s_%03d", day, n) }

// Code is the form in which pairing codes are compared.
func Code(s string) string {
	return strings.NewReplacer("-", "", " ", "", "\t", "", "\n", "", "\r", "").Replace(strings.ToUpper(s))
}

// Attachments returns a cleaned copy, nil for none.
func Attachments(list []channels.Attachment) []channels.Attachment {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i, a := range list {
		a.Kind = channels.AttachmentKind(Text(string(a.Kind)))
		a.Name = Text(a.Name)
		a.Type = Text(a.Type)
		a.Ref = Text(a.Ref)
		a.File, a.Missing = Text(a.File), Text(a.Missing)
		list[i] = a
	}
	return list
}

// Origins returns a cleaned copy, nil for none.
func Origins(list []sessions.Origin) []sessions.Origin {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	cleanOrigins(list)
	return list
}

func cleanOrigins(list []sessions.Origin) {
	for i, o := range list {
		list[i] = sessions.Origin(Text(string(o)))
	}
}

// attached returns a cleaned copy of a, or nil if its data is not JSON: a provider
// would refuse it.
func attached(a *sessions.Attached) *sessions.Attached {
	if a == nil || !json.Valid(a.Data) || depth(a.Data) > mostDepth {
		return nil
	}
	return &sessions.Attached{
		By:   sessions.Provenance{API: Text(a.By.API), Host: Text(a.By.Host), Model: Text(a.By.Model)},
		Data: JSON(a.Data),
	}
}

// Summary returns a cleaned copy of s.
func Summary(s sessions.Summary) sessions.Summary {
	s.Text, s.Model = Text(s.Text), Text(s.Model)
	s.Fields, s.At = JSON(s.Fields), Time(s.At)
	s.Origins = Origins(s.Origins)
	return s
}

// ParseGeneration is the inverse of Generation.
func ParseGeneration(id string) (day string, n int64, err error) {
	day, number, ok := strings.Cut(id, "_")
	if _, err := time.Parse(dayOfID, day); !ok || err != nil {
		return "", 0, errors.New("not the id of a generation")
	}
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || id != Generation(day, n) {
		return "", 0, errors.New("not the id of a generation")
	}
	return day, n, nil
}

// Settings returns a cleaned deep copy of s: tags sorted, each once.
func Settings(s sessions.Settings) sessions.Settings {
	s.Model = Text(s.Model)
	s.System = Text(s.System)
	s.Agent = Text(s.Agent)
	s.Reasoning = Text(s.Reasoning)
	var tags []string
	for _, t := range s.Tags {
		t = strings.TrimSpace(Text(t))
		if t != "" {
			tags = append(tags, t)
		}
	}
	slices.Sort(tags)
	s.Tags, s.Metadata = slices.Compact(tags), Fields(s.Metadata)
	return s
}

// IsZeroSettings reports whether s has no choices.
func IsZeroSettings(s sessions.Settings) bool {
	return s.Model == "" && s.System == "" && s.Agent == "" && s.Reasoning == "" && len(s.Tags) == 0 && len(s.Metadata) == 0
}

// firstMoment and LastMoment bound the times that stores keep: the whole years whose
// nanoseconds fit into 64 bits.
var (
	firstMoment = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	LastMoment  = time.Date(2261, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

// Time makes t storable, and the same in every store. A time before 1678 or after 2261,
// from a broken clock or another calendar, becomes the nearest one in range, so that the
// order is kept and "never" is not due at once. The zero time does not change. The
// monotonic part is dropped; the zone becomes UTC.
func Time(t time.Time) time.Time {
	t = t.UTC().Round(0)
	switch {
	case t.IsZero():
		return time.Time{}
	case t.Before(firstMoment):
		return firstMoment
	case t.After(LastMoment):
		return LastMoment
	}
	return t
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earliest returns the earlier of two times, of which a zero one does not count.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
