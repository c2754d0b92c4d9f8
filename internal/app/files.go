package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/media"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// filing wraps the store and deletes the attachments of everything that the store
// deletes. The store deletes first: a crash in between leaves files without
// messages, which the repeated request removes, instead of messages without files.
type filing struct {
	crashStore
	files *media.Store
	kept  *channelErasers // nil: no channel keeps data
	// tell publishes an event. Nil: there is no stream.
	tell func(stream.Event)
}

// Delete also removes the conversation's files.
func (f filing) Delete(ctx context.Context, k channels.Key) error {
	err := f.crashStore.Delete(ctx, k)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	return errors.Join(err, f.files.Remove(k))
}

// Expire also removes the files of the conversations that it deletes.
func (f filing) Expire(ctx context.Context, before time.Time, limit int) ([]channels.Key, error) {
	keys, err := f.crashStore.Expire(ctx, before, limit)
	errs := []error{err}
	for _, k := range keys {
		errs = append(errs, f.files.Remove(k))
	}
	return keys, errors.Join(errs...)
}

// Restore leaves out tokens, codes and pending approvals: what is imported into a running
// store may come from anybody.
func (f filing) Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error) {
	return f.crashStore.Restore(ctx, engine.WithoutSecrets(next))
}

// Join also moves the files. While the store joins, they belong to both
// conversations, so that a crash in between loses none.
func (f filing) Join(ctx context.Context, from, to channels.Key) error {
	if from.Channel() != to.Channel() {
		return f.crashStore.Join(ctx, from, to)
	}
	err := f.files.Share(from, to)
	if err == nil {
		err = f.crashStore.Join(ctx, from, to)
	}
	if err == nil {
		err = f.files.Join(from, to)
	}
	return err
}

// Erase also removes the files of what is erased, and the data that channels keep
// of it. The channels come first: if they fail, nothing has changed. The store names
// the files of answered messages; e names those of waiting messages too, which a
// turn may have fetched already.
func (f filing) Erase(ctx context.Context, e sessions.Erasure) (erased sessions.Erased, err error) {
	passPoint("erase.begun")
	noted, err := f.kept.erase(ctx, e, func() error {
		erased, err = f.erase(ctx, e)
		return err
	})
	erased.Noted = noted
	passPoint("erase.done")
	return erased, err
}

// erase erases from the store, removes the files and returns their names.
func (f filing) erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	passPoint("erase.noted")
	erased, err := f.crashStore.Erase(ctx, e)
	if keeper, ok := f.Backend().(interface{ Kept() []string }); ok && !erased.Empty() {
		erased.Left = keeper.Kept()
	}
	passPoint("erase.store")
	if err != nil && erased.Empty() {
		return erased, err
	}
	all, errs := slices.Concat(e.Files, erased.Files), []error{err}
	for _, k := range e.Keys {
		more, err := f.files.Files(k)
		all, errs = append(all, more...), append(errs, err)
	}
	slices.Sort(all) // most are there twice
	erased.Files, err = f.files.RemoveFiles(slices.Compact(all))
	errs = append(errs, err)
	for _, k := range e.Keys {
		errs = append(errs, f.files.Remove(k))
	}
	passPoint("erase.files")
	return erased, errors.Join(errs...)
}

const (
	tidyEvery = 24 * time.Hour
	// tidyFirst lets the daemon first catch up with its messages.
	tidyFirst = 5 * time.Minute
	// tidyAge is how old a file must be to be removed if no transcript names it. The
	// time for which a turn can be postponed is added.
	tidyAge = 24 * time.Hour
)

// tidyFiles removes once a day the files that no transcript names, until ctx ends.
func (d *Daemon) tidyFiles(ctx context.Context) {
	t := time.NewTimer(tidyFirst)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		n, err := tidy(ctx, d.store, d.files, time.Now().Add(-tidyAge-d.cfg.Agent.GiveUpAfter.D()))
		if n > 0 {
			d.log.Info("removed files that no message names", "files", n)
		}
		if err != nil && ctx.Err() == nil {
			d.log.Warn("not all files could be checked; trying again in a day", "err", err)
		}
		t.Reset(tidyEvery)
	}
}

func tidy(ctx context.Context, store filing, files *media.Store, before time.Time) (int, error) {
	return files.Tidy(ctx, before, transcripts{store})
}

// transcripts answers, from the store, which files a conversation still names.
type transcripts struct{ store filing }

// Exists implements [media.Transcripts].
func (t transcripts) Exists(ctx context.Context, k channels.Key) (bool, error) {
	_, err := t.store.Conversation(ctx, k)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Files implements [media.Transcripts].
func (t transcripts) Files(ctx context.Context, k channels.Key) (files []string, err error) {
	const page = 200
	for after := int64(0); ; {
		msgs, err := t.store.Messages(ctx, k, after, page)
		if err != nil || len(msgs) == 0 {
			return files, err
		}
		for _, m := range msgs {
			for _, a := range m.Attachments {
				if a.File != "" {
					files = append(files, a.File)
				}
			}
		}
		after = msgs[len(msgs)-1].Seq
	}
}
