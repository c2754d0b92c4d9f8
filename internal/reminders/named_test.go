package reminders_test

import (
	"errors"
	"testing"
	"time"

	"dragoman/heartbeat"
	"dragoman/sessions"
)

// state is what a list says of the only reminder: when it is due, and why not.
func (w *world) state() string {
	w.t.Helper()
	all, err := w.book.All(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(all) != 1 {
		return "none"
	}
	return all[0].Due.Format("15:04 ") + all[0].Paused
}

// A reminder can be paused and resumed, changed, and cancelled and brought back for an hour.
func TestNamed(t *testing.T) {
	w := newWorld(t)
	job, err := w.book.Add(t.Context(), ann, heartbeat.Order{Text: "tea", When: heartbeat.When{Every: "2h"}})
	if err != nil || job != "telegram:42/r1" {
		t.Fatalf("Add = %q, %v", job, err)
	}
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"made", func() error { return nil }, "12:00 "},
		{"paused", func() error { return w.book.PauseNamed(t.Context(), job, "Ann paused it") }, "00:00 Ann paused it"},
		{"resumed five hours later", func() error {
			w.now = w.now.Add(5 * time.Hour)
			return w.book.ResumeNamed(t.Context(), job)
		}, "16:00 "},
		{"changed", func() error {
			return w.book.ChangeNamed(t.Context(), job, heartbeat.Order{Text: "coffee", When: heartbeat.When{Every: "3h"}})
		}, "18:00 "},
		{"cancelled", func() error { return w.book.CancelNamed(t.Context(), job) }, "none"},
		{"brought back", func() error { return w.book.RestoreNamed(t.Context(), job) }, "18:00 "},
		{"paused and cancelled", func() error {
			return errors.Join(w.book.PauseNamed(t.Context(), job, "Ann paused it"), w.book.CancelNamed(t.Context(), job))
		}, "none"},
		{"brought back as it was", func() error { return w.book.RestoreNamed(t.Context(), job) }, "00:00 Ann paused it"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := w.state(); got != step.want {
			t.Errorf("%s: the reminder is %q, want %q", step.name, got, step.want)
		}
	}
	if err := w.book.CancelNamed(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * time.Hour)
	for what, err := range map[string]error{
		"restore after two hours": w.book.RestoreNamed(t.Context(), job),
		"change":                  w.book.ChangeNamed(t.Context(), job, heartbeat.Order{Text: "milk"}),
		"cancel what is none":     w.book.CancelNamed(t.Context(), "telegram:42/last"),
		"pause a job":             w.book.PauseNamed(t.Context(), "morning", "x"),
	} {
		if !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s = %v, want ErrNotFound", what, err)
		}
	}
}

// A list has what comes, as far as it was asked for; a resumed reminder whose time is over is
// refused.
func TestNamedUpcoming(t *testing.T) {
	w := newWorld(t)
	job, err := w.book.Add(t.Context(), ann, heartbeat.Order{Text: "tea", When: heartbeat.When{Every: "2h"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.book.Upcoming(t.Context(), job, w.now.Add(7*time.Hour), 10)
	if err != nil || len(list) != 3 || list[2].Format("15:04") != "16:00" {
		t.Errorf("Upcoming = %v, %v; want three, the last at 16:00", list, err)
	}
	once, err := w.book.Add(t.Context(), ann, heartbeat.Order{Text: "milk", When: heartbeat.When{In: "1h"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.book.PauseNamed(t.Context(), once, "Ann paused it"); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * time.Hour)
	var refusal heartbeat.Refusal
	if err := w.book.ResumeNamed(t.Context(), once); !errors.As(err, &refusal) {
		t.Errorf("ResumeNamed = %v, want a refusal: its time is over", err)
	}
}
