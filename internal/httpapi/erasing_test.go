package httpapi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

// cutting is a store whose Erase fails before it does anything, or after.
type cutting struct {
	httpapi.Store
	before, after error
	saw           func()
	// copies of the store lie beside it and go; more is what only an erasure finds.
	copies []string
	more   sessions.Erased
}

func (c *cutting) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	if c.saw != nil {
		c.saw()
	}
	if c.before == nil {
		got, err = c.Store.Erase(ctx, e)
		got.Copies, c.copies = c.copies, nil
		got.Noted, c.more = c.more.Noted, sessions.Erased{}
	}
	return got, errors.Join(c.before, err, c.after)
}

// erasing is an operator's verbs with files for the intention and the log.
func erasing(t *testing.T) (c *httpapi.Client, s *cutting, states func() string, file string) {
	t.Helper()
	dir := t.TempDir()
	file, audit := filepath.Join(dir, "erasing.json"), filepath.Join(dir, "audit.log")
	s = &cutting{Store: filled(t)}
	c = httpapi.InProcess(httpapi.Admin(httpapi.AdminOptions{
		Store: s, AuditFile: audit, Erasing: file, Now: now, Info: func() httpapi.Info { return httpapi.Info{} },
		Beside: func() (copies, others []string, err error) { return s.copies, nil, nil },
	}))
	t.Cleanup(c.Close)
	return c, s, func() string {
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

// There is a line about an erasure, and what is to go is written down, before
// anything goes.
func TestEraseIsNotedBefore(t *testing.T) {
	c, s, states, file := erasing(t)
	s.saw = func() {
		if got := states(); got != "begun" {
			t.Errorf("the audit log says %q while the store erases, want begun", got)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "telegram:1") {
			t.Errorf("%s holds %q, %v", file, data, err)
		}
	}
	if _, err := c.Erase(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "begun, done" {
		t.Errorf("the audit log says %q", got)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is to go is still written down: %v", err)
	}
}

// Of a key that the store does not know nothing is touched, and nothing written.
// But a copy of the store may hold it still, and the notes of a channel: then it
// is an erasure like any other, with both lines.
func TestEraseOfTheUnknown(t *testing.T) {
	unknown := sessions.Erasure{Keys: []channels.Key{channels.MustKey("telegram:404")}, Senders: []sessions.Sender{{Channel: "telegram", ID: "404"}}}
	for _, test := range []struct {
		name      string
		copies    []string
		more      sessions.Erased
		cut       error
		meanwhile string
		want      string
	}{
		{"known nowhere", nil, sessions.Erased{}, nil, "", ""},
		{"a copy", []string{"dragoman.db.before-v2"}, sessions.Erased{}, nil, "begun", "begun, done"},
		{"a copy, cut off", []string{"dragoman.db.before-v2"}, sessions.Erased{}, errors.New("disk trouble"), "begun", "begun, files left, done"},
		{"notes of a channel", nil, sessions.Erased{Noted: 2}, nil, "", "begun, done"},
		{"notes of a channel, cut off", nil, sessions.Erased{Noted: 2}, errors.New("disk trouble"), "", "begun, files left, done"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s, states, file := erasing(t)
			s.copies, s.more, s.after = test.copies, test.more, test.cut
			s.saw = func() {
				if got := states(); got != test.meanwhile {
					t.Errorf("the audit log says %q while the store erases, want %q", got, test.meanwhile)
				}
			}
			got, err := c.Erase(t.Context(), unknown)
			if known := test.want != ""; errors.Is(err, sessions.ErrNotFound) == known || known && test.cut == nil && (err != nil || !slices.Equal(got.Copies, test.copies)) {
				t.Errorf("Erase = %+v, %v", got, err)
			}
			s.saw, s.after = nil, nil
			if f, err := c.FinishErase(t.Context()); err != nil || f.Found != (test.cut != nil) {
				t.Errorf("FinishErase = %+v, %v", f, err)
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

// What could not be noted is not done.
func TestEraseWithoutANote(t *testing.T) {
	c, s, _, file := erasing(t)
	if err := os.Mkdir(file+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	s.saw = func() { t.Error("the store is asked to erase") }
	if _, err := c.Erase(t.Context(), ann); err == nil || !strings.Contains(err.Error(), "nothing was erased") {
		t.Errorf("Erase = %v", err)
	}
}

// An erasure that left something is finished by the next, and by a start; one
// that came to nothing is not kept.
func TestEraseIsFinished(t *testing.T) {
	trouble := errors.New("disk trouble")
	for _, test := range []struct {
		name          string
		before, after error
		finish        func(c *httpapi.Client) error
		warned        bool
		want          string
	}{
		{"traces left, the same again", nil, trouble, func(c *httpapi.Client) error {
			_, err := c.Erase(t.Context(), ann)
			return err
		}, true, "begun, files left, done"},
		{"traces left, a start", nil, trouble, func(c *httpapi.Client) error {
			f, err := c.FinishErase(t.Context())
			if err == nil && !f.Found {
				err = errors.New("nothing was found to finish")
			}
			return err
		}, true, "begun, files left, done"},
		{"traces left, then another", nil, trouble, func(c *httpapi.Client) error {
			_, err := c.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "telegram", ID: "7"}}})
			return err
		}, true, "begun, files left, done, begun, done"},
		{"nothing happened", trouble, nil, func(c *httpapi.Client) error {
			_, err := c.Erase(t.Context(), ann)
			return err
		}, false, "begun, failed, begun, done"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s, states, file := erasing(t)
			s.before, s.after = test.before, test.after
			if _, err := c.Erase(t.Context(), ann); err == nil {
				t.Error("the first Erase succeeds")
			}
			status, err := c.Status(t.Context())
			plan, planned := c.PlanErase(t.Context(), "telegram:1", false)
			if err = errors.Join(err, planned); err != nil {
				t.Fatal(err)
			}
			if got := len(status.Warnings) > 0; got != test.warned || plan.Unfinished.IsZero() == test.warned {
				t.Errorf("status warns of %v, the plan of %v, want a warning: %v", status.Warnings, plan.Unfinished, test.warned)
			}
			s.before, s.after = nil, nil
			if err := test.finish(c); err != nil {
				t.Error(err)
			}
			if got := states(); got != test.want {
				t.Errorf("the audit log says %q, want %q", got, test.want)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the intention is left: %v", err)
			}
			if f, err := c.FinishErase(t.Context()); err != nil || f.Found {
				t.Errorf("FinishErase afterwards = %+v, %v", f, err)
			}
		})
	}
}

// What a crash left between the last line and the file is no second erasure, and
// one that died before its first line has it all the same.
func TestEraseAfterACrash(t *testing.T) {
	c, s, states, file := erasing(t)
	var written []byte
	s.saw = func() { written, _ = os.ReadFile(file) }
	if _, err := c.Erase(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, written, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := c.FinishErase(t.Context()); err != nil || f.Found {
		t.Errorf("FinishErase = %+v, %v, want nothing to finish", f, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(written), `"id":"`, `"id":"other`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := c.FinishErase(t.Context()); err != nil || !f.Found {
		t.Errorf("FinishErase = %+v, %v, want that it is carried out", f, err)
	}
	if got, want := states(), "begun, done, begun, done"; got != want {
		t.Errorf("the audit log says %q, want %q", got, want)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Erase(t.Context(), ann); err == nil {
		t.Error("Erase passes over an intention that it cannot read")
	}
}

// Hooks hear of the conversations that go, and not of a person's key that never
// was one; an erasure that is finished later tells them then.
func TestEraseTellsOfConversations(t *testing.T) {
	var told []string
	s := &cutting{Store: filled(t)}
	c := httpapi.InProcess(httpapi.Admin(httpapi.AdminOptions{
		Store: s, Erasing: filepath.Join(t.TempDir(), "erasing.json"), Now: now,
		Events: func(e event.Event) { told = append(told, string(e.Event)+" "+e.Key.String()+" "+e.Why) },
	}))
	defer c.Close()
	both := ann
	both.Keys = append([]channels.Key{channels.MustKey("telegram:7")}, ann.Keys...)
	both.Senders = []sessions.Sender{{Channel: "telegram", ID: "7"}}
	s.before = errors.New("disk trouble")
	if _, err := c.Erase(t.Context(), both); err == nil || len(told) != 0 {
		t.Errorf("Erase = %v, and hooks were told %q", err, told)
	}
	s.before, s.after = nil, errors.New("traces are left")
	if _, err := c.Erase(t.Context(), both); err == nil {
		t.Error("Erase succeeds and leaves traces")
	}
	s.after = nil
	if _, err := c.Erase(t.Context(), both); err != nil {
		t.Error(err)
	}
	if want := []string{"session_delete telegram:1 erased"}; !slices.Equal(told, want) {
		t.Errorf("hooks were told %q, want %q", told, want)
	}
}
