package app

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dragoman/internal/storage"
)

func (d *Daemon) watchAll() {
	d.metrics.WatchQueues(d.store.Stats)
	d.metrics.WatchChannels(d.gateway.ChannelsHere)
	if d.peers != nil {
		d.metrics.WatchNodes(d.peers.Nodes)
	}
	d.metrics.WatchTurns(d.gateway.Running)
	d.metrics.WatchHooks(d.hooks.Waiting)
	d.metrics.WatchSizes((&sizes{dir: d.state, store: storage.StoreName(d.cfg), media: d.files.Used}).both)
	d.metrics.WatchDisk(func() float64 { free, _ := storage.FreeBytes(d.state.Path); return float64(free) })
}

// labelOf is the metrics' label for a model: its name if it is configured or was
// chosen at the start, else "other". Conversations can name any model, and every
// label costs memory.
func (d *Daemon) labelOf(model string) string {
	c := d.cfg
	known := append([]string{d.models.Main.Name(), c.Summary.Model.Name}, c.Model.Fallback...)
	for _, o := range c.Model.Others {
		known = append(known, o.Name)
	}
	for _, ch := range d.current.Load().Channels {
		known = slices.AppendSeq(known, maps.Values(ch.Models))
	}
	if slices.Contains(known, model) {
		return model
	}
	return "other"
}

// sizes measures how much disk conversations and files use. With many files that
// takes a while, so a result is kept for a hundred times as long as it took, and at
// least a few seconds.
type sizes struct {
	dir   *storage.Dir
	store string // "": it keeps nothing on disk
	media func() (int64, error)

	mu               sync.Mutex
	until            time.Time
	ofStore, ofMedia int64
}

func (s *sizes) both() (store, media int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if began.Before(s.until) {
		return s.ofStore, s.ofMedia
	}
	s.ofStore, s.ofMedia = -1, -1
	if used, err := s.media(); err == nil {
		s.ofMedia = used
	}
	if s.store != "" {
		s.ofStore = s.stored()
	}
	const atLeast, share = 5 * time.Second, 100
	s.until = time.Now().Add(max(atLeast, share*time.Since(began)))
	return s.ofStore, s.ofMedia
}

// stored is the size of the store with the files beside it: a database's log, and
// copies from before an upgrade.
func (s *sizes) stored() (sum int64) {
	for _, place := range s.dir.Named(s.store + "*") {
		_ = filepath.WalkDir(place, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // gone meanwhile
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				sum += info.Size()
			}
			return nil
		})
	}
	return sum
}
