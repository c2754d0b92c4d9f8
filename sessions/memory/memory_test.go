package memory_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) sessions.Store {
	return openAt(t, nil)
}

func openAt(t *testing.T, now func() time.Time) sessions.Store {
	s := memory.New(memory.Options{Now: now})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestStoreClock(t *testing.T) { storetest.RunClocked(t, openAt) }

func FuzzText(f *testing.F) { storetest.FuzzText(f, open) }

func TestCopies(t *testing.T) { storetest.RunCopies(t, open, open) }

// TestStepsThatRunTwice: a step does nothing but read, so nobody sees that it
// ran before.
func TestStepsThatRunTwice(t *testing.T) {
	twiceAt := func(t *testing.T, now func() time.Time) sessions.Store {
		return engine.New(rowstest.Twice(openAt(t, now).(*memory.Store).Backend()), "memory", now)
	}
	twice := func(t *testing.T) sessions.Store { return twiceAt(t, nil) }
	storetest.Run(t, twice)
	storetest.RunClocked(t, twiceAt)
	storetest.RunCopies(t, twice, twice)
}

func TestRows(t *testing.T) {
	rowstest.Run(t, func(t *testing.T) rows.Backend { return open(t).(*memory.Store).Backend() })
}
