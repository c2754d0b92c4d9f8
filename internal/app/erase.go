package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// auditLog is the log of what operators and people do to conversations.
func auditLog(state *storage.Dir) erasure.Log {
	return erasure.Log{Path: state.File(storage.AuditName)}
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

// channelErasers erase from channels that keep data about messages themselves. A
// channel that does not run here (a command, a channel that is turned off or no
// longer configured) is found by its file, or by its tables in the database.
type channelErasers struct {
	cfg     *config.Config
	log     *slog.Logger
	running map[string]channels.Eraser
}

// of finds the eraser of a channel; nil if the channel keeps no data.
func (s *channelErasers) of(ctx context.Context, name string) (channels.Eraser, error) {
	if e := s.running[name]; e != nil {
		return e, nil
	}
	there, err := storage.DeviceThere(ctx, s.cfg, name)
	if err != nil || !there {
		return nil, err
	}
	e, err := openKeeper(name, s.cfg, s.log)
	if err != nil {
		return nil, fmt.Errorf("app: erase from the linked device %s: %w", name, err)
	}
	return e, nil
}

// erase erases from the channels that e names, then calls then, and only after that
// lets the channels go on. entries counts what the channels erased.
func (s *channelErasers) erase(ctx context.Context, e sessions.Erasure, then func() error) (entries int, err error) {
	if s == nil {
		return 0, then()
	}
	keys, ids := map[string][]channels.Key{}, map[string][]string{}
	for _, k := range e.Keys {
		keys[k.Channel()] = append(keys[k.Channel()], k)
	}
	for _, p := range e.Senders {
		if _, err := channels.NewKey(p.Channel, "1"); err == nil && p.ID != "" { // it becomes the name of a file
			ids[p.Channel] = append(ids[p.Channel], p.ID)
		}
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(keys)), maps.Keys(ids))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		keeper, err := s.of(ctx, name)
		if err != nil {
			return 0, err
		}
		if keeper == nil {
			continue
		}
		next := then
		then = func() error {
			n, err := keeper.Erase(ctx, keys[name], ids[name], next)
			entries += n
			return err
		}
	}
	err = then()
	return entries, err
}
