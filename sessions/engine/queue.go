package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// itemID is the ID of a queue item: LANE/KEY/SEQ. That of a quarantined message is
// aside/CHANNEL/ID. A delivery is also found by its own ID.
func itemID(lane sessions.Lane, k channels.Key, seq int64) string {
	return string(lane) + "/" + k.String() + "/" + strconv.FormatInt(seq, 10)
}

// parseItemID is the inverse of itemID.
func parseItemID(id string) (lane sessions.Lane, k channels.Key, seq int64, ok bool) {
	name, rest, _ := strings.Cut(id, "/")
	lane = sessions.Lane(name)
	at := max(strings.LastIndexByte(rest, '/'), 0)
	k, err := channels.ParseKey(rest[:at])
	if err == nil {
		seq, err = strconv.ParseInt(strings.TrimPrefix(rest[at:], "/"), 10, 64)
	}
	return lane, k, seq, err == nil && seq > 0 && itemID(lane, k, seq) == id
}

func inID(r *rows.In) string { return itemID(sessions.LaneIn, r.Inbound.Key, r.Seq) }

func outID(o *rows.Out) string { return itemID(sessions.LaneOut, o.Key, o.Seq) }

func (s *Store) inItem(r *rows.In) sessions.QueueItem {
	state := sessions.QueueState(r.State)
	switch late := r.State == rules.InWaiting && r.Due.After(s.now()); {
	case late && r.Attempts > 0: // without an attempt, it waits for the rest of its album
		state = sessions.QueuePostponed
	case isParked(r, s.now()):
		state = sessions.QueueParked
	}
	k := r.Inbound.Key
	return sessions.QueueItem{
		ID: inID(r), Lane: sessions.LaneIn, Key: k, Channel: k.Channel(), State: state,
		Attempts: r.Attempts, At: rules.Time(r.Accepted), NotBefore: r.Due, Error: r.Why,
		Bytes: len(r.Inbound.Text), Text: r.Inbound.Text,
	}
}

func outItem(o *rows.Out) sessions.QueueItem {
	return sessions.QueueItem{
		ID: outID(o), Lane: sessions.LaneOut, Key: o.Key, Channel: o.Key.Channel(), State: sessions.QueueState(o.State),
		Attempts: o.Attempts, At: rules.Time(o.Created), NotBefore: o.NotBefore, Error: o.Error,
		Bytes: len(o.Text), Text: o.Text, Delivery: o.ID, Job: o.Job,
	}
}

func quarantinedItem(a *sessions.QuarantineRecord) sessions.QueueItem {
	state := sessions.QueueQuarantined
	if a.Dropped {
		state = sessions.QueueDropped
	}
	return sessions.QueueItem{
		ID:   string(sessions.LaneQuarantined) + "/" + a.Channel + "/" + a.ID,
		Lane: sessions.LaneQuarantined, Channel: a.Channel, State: state, At: rules.Time(a.At),
		Error: a.Why, Bytes: len(a.Raw), Text: rules.Text(string(a.Raw)),
	}
}

// ListQueue returns the unfinished items: waiting, unsent, dead and quarantined ones,
// oldest first.
func (s *Store) ListQueue(ctx context.Context, limit int) (items []sessions.QueueItem, err error) {
	v := s.view(ctx)
	for r := range v.inbox(channels.Key{}, rows.QueueFilter{Open: true}) {
		items = append(items, s.inItem(&r))
	}
	for o := range v.outbox(channels.Key{}, rows.QueueFilter{Open: true}) {
		items = append(items, outItem(&o))
	}
	for r := range v.records(rows.Record{Quarantined: &sessions.QuarantineRecord{}, Kept: true}) {
		items = append(items, quarantinedItem(r.Quarantined))
	}
	if v.err != nil {
		return nil, s.wrap("list queue", v.err)
	}
	sortItems(items)
	return items[:min(max(limit, 0), len(items))], nil
}

// QueueOf returns the unfinished items of k as ListQueue does. It costs what k has, not
// what others have.
func (s *Store) QueueOf(ctx context.Context, k channels.Key) (items []sessions.QueueItem, err error) {
	v := s.viewOf(ctx, k)
	for r := range v.inbox(k, rows.QueueFilter{Open: true}) {
		items = append(items, s.inItem(&r))
	}
	for o := range v.outbox(k, rows.QueueFilter{Open: true}) {
		items = append(items, outItem(&o))
	}
	if v.err != nil {
		return nil, s.wrap("queue", v.err)
	}
	sortItems(items)
	return items, nil
}

// Topics lists the keys of the topics of k, sorted: their chats begin with that of k and a
// colon.
func (s *Store) Topics(ctx context.Context, k channels.Key) (list []channels.Key, err error) {
	v := s.viewOf(ctx, k)
	first, err := channels.NewKey(k.Channel(), k.Chat()+":")
	if v.err != nil || err != nil { // a chat that long has no topics
		return nil, s.wrap("topics", v.err)
	}
	for h := range each(v, v.r.Heads(ctx, rows.ByKey, &sessions.Cursor{Key: first})) {
		if !strings.HasPrefix(h.Key.String(), first.String()) {
			break
		}
		list = append(list, h.Key)
	}
	return list, s.wrap("topics", v.err)
}

// sortItems puts the oldest first, and of equally old ones that with the lowest number. It
// removes the texts, which are private, and for ShowQueue alone.
func sortItems(items []sessions.QueueItem) {
	slices.SortFunc(items, func(a, b sessions.QueueItem) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	for i := range items {
		items[i].Text = ""
	}
}

// ShowQueue returns one item with its text.
func (s *Store) ShowQueue(ctx context.Context, id string) (it sessions.QueueItem, err error) {
	v := s.view(ctx)
	switch in, out, quarantined := v.queued(id); {
	case in != nil:
		return s.inItem(in), nil
	case out != nil:
		return outItem(out), nil
	case quarantined != nil:
		return quarantinedItem(quarantined), nil
	}
	return it, s.wrap("show queue", cmp.Or(v.err, noItem(id)))
}

func noItem(id string) error { return fmt.Errorf("%w: queue item %q", sessions.ErrNotFound, id) }

// queued reads the queue item with that id: one of the three, or none.
func (v *view) queued(id string) (in *rows.In, out *rows.Out, quarantined *sessions.QuarantineRecord) {
	lane, k, seq, ok := parseItemID(id)
	rest, isQuarantined := strings.CutPrefix(id, string(sessions.LaneQuarantined)+"/")
	switch {
	case isQuarantined:
		channel, id, _ := strings.Cut(rest, "/")
		quarantined = v.quarantine(channel, id)
	case ok && lane == sessions.LaneIn:
		in = first(v.inbox(k, rows.QueueFilter{Seq: seq}))
	case ok && lane == sessions.LaneOut:
		out = first(v.outbox(k, rows.QueueFilter{Seq: seq}))
	case id != "":
		out = first(v.outbox(channels.Key{}, rows.QueueFilter{ID: id}))
	}
	return in, out, quarantined
}

// quarantine reads a quarantined message, or returns nil if there is none.
func (v *view) quarantine(channel, id string) *sessions.QuarantineRecord {
	if channel == "" || id == "" {
		return nil
	}
	r, _ := v.one(rows.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: channel, ID: id}}})
	return r.Quarantined
}

// RetryQueue makes a dead, postponed or rescheduled item due now. Errors:
// ErrNotFound, ErrConflict (it is done, or being worked on).
func (s *Store) RetryQueue(ctx context.Context, id string) error {
	return s.update(ctx, "retry queue", func(st *step) error {
		switch in, out, quarantined := st.queued(id); {
		case in != nil:
			return st.retryIn(in)
		case out != nil:
			return st.retryOut(out)
		case quarantined != nil:
			return fmt.Errorf("%w: a quarantined message cannot be retried", sessions.ErrConflict)
		}
		return noItem(id)
	})
}

// DropQueue gives an item up for the operator. It stays in the store as dropped.
// Errors as RetryQueue.
func (s *Store) DropQueue(ctx context.Context, id string) error {
	return s.update(ctx, "drop queue", func(st *step) error {
		in, out, quarantined := st.queued(id)
		switch {
		case in != nil:
			return st.dropIn(in)
		case out != nil:
			return st.putOut(out, func() { out.State = sessions.DeliveryDropped })
		case quarantined == nil:
			return noItem(id)
		case quarantined.Dropped:
			return isDone(id, rules.InDropped)
		}
		a := *quarantined
		a.Dropped = true
		st.record(rows.Record{Quarantined: &a})
		return nil
	})
}

func isDone(id, state string) error {
	return fmt.Errorf("%w: %s is %s", sessions.ErrConflict, id, state)
}

func isBusy(id string) error {
	return fmt.Errorf("%w: %s is being worked on", sessions.ErrConflict, id)
}

// changeable returns the key of an inbox row and the waiting rows of that key, if an
// operator may change the row now. A live claim works on the due ones.
func (st *step) changeable(r *rows.In) (*chat, []*rows.In, error) {
	c := st.chat(r.Inbound.Key)
	switch {
	case r.State != rules.InWaiting:
		return nil, nil, isDone(inID(r), r.State)
	case c.Claim != 0 && !r.Due.After(st.now):
		return nil, nil, isBusy(inID(r))
	}
	return c, st.open(c, true), nil
}

func (st *step) retryIn(r *rows.In) error {
	c, open, err := st.changeable(r)
	if err != nil {
		return err
	}
	for _, r := range append(bound(open, r.Turn), r) { // all messages of a turn are due together
		r.Due = time.Time{}
		st.put(c, r, false)
	}
	return nil
}

func (st *step) dropIn(r *rows.In) error {
	c, _, err := st.changeable(r)
	if err != nil {
		return err
	}
	st.leaveTurn(c, r)
	st.settle(c, r, rules.InDropped, r.Why)
	st.endOccurrence(r, "dropped by the operator")
	return nil
}

// putOut stores o as an operator changes it, unless it is finished or being sent.
func (st *step) putOut(o *rows.Out, change func()) error {
	c := st.chat(o.Key)
	switch {
	case !rules.Unsent(o.State) && o.State != sessions.DeliveryDead:
		return isDone(outID(o), string(o.State))
	case c.Claim != 0 && o.State == sessions.DeliverySending:
		return isBusy(outID(o))
	}
	st.changeOut(c, o, change)
	return nil
}

func (st *step) retryOut(o *rows.Out) error {
	return st.putOut(o, func() {
		if o.State == sessions.DeliveryDead {
			o.Attempts = 0 // it gets all its attempts again
		}
		o.Uncertain = o.Uncertain || o.State == sessions.DeliverySending
		o.State, o.NotBefore = retryState(o), time.Time{}
	})
}

// Feed shows a conversation as the person in it saw it: the last limit items with
// Seq < before (0: no bound), oldest first, without dead and dropped deliveries.
func (s *Store) Feed(ctx context.Context, k channels.Key, before int64, limit int) (items []sessions.FeedItem, err error) {
	v, q := s.viewOf(ctx, k), rows.QueueFilter{Before: before, Newest: true}
	if v.err != nil || limit <= 0 {
		return nil, s.wrap("feed", v.err)
	}
	for r := range v.inbox(k, q) {
		if isSaid(&r) {
			m := r.Inbound
			it := sessions.FeedItem{Seq: r.Seq, ID: m.ID, From: "person", Name: m.Sender.Name, Text: m.Text, At: m.At, Waiting: r.State == rules.InWaiting, Again: m.Again}
			it.Attachments = slices.Clone(m.Attachments)
			it.Sender = m.Sender.ID()
			it.Origins = sessions.InboundTaint(&m).List()
			if it.At.IsZero() {
				it.At = rules.Time(r.Accepted)
			}
			items = append(items, it)
		}
		if len(items) == limit {
			break
		}
	}
	said := len(items)
	for o := range v.outbox(k, q) {
		if o.State != sessions.DeliveryDead && o.State != sessions.DeliveryDropped {
			it := sessions.FeedItem{Label: o.Label, Seq: o.Seq, ID: o.ID, From: "dragoman", Text: o.Text, At: rules.Time(o.Created), State: o.State}
			if a, sends := o.Attachment(); sends {
				it.Attachments = []channels.Attachment{a}
			}
			items = append(items, it)
		}
		if len(items)-said == limit {
			break
		}
	}
	slices.SortFunc(items, func(a, b sessions.FeedItem) int { return cmp.Compare(a.Seq, b.Seq) })
	return items[max(len(items)-limit, 0):], s.wrap("feed", v.err)
}
