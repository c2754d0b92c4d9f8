package erasure_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/sqlite/sqlitetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// filled is a store with one answered chat, and one person who asks to be let in.
func filled(t *testing.T) *sqlitetest.Store {
	t.Helper()
	s := sqlitetest.Open(t, now)
	m := channels.Inbound{Key: channels.MustKey("telegram:1"), ID: "a", Text: "hello", Sender: channels.Person{IDs: []string{"1"}}}
	_, err := s.Accept(t.Context(), sessions.Entry{
		Inbound: m, Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hello"}, {Role: sessions.RoleAssistant, Content: "hi"}},
	})
	if err == nil {
		_, _, err = s.RequestPairing(t.Context(), sessions.Pairing{Channel: "telegram", PersonID: "7", Name: "Ann", Code: "AAAA-BBBB", Expires: now().Add(time.Hour)}, now(), 3)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// cutting is a store whose Erase fails before or after it erases.
type cutting struct {
	erasure.Store
	before, after error
	saw           func()
	more          sessions.Erased // counts that no plan has
}

func (c *cutting) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	if c.saw != nil {
		c.saw()
	}
	if c.before == nil {
		got, err = c.Store.Erase(ctx, e)
		got.Noted, c.more = c.more.Noted, sessions.Erased{}
	}
	return got, errors.Join(c.before, err, c.after)
}

// erasing is an Eraser with files for the intention and the log.
func erasing(t *testing.T) (e *erasure.Eraser, s *cutting, states func() string, file string) {
	t.Helper()
	dir := t.TempDir()
	file, audit := filepath.Join(dir, "erasing.json"), filepath.Join(dir, "audit.log")
	s = &cutting{Store: filled(t)}
	e = erasure.New(erasure.Options{
		Store: s, Log: erasure.Log{Path: audit, Now: now}, File: file, Now: now,
	})
	return e, s, func() string {
		data, err := os.ReadFile(audit)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		var all []string
		for line := range strings.Lines(string(data)) {
			_, rest, _ := strings.Cut(line, `"state":"`)
			state, _, _ := strings.Cut(rest, `"`)
			all = append(all, state)
		}
		return strings.Join(all, ", ")
	}, file
}

var ann = sessions.Erasure{Keys: []channels.Key{channels.MustKey("telegram:1")}}

// The log line and the intention are written before anything is erased.
func TestEraseIsNotedBefore(t *testing.T) {
	e, s, states, file := erasing(t)
	s.saw = func() {
		if got := states(); got != "begun" {
			t.Errorf("the audit log says %q while the store erases, want begun", got)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "telegram:1") {
			t.Errorf("%s holds %q, %v", file, data, err)
		}
	}
	if _, err := e.Erase(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "begun, done" {
		t.Errorf("the audit log says %q", got)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the intention is still there: %v", err)
	}
}

// An erasure of an unknown key is logged like any other, and returns ErrNotFound. A
// channel's own files may still have the key.
func TestEraseOfTheUnknown(t *testing.T) {
	unknown := sessions.Erasure{Keys: []channels.Key{channels.MustKey("telegram:404")}, Senders: []sessions.Sender{{Channel: "telegram", ID: "404"}}}
	for _, test := range []struct {
		name string
		more sessions.Erased
		cut  error
		want string
	}{
		{"known nowhere", sessions.Erased{}, nil, "begun, done"},
		{"notes of a channel", sessions.Erased{Noted: 2}, nil, "begun, done"},
		{"notes of a channel, cut off", sessions.Erased{Noted: 2}, errors.New("disk trouble"), "begun, files left, done"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, s, states, file := erasing(t)
			s.more, s.after = test.more, test.cut
			s.saw = func() {
				if got := states(); got != "begun" {
					t.Errorf("the audit log says %q while the store erases, want begun", got)
				}
			}
			got, err := e.Erase(t.Context(), unknown)
			if known := test.more.Noted > 0; errors.Is(err, sessions.ErrNotFound) == known || known && test.cut == nil && err != nil {
				t.Errorf("Erase = %+v, %v", got, err)
			}
			s.saw, s.after = nil, nil
			if found, err := e.Finish(t.Context()); err != nil || found != (test.cut != nil) {
				t.Errorf("Finish = %v, %v", found, err)
			}
			if got := states(); got != test.want {
				t.Errorf("the audit log says %q, want %q", got, test.want)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the intention is left: %v", err)
			}
		})
	}
}

// An erasure whose intention or log line cannot be written erases nothing.
func TestEraseWithoutANote(t *testing.T) {
	e, s, _, file := erasing(t)
	if err := os.Mkdir(file+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	s.saw = func() { t.Error("the store is asked to erase") }
	if _, err := e.Erase(t.Context(), ann); err == nil || !strings.Contains(err.Error(), "nothing was erased") {
		t.Errorf("Erase = %v", err)
	}
}

// An erasure that left something is finished by the next one, and at the start. One
// that changed nothing is not kept.
func TestEraseIsFinished(t *testing.T) {
	trouble := errors.New("disk trouble")
	for _, test := range []struct {
		name          string
		before, after error
		finish        func(e *erasure.Eraser) error
		cutOff        bool
		want          string
	}{
		{"traces left, the same again", nil, trouble, func(e *erasure.Eraser) error {
			_, err := e.Erase(t.Context(), ann)
			return err
		}, true, "begun, files left, done"},
		{"traces left, a start", nil, trouble, func(e *erasure.Eraser) error {
			found, err := e.Finish(t.Context())
			if err == nil && !found {
				err = errors.New("nothing was found to finish")
			}
			return err
		}, true, "begun, files left, done"},
		{"traces left, then another", nil, trouble, func(e *erasure.Eraser) error {
			_, err := e.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "telegram", ID: "7"}}})
			return err
		}, true, "begun, files left, done, begun, done"},
		{"nothing happened", trouble, nil, func(e *erasure.Eraser) error {
			_, err := e.Erase(t.Context(), ann)
			return err
		}, false, "begun, failed, begun, done"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, s, states, file := erasing(t)
			s.before, s.after = test.before, test.after
			if _, err := e.Erase(t.Context(), ann); err == nil {
				t.Error("the first Erase succeeds")
			}
			plan, err := e.Plan(t.Context(), channels.MustKey("telegram:1"), false)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.CutOff(); got != test.cutOff || plan.Unfinished.IsZero() == test.cutOff {
				t.Errorf("CutOff = %v, and the plan says %v, want %v", got, plan.Unfinished, test.cutOff)
			}
			s.before, s.after = nil, nil
			if err := test.finish(e); err != nil {
				t.Error(err)
			}
			if got := states(); got != test.want {
				t.Errorf("the audit log says %q, want %q", got, test.want)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the intention is left: %v", err)
			}
			if found, err := e.Finish(t.Context()); err != nil || found {
				t.Errorf("Finish afterwards = %v, %v", found, err)
			}
		})
	}
}

// A crash after the last log line does not lead to a second erasure. An erasure that
// a crash interrupted before its first line gets that line when it is finished.
func TestEraseAfterACrash(t *testing.T) {
	e, s, states, file := erasing(t)
	var written []byte
	s.saw = func() { written, _ = os.ReadFile(file) }
	if _, err := e.Erase(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, written, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := e.Finish(t.Context()); err != nil || found {
		t.Errorf("Finish = %v, %v, want nothing to finish", found, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(written), `"id":"`, `"id":"other`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := e.Finish(t.Context()); err != nil || !found {
		t.Errorf("Finish = %v, %v, want that it is carried out", found, err)
	}
	if got, want := states(), "begun, done, begun, done"; got != want {
		t.Errorf("the audit log says %q, want %q", got, want)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Erase(t.Context(), ann); err == nil {
		t.Error("Erase passes over an intention that it cannot read")
	}
}

// Gone is called once for each deleted conversation, even if the erasure is finished
// later, and not for keys that are no conversation.
func TestEraseTellsOfConversations(t *testing.T) {
	var told []string
	s := &cutting{Store: filled(t)}
	e := erasure.New(erasure.Options{
		Store: s, File: filepath.Join(t.TempDir(), "erasing.json"), Now: now,
		Gone: func(k channels.Key) { told = append(told, k.String()) },
	})
	both := ann
	both.Keys = append([]channels.Key{channels.MustKey("telegram:7")}, ann.Keys...)
	both.Senders = []sessions.Sender{{Channel: "telegram", ID: "7"}}
	s.before = errors.New("disk trouble")
	if _, err := e.Erase(t.Context(), both); err == nil || len(told) != 0 {
		t.Errorf("Erase = %v, and Gone was called with %q", err, told)
	}
	s.before, s.after = nil, errors.New("traces are left")
	if _, err := e.Erase(t.Context(), both); err == nil {
		t.Error("Erase succeeds and leaves traces")
	}
	s.after = nil
	if _, err := e.Erase(t.Context(), both); err != nil {
		t.Error(err)
	}
	if want := []string{"telegram:1"}; !slices.Equal(told, want) {
		t.Errorf("Gone was called with %q, want %q", told, want)
	}
}
