package reference_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/rowstest/reference"
	"dragoman/sessions/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRows(t *testing.T) {
	rowstest.Run(t, func(*testing.T) rows.Backend { return reference.New(nil) })
}

// openAt makes a store whose steps run twice. They only read, so that changes nothing.
func openAt(_ *testing.T, now func() time.Time) *engine.Store {
	return engine.New(rowstest.Twice(reference.New(now)), "reference", now)
}

func open(t *testing.T) *engine.Store { return openAt(t, nil) }

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestStoreClock(t *testing.T) { storetest.RunClocked(t, openAt) }

func TestCopies(t *testing.T) { storetest.RunCopies(t, open, open) }
