package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// shelf keeps whole records and nothing else.
type shelf struct {
	records []sessions.Record
	fails   error // Dump ends with it
}

func (s *shelf) Dump(_ context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	for _, r := range s.records {
		if len(keys) > 0 && (r.Messages == nil || r.Messages.Key != keys[0]) {
			continue
		}
		if err := emit(r); err != nil {
			return err
		}
	}
	return s.fails
}

func (s *shelf) Restore(_ context.Context, next func() (sessions.Record, error)) (taken sessions.Restored, err error) {
	var got []sessions.Record
	for {
		r, err := next()
		if err == io.EOF {
			s.records = append(s.records, got...)
			return sessions.Restored{Conversations: len(got), Others: 7}, nil
		}
		if err != nil {
			return taken, fmt.Errorf("shelf: restore: %w", err)
		}
		for _, have := range s.records {
			if have.Messages != nil && r.Messages != nil && have.Messages.Key == r.Messages.Key {
				return taken, fmt.Errorf("shelf: restore %s: %w", r.Messages.Key, sessions.ErrConflict)
			}
		}
		got = append(got, r)
	}
}

func stretch(key string, n int) sessions.Record {
	return sessions.Record{Messages: &sessions.MessagesRecord{Key: channels.MustKey(key), Messages: []sessions.Message{
		{Seq: int64(n), Role: sessions.RoleUser, Content: strings.Repeat("x", 1<<20), At: began},
	}}}
}

// source hands out records and then err.
func source(err error, records ...sessions.Record) func() (sessions.Record, error) {
	return func() (sessions.Record, error) {
		if len(records) == 0 {
			return sessions.Record{}, err
		}
		r := records[0]
		records = records[1:]
		return r, nil
	}
}

// Records of more than any limit on a request travel both ways.
func TestCopies(t *testing.T) {
	var s *shelf
	clients(t, func() api.Options {
		s = &shelf{}
		o := optionsOf(filled(t))
		o.Store.Copies = s
		return o
	}, func(t *testing.T, c *api.Client) {
		ctx := t.Context()
		want := []sessions.Record{stretch("web:a", 1), stretch("web:b", 2), stretch("web:b", 3)}
		if got, err := c.Restore(ctx, source(io.EOF, want...)); err != nil || got != (sessions.Restored{Conversations: 3, Others: 7}) {
			t.Fatalf("Take = %+v, %v", got, err)
		}
		if diff := cmp.Diff(want, s.records, cmp.AllowUnexported(channels.Key{})); diff != "" {
			t.Errorf("restored (-want +got):\n%s", diff)
		}
		for _, tt := range []struct {
			keys []channels.Key
			want []sessions.Record
		}{{nil, want}, {[]channels.Key{channels.MustKey("web:b")}, want[1:]}} {
			var got []sessions.Record
			err := c.Dump(ctx, tt.keys, func(r sessions.Record) error { got = append(got, r); return nil })
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(channels.Key{})); diff != "" || err != nil {
				t.Errorf("Dump(%v), %v (-want +got):\n%s", tt.keys, err, diff)
			}
		}
		testCopiesFail(t, c, s)
	})
}

func testCopiesFail(t *testing.T, c *api.Client, s *shelf) {
	ctx, before := t.Context(), len(s.records)
	// The far end refuses while there is much more to send.
	many := make([]sessions.Record, 50)
	for i := range many {
		many[i] = stretch("web:a", i)
	}
	if _, err := c.Restore(ctx, source(io.EOF, many...)); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("Take of what is there = %v, want ErrConflict", err)
	}
	mine := errors.New("the file is damaged")
	if _, err := c.Restore(ctx, source(mine, stretch("web:c", 1))); !errors.Is(err, mine) {
		t.Errorf("Take from a source that fails = %v, want its error", err)
	}
	if len(s.records) != before {
		t.Errorf("%d records, want the %d from before: something is half restored", len(s.records), before)
	}
	if err := c.Dump(ctx, nil, func(sessions.Record) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("Dump into what fails = %v, want its error", err)
	}
	s.fails = fmt.Errorf("shelf: read: %w", sessions.ErrNotFound)
	if err := c.Dump(ctx, nil, func(sessions.Record) error { return nil }); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Dump of a store that fails in the middle = %v, want its error", err)
	}
}

// A copy whose sender died stores nothing.
func TestRestoreOfACutCopy(t *testing.T) {
	for name, body := range map[string]string{
		"empty":        "",
		"no end":       `{"messages":{"key":"web:a","messages":[]}}` + "\n",
		"half a line":  `{"messages":{"key":"web:a"`,
		"wrong number": `{"messages":{"key":"web:a","messages":[]}}` + "\n" + `{"done":2}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, o := &shelf{}, optionsOf(filled(t))
			o.Store.Copies = s
			h := api.New(o)
			if code := post(h, "/api/v1/records", body); code == 200 || len(s.records) != 0 {
				t.Errorf("status %d, %d records, want a refusal and none", code, len(s.records))
			}
		})
	}
}
