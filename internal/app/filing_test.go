package app_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/app"
	"dragoman/internal/media"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/erasure"
	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite/sqlitetest"
)

// spoiled is a backend that changes nothing, or leaves traces of what is erased.
type spoiled struct {
	rows.Backend
	before, after error
}

func (s spoiled) Update(ctx context.Context, keys []channels.Key, f func(rows.Reader) (rows.Changes, error)) error {
	if s.before != nil {
		return s.before
	}
	return s.Backend.Update(ctx, keys, f)
}

func (s spoiled) Scrub(context.Context, []channels.Key) error { return s.after }

// A person's picture goes with the person, also while the message waits, and
// also if the store's own files could not be wiped at once: nothing else would
// ever name it again. If nothing was erased it stays.
func TestEraseRemovesFilesOfPeople(t *testing.T) {
	trouble := errors.New("disk trouble")
	for _, test := range []struct {
		name     string
		spoil    spoiled
		answered bool
		gone     bool
	}{
		{"answered", spoiled{}, true, true},
		{"waiting", spoiled{}, false, true},
		{"traces left", spoiled{after: trouble}, true, true},
		{"nothing erased", spoiled{before: trouble}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			files, err := media.Open(t.TempDir(), media.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			s := app.Filing(sqlitetest.Open(t, nil), files)
			in := channels.Inbound{
				Key: channels.MustKey("telegram:-7"), ID: "1", Text: "see", Sender: channels.Person{IDs: []string{"71"}, Name: "ann"},
				Attachments: []channels.Attachment{{Kind: channels.AttachmentImage, Ref: "r"}},
			}
			if _, err := s.Accept(ctx, sessions.Entry{Inbound: in}); err != nil {
				t.Fatal(err)
			}
			a, err := files.Keep(ctx, in, 0, func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "a picture")
				return err
			})
			if err != nil || a.File == "" {
				t.Fatalf("Keep = %+v, %v", a, err)
			}
			if test.answered {
				answer(t, s.Store, in, a)
			}
			test.spoil.Backend = s.Backend()
			s = app.Filing(engine.New(test.spoil, "spoiled", nil), files)
			got, err := erasure.New(erasure.Options{Store: s, FileName: media.Name}).Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "telegram", ID: "71"}}})
			if test.gone != slices.Equal(got.Files, []string{a.File}) {
				t.Errorf("Erase names the files %v, and removed %s: %v", got.Files, a.File, test.gone)
			}
			if want := errors.Join(test.spoil.before, test.spoil.after); (err == nil) != (want == nil) {
				t.Errorf("Erase = %v, want %v", err, want)
			}
			if _, err := files.Open(a.File); errors.Is(err, fs.ErrNotExist) != test.gone {
				t.Errorf("Open after Erase = %v, want gone = %v", err, test.gone)
			}
		})
	}
}

// answer runs the turn of in.
func answer(t *testing.T, s *engine.Store, in channels.Inbound, a channels.Attachment) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
		defer cancel()
		waits, err := s.Pending(ctx, c, 1)
		if err != nil {
			return err
		}
		in.Attachments = []channels.Attachment{a}
		return s.CommitTurn(ctx, c, sessions.Turn{
			ID: "t1", Answers: []sessions.Answered{{Seq: waits.Messages[0].Seq}}, Messages: []sessions.Message{sessions.UserMessage(in)},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What came to a conversation that is part of another one now goes with that.
func TestJoinMovesFiles(t *testing.T) {
	ctx := t.Context()
	files, err := media.Open(t.TempDir(), media.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := app.Filing(sqlitetest.Open(t, nil), files)
	from, to := channels.MustKey("whatsapp:800@lid"), channels.MustKey("whatsapp:+15550000002")
	in := channels.Inbound{Key: from, ID: "1", Attachments: []channels.Attachment{{Ref: "r"}}}
	if _, err := s.Accept(ctx, sessions.Entry{Inbound: in}); err != nil {
		t.Fatal(err)
	}
	a, err := files.Keep(ctx, in, 0, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "a picture")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Join(ctx, from, to); err != nil {
		t.Fatal(err)
	}
	if n, _, err := files.ReadPart(to, a.File, make([]byte, 20), 0); err != nil || n != len("a picture") {
		t.Errorf("ReadPart in the joined conversation = %d, %v", n, err)
	}
	if err := s.Delete(ctx, to); err != nil && !errors.Is(err, sessions.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := files.Open(a.File); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open after Delete = %v, want it to be gone", err)
	}
}

// dying is a store that never gets to join anything.
func dying(s *engine.Store) *engine.Store {
	return engine.New(spoiled{Backend: s.Backend(), before: errDied}, "dying", nil)
}

var errDied = errors.New("the process died")

// A join that a crash cuts off loses no file, wherever that was, and however
// long nobody writes afterwards.
func TestJoinCutOff(t *testing.T) {
	from, to := channels.MustKey("whatsapp:800@lid"), channels.MustKey("whatsapp:+15550000002")
	for name, both := range map[string]bool{"alone": false, "both have files": true} {
		t.Run(name, func(t *testing.T) {
			c := newCabinet(t)
			want := []string{c.file(from.String(), "800@lid", "1", false)}
			if both {
				want = append(want, c.file(to.String(), "+15550000002", "2", false))
			}
			days := 0
			later := func(when string) {
				t.Helper()
				days += 2
				if n, err := app.Tidy(t.Context(), c.store, c.files, time.Now().Add(time.Duration(days)*24*time.Hour)); err != nil {
					t.Errorf("Tidy = %d, %v", n, err)
				}
				c.kept(when, want...)
			}
			store := c.store.Store
			later("before")
			if err := app.Filing(dying(store), c.files).Join(t.Context(), from, to); !errors.Is(err, errDied) {
				t.Fatalf("Join = %v", err)
			}
			later("the store was not joined")
			if err := app.Filing(dying(store), c.files).Join(t.Context(), from, to); !errors.Is(err, errDied) {
				t.Fatalf("Join = %v", err)
			}
			if err := store.Join(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			later("the store was joined, and the files were not moved")
			if err := c.store.Join(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			later("all was joined")
			if err := c.store.Delete(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			c.kept("deleted")
		})
	}
}

// Who is erased while files have two names is erased from both.
func TestEraseInAJoin(t *testing.T) {
	c := newCabinet(t)
	from, to := channels.MustKey("whatsapp:800@lid"), channels.MustKey("whatsapp:+15550000002")
	c.file(from.String(), "800@lid", "1", false)
	if err := app.Filing(dying(c.store.Store), c.files).Join(t.Context(), from, to); !errors.Is(err, errDied) {
		t.Fatalf("Join = %v", err)
	}
	if _, err := c.store.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "whatsapp", ID: "800@lid"}}}); err != nil {
		t.Fatal(err)
	}
	c.kept("erased")
}
