package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/sessions"
)

// shelf is the notes of a store.
type shelf struct {
	mu     sync.Mutex
	notes  []sessions.Note
	writes int
	reads  int
	broken bool
}

func (s *shelf) Notes(_ context.Context, f sessions.NoteFilter) (list []sessions.Note, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	for _, n := range s.notes {
		if n.Kind == f.Kind {
			list = append(list, n)
		}
	}
	return list, nil
}

func (s *shelf) ChangeNotes(_ context.Context, kind, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.broken {
		return errors.New("full")
	}
	is := func(n sessions.Note) bool { return n.Kind == kind && n.Owner == owner }
	var have []sessions.Note
	for _, n := range s.notes {
		if is(n) {
			have = append(have, n)
		}
	}
	put, remove, err := change(have)
	gone := func(n sessions.Note) bool {
		again := func(p sessions.Note) bool { return p.Name == n.Name }
		return is(n) && (slices.Contains(remove, n.Name) || slices.ContainsFunc(put, again))
	}
	s.notes = slices.DeleteFunc(s.notes, gone)
	for _, n := range put {
		n.Kind = kind
		n.Owner = owner
		n.At = time.Now()
		s.notes = append(s.notes, n)
	}
	return err
}

// has is how many notes there are, and how often they were written.
func (s *shelf) has() (notes, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.notes), s.writes
}

// process is one that makes calls.
func (s *shelf) process(t *testing.T, shared bool) (c *admission.Calls, kill func()) {
	c = admission.NewCalls(s, admission.CallsOptions{Shared: shared})
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		c.Run(ctx)
		close(over)
	}()
	kill = func() {
		end()
		<-over
	}
	t.Cleanup(kill)
	return c, kill
}

// a call of a turn.
func callOf(turn string, steps int) admission.Underway {
	return admission.Underway{Turn: turn, Steps: steps, Call: admission.Call{Model: "m", Input: 70}, Key: channels.MustKey("net:1"), Owner: "net:1"}
}

// A call that runs for five seconds is noted, and one that ends before costs no write. So do
// many, one after the other. When the last long one has ended, nothing is left.
func TestCallsAreNotedIfTheyAreLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		c, _ := s.process(t, false)
		for range 20 {
			id := c.Begin(callOf("short", 0))
			time.Sleep(4 * time.Second)
			c.End(id)
		}
		if _, writes := s.has(); writes != 0 {
			t.Errorf("short calls cost %d writes, want none", writes)
		}
		id := c.Begin(callOf("long", 0))
		time.Sleep(time.Minute)
		if notes, writes := s.has(); writes != 1 || notes != 1 {
			t.Errorf("a long call costs %d writes, and %d notes are there; want one each", writes, notes)
		}
		c.End(id)
		time.Sleep(time.Minute)
		if notes, writes := s.has(); writes != 2 || notes != 0 {
			t.Errorf("then there were %d writes, and %d notes are there; want 2 and none", writes, notes)
		}
	})
}

// Other nodes read what runs for as long as its node says so, and 15 seconds longer if it is
// gone. Many calls take several notes.
func TestCallsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		a, kill := s.process(t, true)
		b, _ := s.process(t, true)
		for i := range 120 {
			a.Begin(callOf(fmt.Sprint("turn ", i), 0))
		}
		elsewhere := func(c *admission.Calls) int {
			list, err := c.Elsewhere(t.Context())
			if err != nil {
				t.Error(err)
			}
			return len(list)
		}
		time.Sleep(time.Minute)
		notes, _ := s.has()
		if elsewhere(a) != 0 || elsewhere(b) != 120 || notes != 3 {
			t.Errorf("there are %d calls beside those here, and %d elsewhere, in %d notes; want 0, 120 and 3", elsewhere(a), elsewhere(b), notes)
		}
		kill()
		time.Sleep(9 * time.Second)
		if elsewhere(b) != 120 {
			t.Errorf("%d calls are elsewhere after nine seconds, want them all", elsewhere(b))
		}
		time.Sleep(7 * time.Second)
		if elsewhere(b) != 0 {
			t.Errorf("%d calls run on a node that is gone, want none", elsewhere(b))
		}
	})
}

// Whoever goes on with a turn after a crash finds the call that was cut, unless the journal
// has its answer, or has it.
func TestCallsThatWereCut(t *testing.T) {
	model := sessions.Step{Kind: sessions.StepModel}
	within := sessions.Step{Kind: sessions.StepModel, Within: "task"}
	done := sessions.Step{Kind: sessions.StepToolDone, CallID: "task"}
	task := callOf("1", 1)
	task.Within = "task"
	for name, test := range map[string]struct {
		noted   admission.Underway
		journal []sessions.Step
		want    int
	}{
		"the first":                    {callOf("1", 0), nil, 1},
		"a later one":                  {callOf("1", 1), []sessions.Step{model}, 1},
		"answered":                     {callOf("1", 0), []sessions.Step{model}, 0},
		"of another turn":              {callOf("2", 0), nil, 0},
		"of a task":                    {task, []sessions.Step{model, model, within}, 1},
		"of a task, answered":          {task, []sessions.Step{model, within, within}, 0},
		"of a task that has ended":     {task, []sessions.Step{model, within, done}, 0},
		"beside the answers of a task": {callOf("1", 1), []sessions.Step{model, within, within}, 1},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(name, shared), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &shelf{}
					a, kill := s.process(t, shared)
					a.Begin(test.noted)
					time.Sleep(7 * time.Second)
					kill()
					b, _ := s.process(t, shared)
					cut, err := b.Cut(t.Context(), "1", test.journal)
					if err != nil || len(cut) != test.want {
						t.Fatalf("Cut = %v, %v; want %d", cut, err, test.want)
					}
					for _, u := range cut {
						test.journal = append(test.journal, u.Step(time.Now()))
					}
					again, err := b.Cut(t.Context(), "1", test.journal)
					if err != nil || len(again) != 0 {
						t.Errorf("once it is in the journal Cut = %v, %v; want none", again, err)
					}
				})
			})
		}
	}
}

// One node alone reads what was left once, however many turns go on.
func TestWhatWasLeftIsReadOnce(t *testing.T) {
	s := &shelf{}
	c := admission.NewCalls(s, admission.CallsOptions{})
	for range 100 {
		_, err := c.Cut(t.Context(), "1", nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.reads != 1 {
		t.Errorf("the store was read %d times, want once", s.reads)
	}
}

// The calls of a turn that is tried again leave the note at once, and cost nothing if they are
// not there.
func TestCallsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		c, kill := s.process(t, false)
		long := c.Begin(callOf("1", 0))
		c.Begin(callOf("2", 0))
		time.Sleep(7 * time.Second)
		short := c.Begin(callOf("1", 0))
		c.End(short)
		err := c.Leave(t.Context(), []string{short})
		if _, writes := s.has(); err != nil || writes != 1 {
			t.Errorf("Leave of a short call = %v, after %d writes; want one", err, writes)
		}
		c.End(long)
		err = c.Leave(t.Context(), []string{long, short})
		kill()
		if err != nil || len(s.notes) != 1 || strings.Contains(string(s.notes[0].Data), `"turn":"1"`) {
			t.Errorf("Leave = %v, and the notes are %+v; want the other turn alone", err, s.notes)
		}
	})
}

// A store that fails for a while gets the note a second after it works again.
func TestCallsAreNotedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{broken: true}
		c, _ := s.process(t, false)
		c.Begin(callOf("1", 0))
		time.Sleep(20 * time.Second)
		s.mu.Lock()
		s.broken = false
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		if notes, _ := s.has(); notes != 1 {
			t.Errorf("%d notes are there, want one", notes)
		}
	})
}
