package erasure_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// wasteful is a store whose Dump ignores the keys, so that a plan reads every message.
type wasteful struct{ erasure.Store }

func (w wasteful) Dump(ctx context.Context, _ []channels.Key, emit func(sessions.Record) error) error {
	return w.Store.Dump(ctx, nil, emit)
}

// town is a store of people who have several ids, share some, write in each other's
// chats, have memories, or wait.
type town struct{ *rand.Rand }

func (r town) of(list ...string) string { return list[r.IntN(len(list))] }

func (r town) ids() (ids []string) {
	n := r.of("1", "2", "3")
	if r.IntN(2) == 0 {
		return append(ids, n)
	}
	return append(ids, "mask:"+r.of("ann", "bob")+"!u@host"+n, "account:"+r.of("ann", "cat"))
}

func (r town) text() string {
	return r.of("hello", "Ann said so", "a talk with bob", "of 2 and 3", "cat!")
}

func (r town) key() channels.Key {
	return channels.MustKey(r.of("irc:", "irc:", "tg:") + r.of("ann", "bob", "#go", "1", "2", "2:7"))
}

// records returns the content of a town.
func (r town) records(t *testing.T) (all []sessions.Record) {
	at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	taken := map[channels.Key]bool{}
	for n := range 1 + r.IntN(6) {
		k := r.key()
		if taken[k] {
			continue
		}
		taken[k] = true
		if r.IntN(5) == 0 { // only its name is left
			all = append(all, sessions.Record{Conversation: &sessions.ConversationRecord{Key: k, Seq: 9}})
			continue
		}
		said := int64(r.IntN(5))
		head := &sessions.ConversationRecord{Key: k, Seq: 9, MessageSeq: said, Created: at, Updated: at, Title: r.text()}
		g := sessions.Generation{ID: fmt.Sprintf("20260601_%03d", 2*n+1), FirstSeq: 1, LastSeq: said, Began: at}
		head.Generations = append(head.Generations, g)
		if said > 2 && r.IntN(2) == 0 {
			head.Generations[0].LastSeq = 2
			head.Generations = append(head.Generations, sessions.Generation{ID: fmt.Sprintf("20260601_%03d", 2*n+2), FirstSeq: 3, LastSeq: said, Began: at})
		}
		newest := head.Generations[len(head.Generations)-1]
		if said >= newest.FirstSeq && r.IntN(2) == 0 {
			head.Summaries = []sessions.Summary{{Generation: newest.ID, CoversSeq: newest.FirstSeq, Text: r.text(), At: at}}
		}
		all = append(all, sessions.Record{Conversation: head})
		m := &sessions.MessagesRecord{Key: k}
		for seq := range said {
			one := sessions.Message{Seq: seq + 1, Role: sessions.RoleUser, Content: "hi", At: at, Sender: r.ids()[0], Name: r.of("", "Ann", "Bob Smith")}
			if r.IntN(4) == 0 {
				one.Role = sessions.RoleAssistant
				one.Sender = ""
				one.Name = ""
			}
			m.Messages = append(m.Messages, one)
		}
		if said > 0 {
			all = append(all, sessions.Record{Messages: m})
		}
		for seq := range int64(r.IntN(4)) {
			in := channels.Inbound{Key: k, ID: fmt.Sprint(k, seq), Text: "hi", Sender: channels.Person{IDs: r.ids(), Name: r.of("", "ann", "Cat")}, Private: r.IntN(2) == 0}
			all = append(all, sessions.Record{Inbox: &sessions.InboxRecord{Seq: seq + 1, Inbound: in, Source: sessions.SourceChat, State: r.of("waiting", "done"), Accepted: at}})
		}
	}
	for id := range int64(r.IntN(6)) {
		scope := r.of("chat:"+r.key().String(), "person:irc:"+r.of("1", "account:ann", "mask:ann!u@host1"), "person:tg:2")
		all = append(all, sessions.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: id + 1, At: at, Text: r.text()}}})
	}
	if r.IntN(2) == 0 {
		all = append(all, sessions.Record{Pairing: &sessions.Pairing{Channel: "irc", PersonID: r.ids()[0], Name: "Ann", Approved: at}})
	}
	return all
}

// TestPlanReadsOnlyTheirConversations: a plan that reads only the conversations in
// which a person wrote equals one that reads every message.
func TestPlanReadsOnlyTheirConversations(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	found := map[string]int{}
	for seed := range uint64(120) {
		r := town{rand.New(rand.NewPCG(seed, 7))}
		all := r.records(t)
		s := sqlitetest.Open(t, now)
		left := slices.Clone(all)
		_, err := s.Restore(ctx, func() (one sessions.Record, err error) {
			if len(left) == 0 {
				return one, io.EOF
			}
			one, left = left[0], left[1:]
			return one, nil
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, target := range []string{"irc:ann", "irc:1", "irc:account:ann", "irc:mask:ann!u@host1", "irc:2", "irc:#go", "tg:2", "tg:nobody"} {
			f := &frugal{Store: s}
			got, want := planOf(t, f, target), planOf(t, wasteful{s}, target)
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" {
				t.Fatalf("seed %d: the plan for %s (-all that is stored +what was read):\n%s", seed, target, diff)
			}
			for what, n := range map[string]int{
				"conversations": len(got.Conversations), "names": len(got.Names), "shared": len(got.Shared), "queued": got.Queued, "facts": got.Facts, "pairings": got.Pairings,
				"maybe": len(got.Maybe), "people": len(got.Erasure.Senders),
			} {
				found[what] += min(n, 1)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("plans with: %v", found)
	for what, n := range found {
		if n == 0 {
			t.Errorf("no plan has %s: the stores are too plain", what)
		}
	}
}

func planOf(t *testing.T, s erasure.Store, target string) erasure.Plan {
	t.Helper()
	p, err := erasure.New(erasure.Options{Store: s, Now: now}).Plan(t.Context(), channels.MustKey(target), false)
	if err != nil {
		t.Fatalf("Plan(%s) = %v", target, err)
	}
	return p
}
