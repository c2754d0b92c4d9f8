package metrics

import (
	"cmp"
	"context"
	"time"

	"dragoman/channels"
	"dragoman/sessions"

	"github.com/prometheus/client_golang/prometheus"
)

// statsWithin bounds reading the queues for one scrape.
const statsWithin = 2 * time.Second

// fromStore registers a look at the store, which is bounded. If it fails its
// metrics are left out of that scrape.
func (s *Set) fromStore(look func(ctx context.Context, ch chan<- prometheus.Metric) error, descs ...*prometheus.Desc) {
	s.registry.MustRegister(collector{descs, func(ch chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), statsWithin)
		defer cancel()
		if err := look(ctx, ch); err != nil {
			s.collectErrors.Inc()
		}
	}})
}

// The methods that follow show what is read at each scrape. Call each at most
// once.

// WatchQueues shows the depth of the queues.
func (s *Set) WatchQueues(stats func(context.Context) (sessions.Stats, error)) {
	s.fromStore(func(ctx context.Context, ch chan<- prometheus.Metric) error {
		st, err := stats(ctx)
		if err != nil {
			return err
		}
		for desc, n := range map[*prometheus.Desc]int{
			inboxDesc: st.Waiting, postponedDesc: st.Postponed, unsentDesc: st.Unsent, unknownDesc: st.Unknown, deadDesc: st.Dead, asideDesc: st.Quarantined,
		} {
			gauge(ch, desc, float64(n))
		}
		now := time.Now()
		gauge(ch, inboxAgeDesc, age(now, st.Oldest))
		gauge(ch, outboxAgeDesc, age(now, st.OldestSend))
		return nil
	}, inboxDesc, postponedDesc, unsentDesc, unknownDesc, deadDesc, asideDesc, inboxAgeDesc, outboxAgeDesc)
}

// WatchNodes shows how many nodes share the store.
func (s *Set) WatchNodes(list func(context.Context) ([]sessions.Node, error)) {
	s.fromStore(func(ctx context.Context, ch chan<- prometheus.Metric) error {
		nodes, err := list(ctx)
		if err == nil {
			gauge(ch, nodesDesc, float64(len(nodes)))
		}
		return err
	}, nodesDesc)
}

// WatchChannels shows the state of each channel.
func (s *Set) WatchChannels(states func() map[string]channels.Status) {
	s.own.MustRegister(collector{[]*prometheus.Desc{channelUpDesc, channelIsDesc, channelForDesc}, func(ch chan<- prometheus.Metric) {
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
	}})
}

// WatchTurns shows how many turns run and how old the oldest is.
func (s *Set) WatchTurns(running func() (turns int, oldest time.Duration)) {
	s.own.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "turns_running", Help: "Turns that run now.",
		}, func() float64 { n, _ := running(); return float64(n) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "turn_oldest_seconds", Help: "Age of the oldest running turn.",
		}, func() float64 { _, d := running(); return d.Seconds() }),
	)
}

// WatchDisk shows how much room is left for the state directory.
func (s *Set) WatchDisk(bytes func() float64) {
	s.own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "disk_free_bytes", Help: "Bytes free on the disk of the state directory; 0: none, or the file system does not tell.",
	}, bytes))
}

// WatchSizes shows what the conversations and the files of messages take on
// disk. What sizes does not know is negative, and left out.
func (s *Set) WatchSizes(sizes func() (store, media int64)) {
	s.own.MustRegister(collector{[]*prometheus.Desc{storeBytesDesc, mediaBytesDesc}, func(ch chan<- prometheus.Metric) {
		store, media := sizes()
		if store >= 0 {
			gauge(ch, storeBytesDesc, float64(store))
		}
		if media >= 0 {
			gauge(ch, mediaBytesDesc, float64(media))
		}
	}})
}

// WatchHooks shows how many events wait for each hook, by its name in the log.
func (s *Set) WatchHooks(waiting func() map[string]int) {
	s.own.MustRegister(collector{[]*prometheus.Desc{hookWaitingDesc}, func(ch chan<- prometheus.Metric) {
		for name, n := range waiting() {
			gauge(ch, hookWaitingDesc, float64(n), clean(name))
		}
	}})
}

// collector is a function that is asked at each scrape.
type collector struct {
	descs   []*prometheus.Desc
	collect func(chan<- prometheus.Metric)
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	inboxDesc       = desc("inbox_waiting", "Messages without an answer.")
	postponedDesc   = desc("inbox_postponed", "Messages without an answer that are not due yet.")
	unsentDesc      = desc("outbox_unsent", "Answers that are not delivered yet.")
	unknownDesc     = desc("outbox_unknown", "Answers of those that may have been delivered.")
	deadDesc        = desc("outbox_dead", "Answers that were given up.")
	asideDesc       = desc("aside", "Things set aside because a channel could not understand them.")
	inboxAgeDesc    = desc("inbox_oldest_seconds", "Age of the oldest message without an answer.")
	outboxAgeDesc   = desc("outbox_oldest_seconds", "Age of the oldest answer that is not delivered.")
	nodesDesc       = desc("nodes", "Nodes that share the store and live.")
	channelUpDesc   = desc("channel_up", "1 while a channel is connected.", "channel")
	channelIsDesc   = desc("channel_state", "1 for the state that a channel is in, or the reason why it is not connected if it has a word for that.", "channel", "state")
	storeBytesDesc  = desc("store_bytes", "What the conversations take on disk, copies of the store beside it included.")
	mediaBytesDesc  = desc("media_bytes", "What the files of messages take on disk.")
	hookWaitingDesc = desc("hook_waiting", "Events that wait for a hook.", "hook")
	channelForDesc  = desc("channel_state_seconds", "How long a channel has been in the state that channel_state has.", "channel", "state")
)

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// age is 0 for a time that is not set, and never negative: clocks jump.
func age(now, t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}
