package app

import (
	"context"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/internal/media"
	"dragoman/internal/storage"
	"dragoman/sessions/erasure"
)

// auditLog is the log of what operators and people do to conversations.
func auditLog(state *storage.Dir) erasure.Log {
	return erasure.Log{Path: state.File(storage.AuditName)}
}

// newEraser makes the eraser of store, whose type is used. It emits an event for
// each erased conversation.
func newEraser(store erasure.Store, state *storage.Dir, used string, emit func(event.Event)) *erasure.Eraser {
	return erasure.New(erasure.Options{
		Store: store, Log: auditLog(state), File: state.File(storage.ErasingName), FileName: media.Name,
		Leftovers: func() ([]string, error) { return storage.Leftovers(state.Path, used) },
		Gone: func(k channels.Key) {
			emit(event.Event{Event: event.SessionDelete, At: time.Now(), Key: k, Why: "erased"})
		},
	})
}

// finishErase finishes an erasure that was interrupted when the last daemon died.
// It runs in the background, because it can take as long as a copy of the store.
func (d *Daemon) finishErase(ctx context.Context) {
	found, err := d.eraser.Finish(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		d.log.Error("an interrupted erasure could not be finished; run dragoman sessions erase again", "err", err)
	case found:
		d.log.Info("finished an interrupted erasure")
	}
}
