package app

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/metrics"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// countCut counts a listener that was cut off. It is a method because a command without a
// daemon has a stream and no metrics.
func (d *Daemon) countCut() {
	if d.metrics != nil {
		d.metrics.ListenerCut()
	}
}

// countedLeases counts the leases that this node holds. The leases of conversations, which
// name one after a colon, count as one.
type countedLeases struct {
	gateway.Leases
	count *metrics.Set
}

// Hold implements [gateway.Leases].
func (l countedLeases) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	return l.Leases.Hold(ctx, name, func(ctx context.Context) error {
		label := name
		kind, _, named := strings.Cut(name, ":")
		if named && kind != "channel" {
			label = kind
		}
		release := l.count.LeaseHeld(label)
		defer release()
		return run(ctx)
	})
}

// openDeliveries counts the deliveries that are not over, by channel and state.
func (d *Daemon) openDeliveries(ctx context.Context) (map[metrics.Deliveries]int, error) {
	counts := map[metrics.Deliveries]int{}
	for name := range d.gateway.Channels() {
		for _, state := range []sessions.DeliveryState{
			sessions.DeliveryQueued, sessions.DeliverySending, sessions.DeliveryUnknown, sessions.DeliveryDead,
		} {
			counts[metrics.Deliveries{Channel: name, State: string(state)}] = 0
		}
	}
	for o, err := range d.store.Backend().Outbox(ctx, channels.Key{}, rows.QueueFilter{Open: true}) {
		if err != nil {
			return nil, err
		}
		counts[metrics.Deliveries{Channel: o.Key.Channel(), State: string(o.State)}]++
	}
	return counts, nil
}

// watchAll lets the metrics read what is only measured when they are scraped.
func (d *Daemon) watchAll() {
	d.metrics.Begin(slices.Collect(maps.Keys(d.gateway.Channels())), []string{d.models.Main.Name()})
	d.metrics.WatchQueues(d.store.Stats)
	d.metrics.WatchDeliveries(d.openDeliveries)
	if p, able := d.store.Backend().(sessions.Pooled); able {
		d.metrics.WatchPool(p.Pool)
	}
	d.metrics.WatchListeners(d.events.Listeners)
	d.metrics.WatchChannels(d.gateway.ChannelsHere)
	if d.peers != nil {
		d.metrics.WatchNodes(d.peers.Nodes)
	}
	d.metrics.WatchTurns(d.gateway.Running)
	d.metrics.WatchHooks(d.hooks.Waiting)
	d.metrics.WatchSizes((&sizes{dir: d.state, store: storage.StoreName(d.cfg), media: d.files.Used}).both)
	d.metrics.WatchDisk(func() float64 { free, _ := storage.FreeBytes(d.state.Path); return float64(free) })
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
