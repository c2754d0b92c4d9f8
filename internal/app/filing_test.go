package app_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/app"
	"dragoman/internal/media"
	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// spoiled is a store whose Erase leaves traces or fails.
type spoiled struct {
	sessions.Store
	before, after error
}

func (s spoiled) Erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	if s.before != nil {
		return sessions.Erased{}, s.before
	}
	got, err := s.Store.Erase(ctx, e)
	return got, errors.Join(err, s.after)
}

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
			test.spoil.Store = memory.New(memory.Options{})
			s := app.Filing(test.spoil, files)
			defer s.Close()
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
				answer(t, s, in, a)
			}
			_, err = s.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "telegram", ID: "71"}}})
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
func answer(t *testing.T, s sessions.Store, in channels.Inbound, a channels.Attachment) {
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
	s := app.Filing(memory.New(memory.Options{}), files)
	defer s.Close()
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

// What a crash left of a conversation that has expired goes with the next
// sweep. Files of a conversation that is there, or that are young, stay.
func TestExpireRemovesWhatACrashLeft(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	files, err := media.Open(dir, media.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := app.Filing(memory.New(memory.Options{}), files)
	defer s.Close()
	month := time.Now().AddDate(0, -1, 0)
	keep := func(key string, at time.Time) string {
		t.Helper()
		in := channels.Inbound{Key: channels.MustKey(key), ID: key, Attachments: []channels.Attachment{{Ref: "r"}}}
		a, err := files.Keep(ctx, in, 0, func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "a picture")
			return err
		})
		if err != nil || a.File == "" {
			t.Fatalf("Keep = %+v, %v", a, err)
		}
		if err := os.Chtimes(filepath.Join(dir, in.Key.FileName()), at, at); err != nil {
			t.Fatal(err)
		}
		return a.File
	}
	left, young, alive := keep("telegram:Left#1", month), keep("telegram:2", time.Now()), keep("telegram:3", month)
	if err := s.Configure(ctx, channels.MustKey("telegram:3"), func(set *sessions.Settings) { set.Tags = []string{"mine"} }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Expire(ctx, time.Now().AddDate(0, 0, -7), 100); err != nil {
		t.Fatal(err)
	}
	for file, gone := range map[string]bool{left: true, young: false, alive: false} {
		f, err := files.Open(file)
		if errors.Is(err, fs.ErrNotExist) != gone {
			t.Errorf("Open(%s) = %v, want gone = %v", file, err, gone)
		}
		if err == nil {
			f.Close()
		}
	}
}
