package bench_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// inside is what a turn asks of the store, timed without all that is around
// it: reading the history and committing the answer.
type inside struct{ history, commit []time.Duration }

// measureInside runs turns on the store alone, in pairs of a long and a new
// conversation. The daemon must have ended: the store is one process's.
func measureInside(t *testing.T, state string, pairs int) (long, young inside) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(state, "dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, stop := context.WithCancel(t.Context())
	took := map[channels.Key]*inside{
		channels.MustKey(fmt.Sprintf("telegram:%d", longChat)): &long,
		channels.MustKey("telegram:9999"):                      &young,
	}
	ended, ran := make(chan error, 1), make(chan error, 1)
	go func() {
		ran <- store.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			ended <- insideTurn(ctx, store, c, took[c.Key])
			return nil
		})
	}()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	for i := range pairs {
		for k := range took {
			_, err := store.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{
				Key: k, ID: fmt.Sprintf("inside %s %d", k, i), Sender: channels.Person{IDs: []string{"1"}}, Text: "And now?", At: time.Now(),
			}})
			if err == nil {
				err = <-ended
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, in := range took {
		slices.Sort(in.history)
		slices.Sort(in.commit)
	}
	return long, young
}

// insideTurn does what the gateway does with the store, as far as the length
// of a conversation could matter to it.
func insideTurn(ctx context.Context, store *engine.Store, c sessions.Claim, took *inside) error {
	p, err := store.Pending(ctx, c, 1)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := store.History(ctx, c.Key, sessions.HistoryLimit{Messages: 8, Bytes: 2 << 20}); err != nil {
		return err
	}
	read := time.Now()
	err = store.CommitTurn(ctx, c, sessions.Turn{
		ID: fmt.Sprint("inside-", p.Messages[0].Seq), Answers: []sessions.Answered{{Seq: p.Messages[0].Seq}},
		Messages: []sessions.Message{
			{Role: sessions.RoleUser, Content: p.Messages[0].Inbound.Text}, {Role: sessions.RoleAssistant, Content: "Nothing new."},
		},
	})
	took.history, took.commit = append(took.history, read.Sub(began)), append(took.commit, time.Since(read))
	return err
}
