package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// ownerTests: who wrote in a conversation, and in which ones somebody wrote.
var ownerTests = map[string]func(*testing.T, *rig){
	"Owners/AreNotedByTurns":        notesOwners,
	"Owners/FindListsTheirs":        findsOwned,
	"Owners/EndWithTheConversation": forgetsOwners,
	"Owners/OfAnErasedPerson":       erasesOwners,
	"Owners/AreJoined":              joinsOwners,
	"Owners/AreAtMost64":            boundsOwners,
	"Owners/WithoutATurn":           notesOthers,
}

// writes has a person write in k, and commits an answer.
func (r *rig) writes(t *testing.T, k, id string, private bool, ids ...string) {
	t.Helper()
	m := in(k, id, "text "+id)
	m.Sender = channels.Person{IDs: ids}
	m.Private = private
	r.enter(t, sessions.Entry{Inbound: m}, sessions.Queued)
	h := r.claim(t)
	if h.Key != key(k) {
		t.Fatalf("claim of %s, want %s", h.Key, k)
	}
	r.commit(t, h, "answer to "+id)
	r.deliver(t, h) // or its key would be claimed again
	h.release(nil)
}

// owners are those of k, each as "from identities".
func (r *rig) owners(t *testing.T, k string, want ...string) {
	t.Helper()
	list, err := r.Owners(t.Context(), key(k))
	must(t, err)
	var got []string
	for _, o := range list {
		private := ""
		if o.Private {
			private = " in private"
		}
		got = append(got, fmt.Sprintf("%d %s%s", o.From, strings.Join(o.Identities, " "), private))
	}
	same(t, "the owners of "+k, got, want)
}

// owned are the conversations in which one of these identities wrote.
func (r *rig) owned(t *testing.T, identities []string, want ...string) {
	t.Helper()
	list, err := r.Find(t.Context(), sessions.Query{Owners: identities, Limit: 100})
	must(t, err)
	var got []string
	for _, c := range list {
		got = append(got, c.Key.String())
	}
	slices.Sort(got)
	same(t, "the conversations of "+strings.Join(identities, " "), got, want)
}

func notesOwners(t *testing.T, r *rig) {
	r.owners(t, "x:42")
	r.writes(t, "x:42", "1", true, "42")
	r.writes(t, "x:42", "2", true, "42")
	r.writes(t, "x:room", "3", false, "7", "mask:a")
	r.writes(t, "x:room", "4", false, "42")
	r.writes(t, "x:room", "5", false, "7", "mask:b")
	r.writes(t, "x:room", "6", false)
	r.owners(t, "x:42", "1 x:42 in private")
	r.owners(t, "x:room", "1 x:7 x:mask:a x:mask:b", "3 x:42")
	r.owned(t, []string{"x:42"}, "x:42", "x:room")
	r.owned(t, []string{"x:mask:b"}, "x:room")
	r.owned(t, []string{"x:42", "x:7"}, "x:42", "x:room")
	r.owned(t, []string{"x:9"})
	r.owned(t, []string{})
}

// notesOthers: whatever puts somebody's words into a transcript makes them an owner.
func notesOthers(t *testing.T, r *rig) {
	said := func(id string, ids ...string) channels.Inbound {
		m := in("x:room", id, "text")
		m.Sender.IDs = ids
		return m
	}
	reaction := said("1", "7", "mask:a")
	reaction.Reaction = "👍"
	r.enter(t, sessions.Entry{Inbound: reaction, Answered: true, Append: []sessions.Message{sessions.ReactionNote(reaction)}}, sessions.Done)
	r.owners(t, "x:room", "1 x:7 x:mask:a")
	r.enter(t, sessions.Entry{Inbound: said("2", "42", "mask:b")}, sessions.Queued)
	r.enter(t, sessions.Entry{Inbound: said("3", "7"), Answered: true, Control: sessions.ControlStop}, sessions.Done)
	r.owners(t, "x:room", "1 x:7 x:mask:a", "2 x:42 x:mask:b")
	r.enter(t, sessions.Entry{Inbound: said("4", "8"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
	r.owners(t, "x:room", "1 x:7 x:mask:a", "2 x:42 x:mask:b") // a command is not in the transcript
	r.owned(t, []string{"x:8"})
}

func findsOwned(t *testing.T, r *rig) {
	for i := range 7 {
		r.writes(t, fmt.Sprintf("x:%d", i), fmt.Sprint(i), false, "42")
		r.writes(t, fmt.Sprintf("x:other%d", i), fmt.Sprint("other", i), false, "7")
	}
	must(t, r.Rename(t.Context(), key("x:3"), "a title"))
	q := sessions.Query{Owners: []string{"x:42"}, Limit: 3}
	all, err := r.Find(t.Context(), sessions.Query{Limit: 100})
	must(t, err)
	var want, got []string
	for _, c := range all {
		if !strings.HasPrefix(c.Key.Chat(), "other") {
			want = append(want, c.Key.String())
		}
	}
	for len(got) <= len(want) {
		page, err := r.Find(t.Context(), q)
		must(t, err)
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.Key.String())
		}
		place := page[len(page)-1].Position()
		q.After = &place
	}
	same(t, "the pages", got, want)
	titled, err := r.Find(t.Context(), sessions.Query{Owners: []string{"x:42"}, Text: "a title"})
	must(t, err)
	if len(titled) != 1 || titled[0].Key != key("x:3") {
		t.Errorf("with a title: %v", titled)
	}
}

func forgetsOwners(t *testing.T, r *rig) {
	r.writes(t, "x:42", "1", true, "42")
	r.writes(t, "x:room", "2", false, "42")
	must(t, r.Delete(t.Context(), key("x:42")))
	r.owners(t, "x:42")
	r.owned(t, []string{"x:42"}, "x:room")
	_, err := r.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:room")}})
	must(t, err)
	r.owners(t, "x:room")
	r.owned(t, []string{"x:42"})
	r.writes(t, "x:room", "3", false, "7")
	r.owners(t, "x:room", "1 x:7")
	if notes, err := r.Notes(t.Context(), sessions.NoteFilter{Owner: "x:42"}); err != nil || len(notes) > 0 {
		t.Errorf("left are %v, %v", notes, err)
	}
}

func erasesOwners(t *testing.T, r *rig) {
	r.writes(t, "x:room", "1", false, "42", "mask:a")
	r.writes(t, "x:room", "2", false, "7")
	got, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}})
	must(t, err)
	if got.Notes != 0 {
		t.Errorf("%d notes are counted: what follows from the messages is none", got.Notes)
	}
	r.owners(t, "x:room", "3 x:7")
	r.owned(t, []string{"x:42", "x:mask:a"})
	for _, rec := range records(t, r) {
		if rec.Conversation != nil && slices.ContainsFunc(rec.Conversation.Owners, func(o sessions.Owner) bool {
			return slices.Contains(o.Identities, "x:42") || slices.Contains(o.Identities, "x:mask:a")
		}) {
			t.Errorf("a dump still has the person: %+v", rec.Conversation.Owners)
		}
	}
}

func joinsOwners(t *testing.T, r *rig) {
	r.writes(t, "x:1", "1", true, "42")
	r.writes(t, "x:1", "2", true, "7")
	r.writes(t, "x:2", "3", true, "8")
	r.writes(t, "x:2", "4", true, "42")
	must(t, r.Join(t.Context(), key("x:1"), key("x:2")))
	r.owners(t, "x:1")
	list, err := r.Messages(t.Context(), key("x:2"), 0, 100)
	must(t, err)
	var want []string
	for _, who := range []string{"42", "7", "8"} {
		i := slices.IndexFunc(list, func(m sessions.Message) bool { return m.Sender == who })
		want = append(want, fmt.Sprintf("%d x:%s in private", list[i].Seq, who))
	}
	r.owners(t, "x:2", want...)
	r.owned(t, []string{"x:42"}, "x:2")
	r.owned(t, []string{"x:7"}, "x:2")
}

func boundsOwners(t *testing.T, r *rig) {
	for i := range 66 {
		r.writes(t, "x:room", fmt.Sprint(i), false, fmt.Sprint("u", i))
	}
	list, err := r.Owners(t.Context(), key("x:room"))
	must(t, err)
	if len(list) != 64 || list[63].Identities[0] != "x:u63" {
		t.Errorf("%d owners, the last %v", len(list), list[len(list)-1])
	}
	r.owned(t, []string{"x:u63"}, "x:room")
	r.owned(t, []string{"x:u64"})
}

// ownersAreRestored: a copy knows who wrote where, and one of a former version, which did
// not, finds out.
func ownersAreRestored(t *testing.T, r *rig, open func() *rig) {
	r.writes(t, "x:42", "1", true, "42", "mask:a")
	r.writes(t, "x:room", "2", false, "7")
	r.writes(t, "x:room", "3", false, "42", "mask:b")
	dump := records(t, r)
	for _, rec := range dump {
		if rec.Note != nil {
			t.Errorf("the dump has the note %+v, which follows from the conversations", rec.Note)
		}
	}
	want := func(r *rig) {
		r.owners(t, "x:42", "1 x:42 x:mask:a in private")
		r.owners(t, "x:room", "1 x:7", "3 x:42 x:mask:b")
		r.owned(t, []string{"x:42"}, "x:42", "x:room")
		r.owned(t, []string{"x:mask:b"}, "x:room")
	}
	copied := open()
	must(t, restore(t, copied, given(dump)))
	want(copied)

	for _, rec := range dump {
		if rec.Conversation != nil {
			rec.Conversation.Owners = nil
		}
	}
	former := open()
	must(t, restore(t, former, given(dump)))
	former.owners(t, "x:42")
	former.owned(t, []string{"x:42"})
	former.writes(t, "x:room", "4", false, "8")
	former.owners(t, "x:room") // half of it would look like all
	unknown, err := former.UnknownOwners(t.Context())
	must(t, err)
	same(t, "UnknownOwners", unknown, []channels.Key{key("x:room"), key("x:42")})
	must(t, former.FindOwners(t.Context(), append(unknown, key("x:nowhere"), key("x:42"))...))
	unknown, err = former.UnknownOwners(t.Context())
	must(t, err)
	same(t, "UnknownOwners", unknown, nil)
	former.owners(t, "x:42", "1 x:42 x:mask:a in private")
	former.owners(t, "x:room", "1 x:7", "3 x:42 x:mask:b", "5 x:8")
	former.owned(t, []string{"x:42"}, "x:42", "x:room")
	former.writes(t, "x:room", "5", false, "9")
	former.owners(t, "x:room", "1 x:7", "3 x:42 x:mask:b", "5 x:8", "7 x:9")
}
