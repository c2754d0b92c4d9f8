package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/logtail"
)

// LogQuery chooses records of the log. Zero fields match all of them.
type LogQuery struct {
	// Level is the least one: debug, info, warn or error.
	Level string `json:"level,omitempty"`
	// Channel is what the record is about, or the channel of its conversation, and Key its
	// conversation.
	Channel string       `json:"channel,omitempty"`
	Key     channels.Key `json:"key,omitzero"`
	// Text must be in the message or in a fact; case does not matter.
	Text string `json:"text,omitempty"`
	// After is the ID of the last record that the caller has seen. Without it: the newest.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred. A stream begins with as many of the newest.
	Limit int `json:"limit,omitempty"`
}

// LogRecord is one record of the log.
type LogRecord struct {
	// ID is what After takes. One of an earlier process means: from the beginning.
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // debug, info, warn or error
	Message string    `json:"message"`
	// Facts are its attributes as text: key, channel, msg_id, job, attempt, err and others.
	Facts map[string]string `json:"facts"`
	// Lost is how many records before this one were dropped before the caller could see them.
	Lost int64 `json:"lost,omitempty"`
}

// levelOf is the level of that name.
func levelOf(name string) (least slog.Level, err error) {
	switch name {
	case "":
		return slog.LevelDebug, nil
	case "debug", "info", "warn", "error":
		err = least.UnmarshalText([]byte(name))
		return least, err
	}
	return 0, refuse("level", "level is debug, info, warn or error")
}

// keeps is the filter of q.
func (q LogQuery) keeps() (func(*logtail.Record) bool, error) {
	least, err := levelOf(q.Level)
	if err != nil {
		return nil, err
	}
	text := strings.ToLower(q.Text)
	return func(r *logtail.Record) bool {
		key := r.Fact("key")
		switch {
		case r.Level < least:
		case !q.Key.IsZero() && key != q.Key.String():
		case q.Channel != "" && r.Fact("channel") != q.Channel && !strings.HasPrefix(key, q.Channel+":"):
		default:
			return text == "" || hasText(r, text)
		}
		return false
	}, nil
}

// hasText reports whether a record has text, which is in lower case.
func hasText(r *logtail.Record, text string) bool {
	if strings.Contains(strings.ToLower(r.Message), text) {
		return true
	}
	for _, f := range r.Facts {
		if strings.Contains(strings.ToLower(f.Text), text) {
			return true
		}
	}
	return false
}

// logID is the id of a record. It names the process, so that numbers of another one are not
// taken for its own.
func (s *server) logID(n int64) string { return s.process + "-" + strconv.FormatInt(n, 10) }

// logNumber is the number of a record of that id; 0: of another process.
func (s *server) logNumber(id string) (int64, error) {
	process, number, found := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case !found || err != nil || n < 0:
		return 0, refuse("after", "after is the id of a record of the log")
	case process != s.process:
		return 0, nil
	}
	return n, nil
}

// logRecord is r as it goes over the wire, without any secret of the configuration: nothing
// logs one, and if something does, nobody reads it here.
func (s *server) logRecord(r logtail.Record) LogRecord {
	one := LogRecord{ID: s.logID(r.N), At: r.At, Message: s.Log.Hide(r.Message), Facts: make(map[string]string, len(r.Facts))}
	for _, f := range r.Facts {
		one.Facts[f.Name] = s.Log.Hide(f.Text)
	}
	switch {
	case r.Level < slog.LevelInfo:
		one.Level = "debug"
	case r.Level < slog.LevelWarn:
		one.Level = "info"
	case r.Level < slog.LevelError:
		one.Level = "warn"
	default:
		one.Level = "error"
	}
	return one
}

// LogTail has the newest records of the log.
type LogTail struct {
	Tail *logtail.Tail
	// Hide returns text without the secrets of the configuration.
	Hide func(text string) string
}

func (s *server) log(_ context.Context, q LogQuery) (Page[LogRecord], error) {
	none := Page[LogRecord]{}
	if s.Log == nil {
		return none, ErrNoDaemon
	}
	keep, err := q.keeps()
	if err != nil {
		return none, err
	}
	limit := page(q.Limit)
	if q.After == "" {
		return pageOf(each(s.Log.Tail.Newest(limit, keep), s.logRecord), nil)
	}
	n, err := s.logNumber(q.After)
	if err != nil {
		return none, err
	}
	found, upTo, lost := s.Log.Tail.After(n, limit, keep)
	list := each(found, s.logRecord)
	if len(list) > 0 {
		list[0].Lost = lost
	}
	next := ""
	if len(list) == limit {
		next = s.logID(upTo)
	}
	return Page[LogRecord]{Data: list, Next: next}, nil
}

// followLog streams the newest records, and then each one as it is logged.
func (s *server) followLog(w http.ResponseWriter, r *http.Request, q LogQuery) error {
	if s.Log == nil {
		return ErrNoDaemon
	}
	keep, err := q.keeps()
	if err != nil {
		return err
	}
	limit := page(q.Limit)
	n := s.Log.Tail.Last()
	after := cmp.Or(q.After, r.Header.Get("Last-Event-ID"))
	begin := []logtail.Record(nil)
	if after == "" {
		begin = s.Log.Tail.Newest(limit, keep)
		begin = begin[:countUpTo(begin, n)]
	} else {
		n, err = s.logNumber(after)
		if err != nil {
			return err
		}
	}
	if who := caller(r.Context()); !who.AtSocket() {
		if err := s.streams.begin(who.ID); err != nil {
			return err
		}
		defer s.streams.end(who.ID)
	}
	ctx, done := s.untilStopping(r.Context())
	defer done()
	out := newFrames(w)
	for _, one := range begin {
		out.record(s.logRecord(one))
	}
	s.passLog(ctx, n, keep, out)
	return nil
}

// countUpTo counts the records up to the one with the number n.
func countUpTo(records []logtail.Record, n int64) int {
	for i := range records {
		if records[i].N > n {
			return i
		}
	}
	return len(records)
}

// passLog passes the records after the one with the number n on, until the stream ends.
func (s *server) passLog(ctx context.Context, n int64, keep func(*logtail.Record) bool, out *frames) {
	for out.flush() && ctx.Err() == nil {
		found, upTo, lost := s.Log.Tail.After(n, maxPage, keep)
		for i, r := range found {
			one := s.logRecord(r)
			if i == 0 {
				one.Lost = lost
			}
			out.record(one)
		}
		n = upTo
		if len(found) > 0 {
			continue
		}
		waiting, cancel := context.WithTimeout(ctx, beatEvery)
		err := s.Log.Tail.Wait(waiting, n)
		cancel()
		if err != nil && ctx.Err() == nil {
			out.beat(s.logID(n))
		}
	}
}
