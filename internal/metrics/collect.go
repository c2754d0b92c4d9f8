package metrics

import (
	"cmp"
	"context"
	"time"

	"dragoman/channels"
	"dragoman/sessions"

	"github.com/prometheus/client_golang/prometheus"
)

// readTimeout bounds one read of the store. A scrape without some metrics is
// better than none.
const readTimeout = 2 * time.Second

// fromStore registers metrics that look reads from the store. If it fails, a scrape
// leaves them out.
func (s *Set) fromStore(look func(ctx context.Context, ch chan<- prometheus.Metric) error) {
	s.registry.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		if err := look(ctx, ch); err != nil {
			s.collectErrors.Inc()
		}
	}))
}

// The methods below add metrics that are read at each scrape. Call each at most once.

// WatchQueues adds the depth of the queues.
func (s *Set) WatchQueues(stats func(context.Context) (sessions.Stats, error)) {
	s.fromStore(func(ctx context.Context, ch chan<- prometheus.Metric) error {
		st, err := stats(ctx)
		if err != nil {
			return err
		}
		for desc, n := range map[*prometheus.Desc]int{
			inboxDesc: st.Waiting, postponedDesc: st.Postponed, unsentDesc: st.Answers, unknownDesc: st.Unknown, deadDesc: st.Dead, quarantinedDesc: st.Quarantined,
		} {
			gauge(ch, desc, float64(n))
		}
		now := time.Now()
		gauge(ch, inboxAgeDesc, age(now, st.Oldest))
		gauge(ch, outboxAgeDesc, age(now, st.OldestSend))
		return nil
	})
}

// WatchNodes adds how many nodes share the store.
func (s *Set) WatchNodes(list func(context.Context) ([]sessions.Node, error)) {
	s.fromStore(func(ctx context.Context, ch chan<- prometheus.Metric) error {
		nodes, err := list(ctx)
		if err == nil {
			gauge(ch, nodesDesc, float64(len(nodes)))
		}
		return err
	})
}

// WatchDeliveries adds how many deliveries of each channel are in each state, of those that
// are not over.
func (s *Set) WatchDeliveries(count func(context.Context) (map[Deliveries]int, error)) {
	s.fromStore(func(ctx context.Context, ch chan<- prometheus.Metric) error {
		counts, err := count(ctx)
		if err != nil {
			return err
		}
		for d, n := range counts {
			gauge(ch, deliveriesDesc, float64(n), clean(d.Channel), clean(d.State))
		}
		return nil
	})
}

// Deliveries are those of a channel in a state.
type Deliveries struct{ Channel, State string }

// WatchPool adds the connections to a database.
func (s *Set) WatchPool(read func() sessions.Pool) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		p := read()
		gauge(ch, poolDesc, float64(p.Used), "used")
		gauge(ch, poolDesc, float64(p.Idle), "idle")
		gauge(ch, poolMaxDesc, float64(p.Max))
		ch <- prometheus.MustNewConstMetric(poolWaitsDesc, prometheus.CounterValue, float64(p.Waits))
		ch <- prometheus.MustNewConstMetric(poolWaitDesc, prometheus.CounterValue, p.Waited.Seconds())
	}))
}

// WatchListeners adds how many listen to the stream of events.
func (s *Set) WatchListeners(listeners func() int) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) { gauge(ch, listenersDesc, float64(listeners())) }))
}

// WatchChannels adds the state of each channel.
func (s *Set) WatchChannels(states func() map[string]channels.Status) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		now := time.Now()
		for name, st := range states() {
			up := 0.0
			if st.State == channels.StateConnected {
				up = 1
			}
			name, state := clean(name), clean(cmp.Or(st.Reason, string(st.State)))
			gauge(ch, channelUpDesc, up, name)
			gauge(ch, channelIsDesc, 1, name, state)
			gauge(ch, channelForDesc, age(now, st.Since), name, state)
		}
	}))
}

// WatchTurns adds how many turns run and how old the oldest is.
func (s *Set) WatchTurns(running func() (turns int, oldest time.Duration)) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		n, oldest := running()
		gauge(ch, turnsDesc, float64(n))
		gauge(ch, turnAgeDesc, oldest.Seconds())
	}))
}

// WatchDisk adds the free space on the disk of the state directory.
func (s *Set) WatchDisk(bytes func() float64) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) { gauge(ch, diskDesc, bytes()) }))
}

// WatchSizes adds the size on disk of the conversations and of the files of messages. A
// negative size is unknown and left out.
func (s *Set) WatchSizes(sizes func() (store, media int64)) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		store, media := sizes()
		if store >= 0 {
			gauge(ch, storeBytesDesc, float64(store))
		}
		if media >= 0 {
			gauge(ch, mediaBytesDesc, float64(media))
		}
	}))
}

// WatchHooks adds how many events wait for each hook, by its name in the log.
func (s *Set) WatchHooks(waiting func() map[string]int) {
	s.own.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		for name, n := range waiting() {
			gauge(ch, hookWaitingDesc, float64(n), clean(name))
		}
	}))
}

// collector is called at each scrape. It describes nothing in advance, so its metrics
// are checked at each scrape.
type collector func(chan<- prometheus.Metric)

func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(ch chan<- prometheus.Metric) { c(ch) }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	inboxDesc       = desc("inbox_waiting", "Messages without an answer.")
	postponedDesc   = desc("inbox_postponed", "Messages without an answer that are not due yet.")
	unsentDesc      = desc("outbox_unsent", "Answers that are not delivered yet.")
	unknownDesc     = desc("outbox_unknown", "Answers of those that may have been delivered.")
	deadDesc        = desc("outbox_dead", "Answers that were given up.")
	quarantinedDesc = desc("aside", "Messages in quarantine because a channel could not understand them.")
	inboxAgeDesc    = desc("inbox_oldest_seconds", "Age of the oldest message without an answer.")
	outboxAgeDesc   = desc("outbox_oldest_seconds", "Age of the oldest answer that is not delivered.")
	turnsDesc       = desc("turns_running", "Turns that run now.")
	turnAgeDesc     = desc("turn_oldest_seconds", "Age of the oldest running turn.")
	diskDesc        = desc("disk_free_bytes", "Bytes free on the disk of the state directory; 0: none, or the file system does not tell.")
	nodesDesc       = desc("nodes", "Live nodes that share the store.")
	channelUpDesc   = desc("channel_up", "1 while a channel is connected.", "channel")
	channelIsDesc   = desc("channel_state", "1 for the state of a channel, or for the reason why it is not connected, if it has a word for that.", "channel", "state")
	storeBytesDesc  = desc("store_bytes", "Size of the conversations on disk, including copies of the store beside it.")
	mediaBytesDesc  = desc("media_bytes", "Size of the files of messages on disk.")
	hookWaitingDesc = desc("hook_waiting", "Events that wait for a hook.", "hook")
	deliveriesDesc  = desc("outbox_deliveries", "Answers of each channel that are not over, by state: queued, sending, unknown, dead.", "channel", "state")
	poolDesc        = desc("pool_connections", "Connections to the database, by state: used, idle.", "state")
	poolMaxDesc     = desc("pool_max_connections", "How many connections to the database there may be.")
	poolWaitsDesc   = desc("pool_waits_total", "Times that a connection to the database had to be waited for.")
	poolWaitDesc    = desc("pool_wait_seconds_total", "How long was waited for connections to the database.")
	listenersDesc   = desc("stream_listeners", "Who listens to the stream of events: rooms, hooks and programs.")
	channelForDesc  = desc("channel_state_seconds", "How long a channel has been in the state that channel_state shows.", "channel", "state")
)

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// age returns the seconds since t, 0 if t is not set. It is never negative, although
// clocks jump.
func age(now, t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}
