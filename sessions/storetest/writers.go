package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

var directoryTests = map[string]func(*testing.T, *rig){
	"Directory/WhoWroteAndWhere":       whoWrote,
	"Directory/GoneWithTheLastMessage": goneWithTheLast,
	"Directory/ErasedPeopleAreGone":    erasedPeople,
	"Directory/JoinedUnderTheOtherKey": joinedWriters,
	"Directory/ManyInALongOne":         manyWriters,
	"Directory/NamesOfAllKinds":        oddWriters,
	"Directory/Scopes":                 scopes,
}

// person is a message of somebody in k.
func person(k, id, name string, ids ...string) sessions.Entry {
	e := sessions.Entry{Inbound: in(k, id, "hello")}
	e.Inbound.Sender = channels.Person{IDs: ids, Name: name}
	return e
}

// said is a message of a transcript.
func said(name, sender string) sessions.Message {
	m := user("words")
	m.Name, m.Sender = name, sender
	return m
}

// wrote is a writer as the store must list it.
func wrote(k, name string, ids ...string) sessions.Writer {
	return sessions.Writer{Key: key(k), IDs: ids, Name: name}
}

// writers checks the list of channel against want and against a dump.
func (r *rig) writers(t *testing.T, channel string, want ...sessions.Writer) {
	t.Helper()
	got, err := r.Writers(t.Context(), channel)
	must(t, err)
	same(t, "Writers("+channel+")", got, want)
	sameWriters(t, r.Store)
}

// sameWriters compares the listed writers with those in a dump. Every test of the
// suite ends with it. It skips a store that a test has closed or broken.
func sameWriters(t *testing.T, s *engine.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	want, err := storedWriters(ctx, s)
	if err != nil {
		return
	}
	for channel, list := range want {
		got, err := s.Writers(ctx, channel)
		if err != nil {
			t.Errorf("Writers(%s) = %v", channel, err)
			return
		}
		same(t, "Writers("+channel+") against a dump", got, list)
	}
}

// storedWriters returns the writers in a dump, by channel.
func storedWriters(ctx context.Context, s *engine.Store) (map[string][]sessions.Writer, error) {
	found := map[string]sessions.Writer{}
	all := map[string][]sessions.Writer{"nobody": nil}
	err := s.Dump(ctx, nil, func(r sessions.Record) error {
		switch {
		case r.Conversation != nil:
			all[r.Conversation.Key.Channel()] = nil
		case r.Inbox != nil && len(r.Inbox.Inbound.Sender.IDs) > 0:
			m := r.Inbox.Inbound
			found[fmt.Sprintf("%s %q %q %v", m.Key, m.Sender.IDs, m.Sender.Name, m.Private)] = sessions.Writer{Key: m.Key, IDs: m.Sender.IDs, Name: m.Sender.Name, Private: m.Private}
		case r.Messages != nil:
			for _, m := range r.Messages.Messages {
				if m.Role == sessions.RoleUser && m.Sender != "" {
					w := sessions.Writer{Key: r.Messages.Key, IDs: []string{m.Sender}, Name: m.Name}
					found[fmt.Sprintf("%s %q %q %v", w.Key, w.IDs, w.Name, false)] = w
				}
			}
		}
		return nil
	})
	for _, w := range found {
		all[w.Key.Channel()] = append(all[w.Key.Channel()], w)
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b sessions.Writer) int {
			order := cmp.Or(cmp.Compare(a.Key.Chat(), b.Key.Chat()), slices.Compare(a.IDs, b.IDs), cmp.Compare(a.Name, b.Name))
			if order == 0 && b.Private {
				return -1
			}
			return order
		})
	}
	return all, err
}

func whoWrote(t *testing.T, r *rig) {
	r.writers(t, "x")
	r.enter(t, person("x:1", "1", "ann", "7", "+1"), sessions.Queued)
	e := person("x:1", "2", "ann", "7", "+1")
	e.Inbound.Private = true
	r.enter(t, e, sessions.Queued)
	r.enter(t, person("x:1", "3", "ann", "7", "+1"), sessions.Queued)
	r.enter(t, person("x:1", "4", "Ann", "7", "+1"), sessions.Queued)
	r.enter(t, person("x:1", "5", "nobody"), sessions.Queued)
	r.enter(t, person("x:0", "6", "", "7"), sessions.Queued)
	r.enter(t, person("x-y:1", "7", "bob", "8"), sessions.Queued)
	r.enter(t, person("w:1", "8", "bob", "8"), sessions.Queued)
	r.say(t, "x:2", "9", said("ann", "7"), said("ann", ""), assistant("no"), said("ann", "7"))
	private := wrote("x:1", "ann", "7", "+1")
	private.Private = true
	want := []sessions.Writer{
		wrote("x:0", "", "7"), wrote("x:1", "Ann", "7", "+1"), wrote("x:1", "ann", "7", "+1"), private,
		wrote("x:2", "alice", "42"), wrote("x:2", "ann", "7"),
	}
	r.writers(t, "x", want...)
	r.writers(t, "x-y", wrote("x-y:1", "bob", "8"))
	r.writers(t, "y")
	r.writers(t, "")

	// An edited message keeps its writer; the note names the one who edited.
	e = edit("x:0", "10", "m6", "other words")
	e.Inbound.Sender = channels.Person{IDs: []string{"7"}, Name: "changed"}
	r.enter(t, e, sessions.Replaced)
	r.enter(t, control("x:2", "11", sessions.ControlNew), sessions.Done)
	r.say(t, "x:2", "12", said("ann", "7"))
	want = append([]sessions.Writer{want[0], wrote("x:0", "changed", "7")}, want[1:]...)
	r.writers(t, "x", want...)

	// A turn adds them to the transcript, too, with their first id.
	for r.Store != nil {
		h := r.claim(t)
		r.commit(t, h, "answer")
		r.deliver(t, h)
		h.release(nil)
		if h.Key == key("x:1") {
			break
		}
	}
	got, err := r.Writers(t.Context(), "x")
	must(t, err)
	if !slices.ContainsFunc(got, func(w sessions.Writer) bool { return w.Key == key("x:1") && len(w.IDs) == 1 }) {
		t.Errorf("Writers = %+v, want who is in the transcript", got)
	}
	got[0].IDs[0] = "changed by the caller"
	sameWriters(t, r.Store)
}

func goneWithTheLast(t *testing.T, r *rig) {
	ctx := t.Context()
	e := person("x:1", "1", "ann", "7")
	e.Answered, e.Append = true, []sessions.Message{said("ann", "7"), said("bob", "8")}
	r.enter(t, e, sessions.Done)
	r.enter(t, person("x:1", "2", "waits", "9"), sessions.Queued)
	r.enter(t, person("x:2", "3", "bob", "8"), sessions.Queued)
	r.writers(t, "x", wrote("x:1", "ann", "7"), wrote("x:1", "bob", "8"), wrote("x:1", "waits", "9"), wrote("x:2", "bob", "8"))
	must(t, r.Delete(ctx, key("x:1")))
	r.writers(t, "x", wrote("x:1", "waits", "9"), wrote("x:2", "bob", "8"))
	r.enter(t, person("x:1", "4", "new", "7"), sessions.Queued)
	r.writers(t, "x", wrote("x:1", "new", "7"), wrote("x:1", "waits", "9"), wrote("x:2", "bob", "8"))
	r.say(t, "x:3", "5", said("old", "1"))
	gone, err := r.Expire(ctx, time.Now().Add(time.Hour), 9)
	must(t, err)
	same(t, "Expire", gone, []channels.Key{key("x:3")})
	r.writers(t, "x", wrote("x:1", "new", "7"), wrote("x:1", "waits", "9"), wrote("x:2", "bob", "8"))
}

func erasedPeople(t *testing.T, r *rig) {
	ctx := t.Context()
	r.enter(t, person("x:room", "1", "ann", "7", "+1"), sessions.Queued)
	r.enter(t, person("x:room", "2", "bob", "8"), sessions.Queued)
	r.say(t, "x:room", "3", said("ann", "7"), said("bob", "8"))
	r.say(t, "x:7", "4", said("ann", "7"))
	r.enter(t, person("y:room", "5", "ann of y", "7"), sessions.Queued)
	_, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:7")}, Senders: []sessions.Sender{{Channel: "x", ID: "7"}, {Channel: "x", ID: "42"}}})
	must(t, err)
	r.writers(t, "x", wrote("x:room", "bob", "8"))
	r.writers(t, "y", wrote("y:room", "ann of y", "7"))
	r.enter(t, person("x:7", "6", "ann again", "7"), sessions.Queued)
	r.writers(t, "x", wrote("x:7", "ann again", "7"), wrote("x:room", "bob", "8"))
}

func joinedWriters(t *testing.T, r *rig) {
	r.enter(t, person("x:a", "1", "ann", "7"), sessions.Queued)
	r.say(t, "x:a", "2", said("ann", "8"))
	r.enter(t, person("x:b", "3", "bob", "9"), sessions.Queued)
	must(t, r.Join(t.Context(), key("x:a"), key("x:b")))
	joined := []sessions.Writer{wrote("x:b", "alice", "42"), wrote("x:b", "ann", "7"), wrote("x:b", "ann", "8"), wrote("x:b", "bob", "9")}
	r.writers(t, "x", joined...)
	must(t, r.Join(t.Context(), key("x:b"), key("x:a")))
	for i := range joined {
		joined[i].Key = key("x:a")
	}
	r.writers(t, "x", joined...)
}

// manyWriters: more than are kept in memory, or removed in one part.
func manyWriters(t *testing.T, r *rig) {
	var all []sessions.Message
	var want []sessions.Writer
	for i := range 700 {
		name := fmt.Sprintf("%03d", i/2)
		all = append(all, said("n"+name, name))
		if i%2 == 0 {
			want = append(want, wrote("x:long", "n"+name, name))
		}
	}
	for i := 0; i < len(all); i += 100 {
		e := sessions.Entry{Inbound: in("x:long", number("l", i), "/x"), Answered: true, Append: all[i : i+100]}
		e.Inbound.Sender = channels.Person{}
		r.enter(t, e, sessions.Done)
	}
	r.writers(t, "x", want...)
	must(t, r.Delete(t.Context(), key("x:long")))
	r.writers(t, "x")
}

func oddWriters(t *testing.T, r *rig) {
	long := fmt.Sprintf("%010000d", 7)
	r.say(t, "x:1", "1", said("\x00\"\\\n\u2028é\u0301", "a\nb"), said("broken \xff", "c\xff"), said(long, long))
	r.enter(t, person("x:2", "2", "a,b", "a", "b"), sessions.Queued)
	r.enter(t, person("x:2", "3", "a,b", "a\x00b"), sessions.Queued)
	r.enter(t, person("x:2", "4", "a,b", "a", "a"), sessions.Queued)
	r.enter(t, person("x:2", "5", "null", "null", ""), sessions.Queued)
	r.enter(t, person("x:2", "6", "null", ""), sessions.Queued)
	sameWriters(t, r.Store)
	got, err := r.Writers(t.Context(), "x")
	must(t, err)
	if len(got) != 9 { // with who said all of the first
		t.Errorf("Writers = %+v", got)
	}
}

func scopes(t *testing.T, r *rig) {
	ctx := t.Context()
	want := func(prefix string, list ...string) {
		t.Helper()
		got, err := r.FactScopes(ctx, prefix)
		must(t, err)
		same(t, "FactScopes("+prefix+")", got, list)
	}
	want("")
	ids := map[string]int64{}
	for _, scope := range []string{"person:x:7", "person:x:1", "person:x:1", "chat:x:1", "person:xy:1", "person:x", "person:x:é", "person:x:%_"} {
		f, err := r.Remember(ctx, scope, sessions.NewFact{Text: number("fact", len(ids))})
		must(t, err)
		ids[scope] = f.ID
	}
	want("person:x:", "person:x:%_", "person:x:1", "person:x:7", "person:x:é")
	want("person:x:é", "person:x:é")
	want("person:x:8")
	want("chat", "chat:x:1")
	want("", "chat:x:1", "person:x", "person:x:%_", "person:x:1", "person:x:7", "person:x:é", "person:xy:1")
	must(t, r.Forget(ctx, "person:x:7", ids["person:x:7"]))
	must(t, r.Forget(ctx, "person:x:1", ids["person:x:1"]))
	_, err := r.Erase(ctx, sessions.Erasure{Scopes: []string{"person:x:é"}})
	must(t, err)
	// An erasure also finds what is kept only to be taken back.
	want("person:x:", "person:x:%_", "person:x:1", "person:x:7")
}
