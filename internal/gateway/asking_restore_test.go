package gateway_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"dragoman/internal/gateway"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite/sqlitetest"
)

// restored is a new store with what a backup of s has, without what lets somebody in.
func restored(t *testing.T, s *sqlitetest.Store) *sqlitetest.Store {
	t.Helper()
	var all []sessions.Record
	err := s.Dump(t.Context(), nil, func(r sessions.Record) error {
		all = append(all, r)
		return nil
	})
	to := sqlitetest.Open(t, nil)
	next := func() (sessions.Record, error) {
		if len(all) == 0 {
			return sessions.Record{}, io.EOF
		}
		r := all[0]
		all = all[1:]
		return r, nil
	}
	_, failed := to.Restore(t.Context(), engine.WithoutSecrets(next))
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return to
}

// A backup was made while somebody was asked, or had allowed the call. After a restore it
// does not run, nobody is asked again, and the person gets an answer: the call may have run
// since the backup was made.
func TestARestoreWhileSomebodyIsAsked(t *testing.T) {
	for name, allowed := range map[string]bool{"asked": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startAsking(t)
				a.say("1", "go")
				code := a.code("1")
				a.close()
				if allowed {
					a.allow(code)
				}
				store := restored(t, a.store)
				sent := a.net
				b := start(t, a.wire, func(w *world, b *gateway.Binding, o *gateway.Options) {
					w.net = sent
					b.Channel = sent
					w.mem = store
					w.store = storeOf(store)
					o.Actions = newBook(store, a.o)
				})
				synctest.Wait()
				if wrong := a.c.has("", "error: not run: the person was asked about it, and the answer is lost"); wrong != "" {
					t.Error(wrong)
				}
				b.say("1", "/allow "+code)
				synctest.Wait()
				if n := a.questions("1"); n != 1 {
					t.Errorf("%d questions were asked, want one", n)
				}
				if wrong := a.c.has("", "error: not run: the person was asked about it, and the answer is lost"); wrong != "" {
					t.Error("after an answer: " + wrong)
				}
			})
		})
	}
}
