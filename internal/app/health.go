package app

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/gateway"
	"dragoman/internal/health"
	"dragoman/internal/plain"
	"dragoman/internal/storage"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// The calls between nodes about health: the figures of the last hour, and the half hours
// of the channels.
const (
	hourMethod = "health.hour"
	daysMethod = "health.days"
)

// dayKind is the kind of the notes with the half hours of the channels. Their owner is the
// node, and their name the channel.
const dayKind = "channel-day"

// newHealth makes the figures of the last hour. What it looks at exists before it runs.
func (d *Daemon) newHealth() *health.Watch {
	return health.New(health.Options{
		Turns: func() (running, waiting int) {
			running, _ = d.gateway.Running()
			return running, d.gateway.WaitingTurns()
		},
		Queues: func(ctx context.Context) (sessions.Stats, error) { return d.store.Stats(ctx) },
		Channels: func() map[string]bool {
			up := map[string]bool{}
			for name, st := range d.gateway.ChannelsHere() {
				up[name] = st.State == channels.StateConnected
			}
			return up
		},
		Keep: d.keepDays, Looked: d.tellLooks(), Logger: d.log,
	})
}

// tellLooks returns what tells whoever listens that the figures have one point more, and
// which channels have another state since the call before.
func (d *Daemon) tellLooks() func() {
	before := map[string]channels.State{}
	return func() {
		d.events.Publish(stream.Event{Event: stream.Measured})
		for name, st := range d.gateway.ChannelsHere() {
			if was, known := before[name]; known && was != st.State {
				d.events.Publish(stream.Event{Event: stream.ChannelChange, Channel: name})
			}
			before[name] = st.State
		}
	}
}

// watchHealth takes the figures until ctx ends, after those of an earlier process.
func (d *Daemon) watchHealth(ctx context.Context) {
	notes, err := d.store.Notes(ctx, sessions.NoteFilter{Kind: dayKind, Owner: d.dayOwner()})
	if err != nil {
		d.log.Warn("what the channels did before the start is not known", "err", err)
	}
	for _, n := range notes {
		d.health.Restore(n.Name, halfHours(n))
	}
	d.health.Run(ctx)
}

// halfHours are those of a note; none if it is of a newer version.
func halfHours(n sessions.Note) (list []health.HalfHour) {
	_ = json.Unmarshal(n.Data, &list)
	return list
}

// dayOwner is the owner of this node's notes. It is the same after a restart.
func (d *Daemon) dayOwner() string {
	owner := "node " + storage.Node(d.cfg)
	return strings.ToValidUTF8(owner[:min(len(owner), sessions.MaxNoteName)], "")
}

// keepDays stores the half hours of the channels here.
func (d *Daemon) keepDays(ctx context.Context, days map[string][]health.HalfHour) error {
	return d.store.ChangeNotes(ctx, dayKind, d.dayOwner(), func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		for name, list := range days {
			data, err := json.Marshal(list)
			if err != nil {
				return nil, nil, err
			}
			put = append(put, sessions.Note{Name: name, Data: data})
		}
		return put, nil, nil
	})
}

// healthMethods are the calls of other nodes about health.
func (d *Daemon) healthMethods() map[string]gateway.Method {
	return map[string]gateway.Method{
		hourMethod: func(context.Context, []byte) ([]byte, error) { return json.Marshal(d.hour()) },
		daysMethod: func(context.Context, []byte) ([]byte, error) {
			return json.Marshal(ownDays{Owner: d.dayOwner(), Days: d.health.Days()})
		},
	}
}

// ownDays are the half hours of the channels of one node.
type ownDays struct {
	Owner string                       `json:"owner"` // of its notes
	Days  map[string][]health.HalfHour `json:"days"`
}

// hour is the last hour of this node.
func (d *Daemon) hour() *api.Figures {
	from, of := d.health.Hour()
	return &api.Figures{
		From:          from,
		TurnsRunning:  of(health.TurnsRunning),
		TurnsWaiting:  of(health.TurnsWaiting),
		Waiting:       of(health.Waiting),
		OldestWaiting: of(health.OldestWaiting),
		Unsent:        of(health.Unsent),
		OldestUnsent:  of(health.OldestUnsent),
		Failed:        of(health.Failed),
		ModelCalls:    of(health.ModelCalls),
		ModelP50:      of(health.ModelP50),
		ModelP95:      of(health.ModelP95),
		Commits:       of(health.Commits),
		CommitP50:     of(health.CommitP50),
		CommitP95:     of(health.CommitP95),
		MemoryBytes:   of(health.Memory),
		Goroutines:    of(health.Goroutines),
		CPU:           of(health.CPU),
	}
}

// figures implements [api.Figuring].
type figures struct{ *Daemon }

// Figures implements [api.Figuring].
func (d figures) Figures(ctx context.Context) ([]api.NodeFigures, error) {
	if d.peers == nil {
		return []api.NodeFigures{{Self: true, Figures: d.hour()}}, nil
	}
	nodes, answers, err := d.askNodes(ctx, hourMethod)
	if err != nil {
		return nil, err
	}
	all := make([]api.NodeFigures, len(nodes))
	for i, n := range nodes {
		all[i] = api.NodeFigures{Node: n.ID, Host: n.Host, Self: n.Self}
		err := answers[i].err
		switch {
		case n.Self:
			all[i].Figures = d.hour()
		case err == nil:
			err = json.Unmarshal(answers[i].data, &all[i].Figures)
		}
		if err != nil {
			all[i].Problem = plain.Reason(err)
		}
	}
	return all, nil
}

// answer is what another node says.
type answer struct {
	data []byte
	err  error
}

// askNodes asks all other nodes at the same time. The answer of this node is empty.
func (d *Daemon) askNodes(ctx context.Context, method string) ([]sessions.Node, []answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	nodes, err := d.peers.Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	answers := make([]answer, len(nodes))
	var asking sync.WaitGroup
	for i, n := range nodes {
		if n.Self {
			continue
		}
		asking.Go(func() {
			answers[i].data, answers[i].err = d.peers.Call(ctx, sessions.Peer{Node: n.ID}, method, nil)
		})
	}
	asking.Wait()
	return nodes, answers, nil
}

// Days implements [api.Figuring].
func (d figures) Days(ctx context.Context) (api.ChannelDays, error) {
	lists, err := d.allDays(ctx)
	if err != nil {
		return api.ChannelDays{}, err
	}
	all := api.ChannelDays{EverySeconds: int(24 * time.Hour / health.HalfHours / time.Second), Channels: []api.ChannelDay{}}
	now := time.Now()
	for _, c := range d.listChannels() {
		halves := health.Merge(now, lists[c.Name]...)
		all.From = halves[0].Begins()
		all.Channels = append(all.Channels, channelDay(c, halves))
	}
	return all, nil
}

// allDays are the half hours of each channel that each node knows: the live nodes as of
// now, the others as they were kept.
func (d figures) allDays(ctx context.Context) (map[string][][]health.HalfHour, error) {
	lists := map[string][][]health.HalfHour{}
	known := map[string]bool{}
	add := func(own ownDays) {
		known[own.Owner] = true
		for name, days := range own.Days {
			lists[name] = append(lists[name], days)
		}
	}
	add(ownDays{Owner: d.dayOwner(), Days: d.health.Days()})
	if d.peers == nil {
		return lists, nil
	}
	_, answers, err := d.askNodes(ctx, daysMethod)
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		var own ownDays
		if len(a.data) > 0 && json.Unmarshal(a.data, &own) == nil {
			add(own)
		}
	}
	notes, err := d.store.Notes(ctx, sessions.NoteFilter{Kind: dayKind})
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		if !known[n.Owner] {
			lists[n.Name] = append(lists[n.Name], halfHours(n))
		}
	}
	return lists, nil
}

// channelDay is the last day of a channel as it goes over the wire.
func channelDay(c api.Channel, halves []health.HalfHour) api.ChannelDay {
	day := api.ChannelDay{Name: c.Name, Type: c.Type}
	for _, h := range halves {
		var share *float64
		if h.Looks > 0 {
			share = new(math.Round(100*float64(h.Up)/float64(h.Looks)) / 100)
		}
		day.Connected = append(day.Connected, share)
		day.In = append(day.In, h.In)
		day.Out = append(day.Out, h.Out)
		day.Failed = append(day.Failed, h.Failed)
	}
	return day
}
