// Package logtail keeps the newest records of the log in memory, for people who look at them
// without a shell on the machine.
//
// The promise. A [Tail] has the newest records that were logged, as many as fit in its
// bounds, each with the level, the time, the constant message and its facts as text. Keeping
// a record never blocks and never fails, and changes nothing about what the log itself gets.
// It keeps what was logged, and nothing more: a level that is off stays off. Records hold
// no chat text and no secrets, because the log holds none; a secret prints as <secret> here
// as there.
//
// Failures:
//
//	what happens                       what is seen
//	more records than fit              the oldest are dropped. A reader who had not read them is
//	                                   told how many.
//	a fact of more than 2 KB           its beginning
//	the process ends                   the records are gone. The log itself has them.
//
// Goroutines: none.
package logtail

import (
	"context"
	"encoding"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// The bounds of a [Tail].
const (
	maxRecords = 1000
	maxBytes   = 256 << 10
	maxText    = 2 << 10 // of a fact
)

// Record is one record of the log.
type Record struct {
	// N counts the records of the process from 1.
	N       int64
	At      time.Time
	Level   slog.Level
	Message string
	Facts   []Fact // in their order
}

// Fact is an attribute of a record. The name of one in a group is "group.name".
type Fact struct{ Name, Text string }

// Fact is the text of the fact of that name; "": there is none.
func (r *Record) Fact(name string) string {
	for _, f := range r.Facts {
		if f.Name == name {
			return f.Text
		}
	}
	return ""
}

// bytes is roughly the memory that r takes.
func (r *Record) bytes() int {
	n := 100 + len(r.Message)
	for _, f := range r.Facts {
		n += 32 + len(f.Text) // names are constants
	}
	return n
}

// Tail has the newest records. The zero value has none, and is ready.
type Tail struct {
	mu      sync.Mutex
	records []Record // the oldest first
	bytes   int
	last    int64         // N of the newest record that there was
	more    chan struct{} // closed with the next record; nil: nobody waits
}

// Handler passes records on to next, and keeps those that next handles.
func (t *Tail) Handler(next slog.Handler) slog.Handler { return &handler{tail: t, next: next} }

// add keeps a record.
func (t *Tail) add(r Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	r.N = t.last
	t.records = append(t.records, r)
	t.bytes += r.bytes()
	drop := 0
	for len(t.records)-drop > maxRecords || t.bytes > maxBytes && len(t.records)-drop > 1 {
		t.bytes -= t.records[drop].bytes()
		drop++
	}
	if drop > 0 {
		t.records = slices.Delete(t.records, 0, drop)
	}
	if t.more != nil {
		close(t.more)
		t.more = nil
	}
}

// Newest returns the newest records that keep accepts, at most limit, the oldest first.
func (t *Tail) Newest(limit int, keep func(*Record) bool) []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []Record
	for i := len(t.records) - 1; i >= 0 && len(found) < limit; i-- {
		if keep(&t.records[i]) {
			found = append(found, t.records[i])
		}
	}
	slices.Reverse(found)
	return found
}

// After returns the first records after the one with the number n that keep accepts, at most
// limit. upTo is the last one that it looked at: go on after that. lost is how many records
// after n were dropped.
func (t *Tail) After(n int64, limit int, keep func(*Record) bool) (found []Record, upTo, lost int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	upTo = t.last
	first := t.last - int64(len(t.records)) + 1
	if n > t.last {
		n = 0 // of another process
	}
	lost = max(0, first-1-n)
	for i := range t.records {
		r := &t.records[i]
		if r.N <= n || !keep(r) {
			continue
		}
		if len(found) == limit {
			return found, found[limit-1].N, lost
		}
		found = append(found, *r)
	}
	return found, upTo, lost
}

// Last is the number of the newest record; 0: there is none.
func (t *Tail) Last() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Wait returns when there is a record after the one with the number n, or at the end of ctx.
func (t *Tail) Wait(ctx context.Context, n int64) error {
	t.mu.Lock()
	if t.last > n {
		t.mu.Unlock()
		return nil
	}
	if t.more == nil {
		t.more = make(chan struct{})
	}
	more := t.more
	t.mu.Unlock()
	select {
	case <-more:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handler is the [slog.Handler] of a Tail.
type handler struct {
	tail  *Tail
	next  slog.Handler
	group string // "a.b.", before the names of facts
	facts []Fact // of With
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	facts := slices.Clone(h.facts)
	r.Attrs(func(a slog.Attr) bool {
		facts = appendFact(facts, h.group, a)
		return true
	})
	h.tail.add(Record{At: r.Time, Level: r.Level, Message: r.Message, Facts: facts})
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next = h.next.WithAttrs(attrs)
	with.facts = slices.Clone(h.facts)
	for _, a := range attrs {
		with.facts = appendFact(with.facts, h.group, a)
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	with.next = h.next.WithGroup(name)
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// appendFact appends an attribute, or those of a group.
func appendFact(facts []Fact, group string, a slog.Attr) []Fact {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" {
			return facts
		}
		return append(facts, Fact{Name: group + a.Key, Text: clip(textOf(v))})
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	for _, one := range v.Group() {
		facts = appendFact(facts, group, one)
	}
	return facts
}

// textOf is a value as the log writes it.
func textOf(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	case slog.KindAny:
		return textOfAny(v.Any())
	}
	return v.String()
}

func textOfAny(v any) string {
	if err, is := v.(error); is {
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if m, is := v.(encoding.TextMarshaler); is {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprintf("%+v", v)
}

// clip cuts a text that is very long between two characters.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
