package storetest

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

var fieldTests = map[string]func(*testing.T, *rig, func() *rig){
	"Fields/Restored": func(t *testing.T, r *rig, _ func() *rig) {
		want := withEveryField(t, r)
		same(t, "the records of the store", records(t, r), want)
	},
	"Fields/RestoredTwice": func(t *testing.T, r *rig, other func() *rig) {
		want := withEveryField(t, r)
		second := other()
		must(t, restore(t, second, feed(dump(t, r.Store), nil))) // as JSON, so each field is in it
		same(t, "the records of the copy", records(t, second), want)
	},
	"Owners/Restored": ownersAreRestored,
	"Fields/Cleaned":  textsAreCleaned,
	"Fields/Read":     fieldsAreRead,
	"Fields/PutAgain": fieldsArePutAgain,
	"Fields/Joined":   fieldsAreJoined,
}

// filler gives each field a different value.
type filler struct{ n int }

// fill sets v and everything in it. So a field that is added to a type gets a value
// here, and every store has to keep it.
func (f *filler) fill(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(noon.Add(time.Duration(f.n)*time.Minute + time.Duration(f.n))))
		return
	case channels.Key:
		v.Set(reflect.ValueOf(key("x:full")))
		return
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, f.n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint(name, f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint8:
		v.SetUint(255)
	case reflect.Float64:
		v.SetFloat(float64(f.n) / 4)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(t, name, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(t, name, v.Index(0))
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(t, name, k)
		f.fill(t, name, e)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(t, v.Type().Field(i).Name, v.Field(i))
		}
	default:
		t.Fatalf("no value for %s, a %s", name, v.Type())
	}
}

// everyField returns a record of each kind with every field set, in the order of a
// dump. Fields that a store checks have consistent values.
func everyField(t *testing.T) (list []sessions.Record) {
	t.Helper()
	const generation = "20260501_007"
	f := &filler{}
	for i := range reflect.TypeFor[sessions.Record]().NumField() {
		var r sessions.Record
		kind := reflect.TypeFor[sessions.Record]().Field(i).Name
		f.fill(t, kind, reflect.ValueOf(&r).Elem().Field(i))
		list = append(list, r)
		switch {
		case r.Store != nil:
			r.Store.Days = map[string]int64{"20260501": 9}
		case r.Conversation != nil:
			c := r.Conversation
			c.Seq, c.MessageSeq = 4, 2
			c.Generations[0].ID = generation
			c.Generations[0].FirstSeq = 1
			c.Generations[0].LastSeq = 2
			c.Summaries[0].Generation, c.Summaries[0].CoversSeq = generation, 1
			c.Summaries[0].Erasures = 0            // it is not stored
			c.Summaries[0].Used = sessions.Usage{} // nor is this
		case r.Messages != nil:
			second := r.Messages.Messages[0]
			r.Messages.Messages[0].Seq, second.Seq = 1, 2
			r.Messages.Messages = append(r.Messages.Messages, second)
		case r.Inbox != nil:
			in := r.Inbox
			in.Seq = 1
			in.State = "waiting"
			in.Source = sessions.SourceHeartbeat
			in.Inbound.Reaction = "" // stores need not keep it
			in.Steps[0].Message.Seq = 0
			chat := *in
			chat.Seq = 2
			chat.Source = sessions.SourceChat
			chat.Inbound.ID = "another"
			chat.Turn = ""
			chat.Steps = nil
			chat.Job, chat.JobDue = "", time.Time{}
			list = append(list, sessions.Record{Inbox: &chat})
		case r.Outbox != nil:
			r.Outbox.Seq, r.Outbox.State = 3, sessions.DeliveryUnknown
			r.Outbox.Node = "" // set only while it is being sent
			sent := *r.Outbox
			sent.ID = "another"
			sent.Seq = 4
			sent.State = sessions.DeliverySent
			list = append(list, sessions.Record{Outbox: &sent})
		case r.Note != nil:
			r.Note.Kind = "stickers"
		case r.Count != nil:
			r.Count.Kind, r.Count.Day = "stickers", "20260501"
		case r.Occurrence != nil:
			for _, in := range list {
				if in.Inbox != nil && in.Inbox.Job != "" {
					r.Occurrence.Job, r.Occurrence.Due = in.Inbox.Job, in.Inbox.JobDue
				}
			}
		}
	}
	return list
}

// withEveryField restores such records into r and returns them.
func withEveryField(t *testing.T, r *rig) []sessions.Record {
	t.Helper()
	list := everyField(t)
	must(t, restore(t, r, given(list)))
	return list
}

// records is the dump of s.
func records(t *testing.T, s *rig) (list []sessions.Record) {
	t.Helper()
	must(t, s.Dump(t.Context(), nil, func(r sessions.Record) error {
		list = append(list, r)
		return nil
	}))
	return list
}

func given(list []sessions.Record) func() (sessions.Record, error) {
	return func() (r sessions.Record, err error) {
		if len(list) == 0 {
			return r, io.EOF
		}
		r, list = list[0], list[1:]
		return r, nil
	}
}

// textsAreCleaned: whatever writes a delivery's record, each text that is kept is UTF-8.
func textsAreCleaned(t *testing.T, r *rig, _ func() *rig) {
	clean := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	list := everyField(t)
	var want []sessions.OutboxRecord
	for _, one := range list {
		if one.Outbox == nil {
			continue
		}
		o := *one.Outbox
		eachText(reflect.ValueOf(one.Outbox).Elem(), func(s string) string { return s + "\xff" })
		eachText(reflect.ValueOf(&o).Elem(), func(s string) string { return clean(s + "\xff") })
		want = append(want, o)
	}
	must(t, restore(t, r, given(list)))
	var got []sessions.OutboxRecord
	for _, one := range records(t, r) {
		if one.Outbox != nil {
			got = append(got, *one.Outbox)
		}
	}
	same(t, "the deliveries", got, want)
}

// eachText changes every string in v that is not empty, except those whose type has a
// few values that a store checks.
func eachText(v reflect.Value, f func(string) string) {
	for i := range v.NumField() {
		switch field := v.Field(i); {
		case v.Type().Field(i).Anonymous:
			eachText(field, f)
		case field.Type() == reflect.TypeFor[string]() && field.String() != "" || field.Type() == reflect.TypeFor[channels.Kind]() || field.Type() == reflect.TypeFor[channels.Form]():
			field.SetString(f(field.String()))
		}
	}
}

// fieldsAreRead: each way to read a row returns all of it, inside and outside of
// updates and snapshots.
func fieldsAreRead(t *testing.T, r *rig, _ func() *rig) {
	withEveryField(t, r)
	b, ctx := r.Backend(), t.Context()
	k := key("x:full")
	var want, inside []any
	must(t, b.Snapshot(ctx, func(r rows.Reader) error {
		want = everyRow(t, r, k)
		return nil
	}))
	same(t, "rows outside a step", everyRow(t, b, k), want)
	must(t, b.Update(ctx, []channels.Key{k}, func(r rows.Reader) (rows.Changes, error) {
		inside = everyRow(t, r, k)
		return rows.Changes{}, nil
	}))
	same(t, "rows in a step", inside, want)
}

// everyRow reads the rows of k in every way.
func everyRow(t *testing.T, r rows.Reader, k channels.Key) (all []any) {
	t.Helper()
	ctx := t.Context()
	h, _, err := r.Head(ctx, k)
	must(t, err)
	h.Waiting, h.Claim = 0, 0 // only steps see them
	all = append(all, h)
	for _, q := range []rows.QueueFilter{{}, {Newest: true}, {Open: true}, {Seq: 1}, {Seq: 2}} {
		all = append(all, collect(t, r.Inbox(ctx, k, q)))
	}
	for _, q := range []rows.QueueFilter{{}, {Newest: true}, {Open: true}, {Unsent: true}, {ID: "another"}} {
		all = append(all, collect(t, r.Outbox(ctx, k, q)))
	}
	for _, q := range []rows.MessageFilter{{}, {Newest: true}, {Newest: true, Again: true}} {
		all = append(all, collect(t, r.Messages(ctx, k, q)))
	}
	for _, in := range collect(t, r.Inbox(ctx, k, rows.QueueFilter{Seq: 1})) {
		steps, err := r.Journal(ctx, k, in.Turn)
		must(t, err)
		all = append(all, steps)
	}
	return append(all, collect(t, r.Records(ctx, rows.Record{Summary: &rows.Summary{Key: k}})))
}

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for v, err := range seq {
		must(t, err)
		list = append(list, v)
	}
	return list
}

// another gives each field of a delivery another value, except those that never
// change and the state, on which others depend.
func (f *filler) another(t *testing.T, o *sessions.OutboxRecord) {
	t.Helper()
	was := *o
	f.fill(t, "another", reflect.ValueOf(o).Elem())
	o.Label = was.Label
	o.ID = was.ID
	o.Key = was.Key
	o.Seq = was.Seq
	o.Text = was.Text
	o.ReplyTo = was.ReplyTo
	o.Edit = was.Edit
	o.Created = was.Created
	o.State = was.State
	o.Node = was.Node
}

// fieldsArePutAgain: a row that is read, changed and put back loses nothing.
func fieldsArePutAgain(t *testing.T, r *rig, _ func() *rig) {
	want := withEveryField(t, r)
	b, ctx := r.Backend(), t.Context()
	k := key("x:full")
	var head rows.Head
	f := &filler{n: 1000}
	sent := map[int64]sessions.OutboxRecord{}
	for _, fresh := range []bool{false, true} {
		must(t, b.Update(ctx, []channels.Key{k}, func(r rows.Reader) (rows.Changes, error) {
			ch := fullHead(t, r, k)
			head = ch.Head
			for _, in := range collect(t, r.Inbox(ctx, k, rows.QueueFilter{})) {
				in.Attempts++
				ch.In = append(ch.In, &rows.InPut{In: in, Fresh: fresh})
			}
			for _, o := range collect(t, r.Outbox(ctx, k, rows.QueueFilter{})) {
				f.another(t, &o.OutboxRecord)
				sent[o.Seq] = o.OutboxRecord
				ch.Out = append(ch.Out, &o)
			}
			ch.Rewritten = collect(t, r.Messages(ctx, k, rows.MessageFilter{}))
			c := rows.Changes{Chats: []*rows.Chat{ch}}
			for _, like := range []rows.Record{
				{Quarantined: &sessions.QuarantineRecord{}},
				{Fact: &sessions.FactRecord{}},
				{Pairing: &sessions.Pairing{}},
				{Job: &sessions.JobRecord{}},
				{Occurrence: &sessions.Occurrence{}},
				{Note: &sessions.Note{}},
			} {
				c.Records = append(c.Records, collect(t, r.Records(ctx, like))...)
			}
			return c, nil
		}))
		for _, one := range want {
			if one.Inbox != nil {
				one.Inbox.Attempts++
			}
			if one.Outbox != nil {
				*one.Outbox = sent[one.Outbox.Seq]
			}
		}
	}
	same(t, "the records of the store", records(t, r), want)
	sameHead(t, b, head)
}

// fullHead is a change of k that sets every field of its head, except those that
// records hold.
func fullHead(t *testing.T, r rows.Reader, k channels.Key) *rows.Chat {
	t.Helper()
	h, _, err := r.Head(t.Context(), k)
	must(t, err)
	old, v := h.Conversation, &rows.Conversation{}
	(&filler{n: 100}).fill(t, "Conversation", reflect.ValueOf(v).Elem())
	v.Generation = old.Generation
	v.From = old.From
	v.Covers = old.Covers
	v.Title = old.Title
	v.Owners = old.Owners
	v.Settings = old.Settings
	v.Created, v.Updated = old.Created, old.Updated
	h.Conversation = v
	return &rows.Chat{Head: h}
}

// sameHead checks that r has want, except for the fields that only steps see.
func sameHead(t *testing.T, r rows.Reader, want rows.Head) {
	t.Helper()
	got, _, err := r.Head(t.Context(), want.Key)
	must(t, err)
	got.Waiting = 0
	got.Claim = 0
	want.Waiting = 0
	want.Claim = 0
	same(t, "the head", got, want)
}

// fieldsAreJoined: a join keeps every field, under the new key and with new numbers.
func fieldsAreJoined(t *testing.T, r *rig, _ func() *rig) {
	want := withEveryField(t, r)
	must(t, r.Join(t.Context(), key("x:full"), key("x:other")))
	var got []sessions.Record
	for _, one := range records(t, r) {
		if one.Conversation == nil || one.Conversation.Key == key("x:other") {
			got = append(got, one)
		}
	}
	for _, list := range [][]sessions.Record{got, want} {
		for _, one := range list {
			unnumbered(one)
		}
	}
	same(t, "the records of the store", got, want)
}

// unnumbered removes the fields that a join changes.
func unnumbered(r sessions.Record) {
	var none channels.Key
	switch {
	case r.Conversation != nil:
		c := r.Conversation
		c.Key = none
		c.Seq = 0
		c.MessageSeq = 0
		c.Owners[0].From = 0
		c.Generations[0].FirstSeq = 0
		c.Generations[0].LastSeq = 0
		c.Summaries[0].CoversSeq = 0
	case r.Messages != nil:
		r.Messages.Key = none
		for i := range r.Messages.Messages {
			r.Messages.Messages[i].Seq = 0
		}
	case r.Inbox != nil:
		r.Inbox.Inbound.Key, r.Inbox.Seq = none, 0
	case r.Outbox != nil:
		r.Outbox.Key, r.Outbox.Seq = none, 0
	}
}

// fieldsAreReopened: every field is kept over a restart.
func fieldsAreReopened(t *testing.T, reopen func() *rig) {
	r := reopen()
	want := withEveryField(t, r)
	var head rows.Head
	must(t, r.Backend().Update(t.Context(), nil, func(r rows.Reader) (rows.Changes, error) {
		ch := fullHead(t, r, key("x:full"))
		head = ch.Head
		return rows.Changes{Chats: []*rows.Chat{ch}}, nil
	}))
	for range 2 {
		r = reopen()
		same(t, "the records after a restart", records(t, r), want)
		sameHead(t, r.Backend(), head)
	}
}
