package metrics

import (
	"context"
	"time"

	"dragoman/channels"
	"dragoman/sessions"

	"github.com/prometheus/client_golang/prometheus"
)

// statsWithin bounds reading the queues for one scrape.
const statsWithin = 2 * time.Second

// Collect is WatchQueues and WatchChannels in one.
func (s *Set) Collect(stats func(context.Context) (sessions.Stats, error), states func() map[string]channels.Status) {
	s.WatchQueues(stats)
	s.WatchChannels(states)
}

// WatchQueues shows the depth of the queues, read from stats at each scrape.
// Call it at most once.
func (s *Set) WatchQueues(stats func(context.Context) (sessions.Stats, error)) {
	s.registry.MustRegister(collector{[]*prometheus.Desc{
		inboxDesc, postponedDesc, unsentDesc, unknownDesc, deadDesc, asideDesc, inboxAgeDesc, outboxAgeDesc,
	}, (&queues{stats: stats, errors: s.collectErrors}).collect})
}

// WatchNodes shows how many nodes share the store. Call it at most once.
func (s *Set) WatchNodes(list func(context.Context) ([]sessions.Node, error)) {
	s.registry.MustRegister(collector{[]*prometheus.Desc{nodesDesc}, func(ch chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), statsWithin)
		defer cancel()
		nodes, err := list(ctx)
		if err != nil {
			s.collectErrors.Inc()
			return
		}
		gauge(ch, nodesDesc, float64(len(nodes)))
	}})
}

// WatchChannels shows the state of each channel. Call it at most once.
func (s *Set) WatchChannels(states func() map[string]channels.Status) {
	s.own.MustRegister(collector{[]*prometheus.Desc{channelUpDesc, channelIsDesc, channelForDesc}, (&channelStates{states}).collect})
}

// WatchTurns shows how many turns run and how old the oldest is. Call it at
// most once.
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

// WatchDisk shows how much room is left for the state directory. Call it at
// most once.
func (s *Set) WatchDisk(bytes func() float64) {
	s.own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "disk_free_bytes", Help: "Bytes free on the disk of the state directory; 0: none, or the file system does not tell.",
	}, bytes))
}

// WatchSizes shows what the conversations and the files of messages take on
// disk. What sizes does not know is negative, and left out. Call it at most once.
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
// Call it at most once.
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

// queues reads the store's counts.
type queues struct {
	stats  func(context.Context) (sessions.Stats, error)
	errors prometheus.Counter
}

func (q *queues) collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsWithin)
	defer cancel()
	st, err := q.stats(ctx)
	if err != nil {
		q.errors.Inc()
		return
	}
	now := time.Now()
	gauge(ch, inboxDesc, float64(st.Waiting))
	gauge(ch, postponedDesc, float64(st.Postponed))
	gauge(ch, unsentDesc, float64(st.Unsent))
	gauge(ch, unknownDesc, float64(st.Unknown))
	gauge(ch, deadDesc, float64(st.Dead))
	gauge(ch, asideDesc, float64(st.Quarantined))
	gauge(ch, inboxAgeDesc, age(now, st.Oldest))
	gauge(ch, outboxAgeDesc, age(now, st.OldestSend))
}

// channelStates reads what the channels say about themselves.
type channelStates struct {
	states func() map[string]channels.Status
}

func (c *channelStates) collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	for name, st := range c.states() {
		up := 0.0
		if st.State == channels.StateConnected {
			up = 1
		}
		gauge(ch, channelUpDesc, up, clean(name))
		state := st.Reason
		if state == "" {
			state = string(st.State)
		}
		gauge(ch, channelIsDesc, 1, clean(name), clean(state))
		gauge(ch, channelForDesc, age(now, st.Since), clean(name), clean(state))
	}
}

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
