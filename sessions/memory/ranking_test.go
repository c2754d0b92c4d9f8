package memory_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// TestListOrder: whatever happens to conversations, and whatever the clock
// does, lists and the end of conversations go by the last update.
func TestListOrder(t *testing.T) {
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 1))
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		s := openAt(t, func() time.Time { return now })
		for n := range 300 {
			now = now.Add(time.Duration(dice.IntN(1000)) * time.Second)
			switch dice.IntN(30) {
			case 0:
				now = now.Add(-time.Duration(dice.IntN(200_000_000)) * time.Millisecond)
			case 1, 2, 3: // several at one moment
				now = now.Truncate(time.Hour)
			}
			step(t, s, dice, n, now)
			if n%10 == 0 || n > 280 {
				checkOrder(t, s, dice, now)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func someone(dice *rand.Rand) channels.Key {
	return channels.MustKey(fmt.Sprintf("x:%d", dice.IntN(40)))
}

// step does one thing to a conversation chosen at random.
func step(t *testing.T, s sessions.Store, dice *rand.Rand, n int, now time.Time) {
	t.Helper()
	ctx, k := t.Context(), someone(dice)
	var err error
	switch dice.IntN(12) {
	case 0:
		err = s.Delete(ctx, k)
	case 1:
		err = s.Join(ctx, k, someone(dice))
	case 2:
		_, err = s.Erase(ctx, sessions.Erasure{Keys: []channels.Key{k}})
	case 3:
		err = s.Rename(ctx, k, fmt.Sprint("title ", n))
	case 4:
		err = s.Configure(ctx, k, func(set *sessions.Settings) { set.Tags = []string{fmt.Sprint(n % 3)} })
	case 5:
		err = restoreOne(t, s, fmt.Sprintf("x:restored%d", n), now.Add(-time.Duration(dice.IntN(100_000_000))*time.Millisecond))
	case 6:
		_, err = s.Expire(ctx, now.Add(-24*time.Hour), 2)
	default:
		_, err = s.Accept(ctx, sessions.Entry{
			Inbound:  channels.Inbound{Key: k, ID: fmt.Sprint(n), MessageID: fmt.Sprint(n), Sender: channels.Person{IDs: []string{"1"}}, Text: "/x", At: now},
			Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hi", Usage: &sessions.Usage{Input: dice.IntN(9)}}},
		})
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		t.Fatal(err)
	}
}

// restoreOne puts a conversation into s as an import does.
func restoreOne(t *testing.T, s sessions.Store, k string, updated time.Time) error {
	t.Helper()
	key := channels.MustKey(k)
	records := []sessions.Record{
		{Conversation: &sessions.ConversationRecord{Key: key, MessageSeq: 1, Created: updated, Updated: updated}},
		{Messages: &sessions.MessagesRecord{Key: key, Messages: []sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: "hi", At: updated}}}},
	}
	_, err := s.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(records) == 0 {
			return r, io.EOF
		}
		r, records = records[0], records[1:]
		return r, nil
	})
	return err
}

// checkOrder compares what lists say with what each conversation says.
func checkOrder(t *testing.T, s sessions.Store, dice *rand.Rand, now time.Time) {
	t.Helper()
	ctx := t.Context()
	var want []sessions.Conversation
	var keys []channels.Key
	must(t, s.Dump(ctx, nil, func(r sessions.Record) error {
		if r.Conversation != nil {
			keys = append(keys, r.Conversation.Key)
		}
		return nil
	}))
	for _, k := range keys {
		c, err := s.Conversation(ctx, k)
		if err == nil {
			want = append(want, c)
		}
	}
	slices.SortFunc(want, func(a, b sessions.Conversation) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	same := func(what string, got, want []sessions.Conversation, err error) {
		t.Helper()
		if diff := gocmp.Diff(names(want), names(got)); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", what, err, diff)
		}
	}
	place := sessions.Cursor{Updated: now.Add(-time.Duration(dice.IntN(20)) * time.Hour), Key: someone(dice)}
	behind := slices.IndexFunc(want, func(c sessions.Conversation) bool {
		return c.Updated.Before(place.Updated) || c.Updated.Equal(place.Updated) && c.Key.String() > place.Key.String()
	})
	if behind < 0 {
		behind = len(want)
	}
	list, err := s.Find(ctx, sessions.Query{After: &place, Limit: 15})
	same("Find behind any place", list, cut(want, behind, 15), err)
	tagged := slices.DeleteFunc(slices.Clone(want), func(c sessions.Conversation) bool {
		return !slices.Contains(c.Tags, "1") || !c.Updated.After(now.Add(-time.Hour))
	})
	q := sessions.Query{Tag: "1", UpdatedAfter: now.Add(-time.Hour), Limit: 5}
	list, err = s.Find(ctx, q)
	same("Find", list, cut(tagged, 0, 5), err)
	for n := range list {
		after := list[n].Position()
		q.After = &after
		page, err := s.Find(ctx, q)
		same("Find behind a place", page, cut(tagged, n+1, 5), err)
	}
	slices.SortFunc(want, func(a, b sessions.Conversation) int {
		return cmp.Or(cmp.Compare(b.Usage.Input, a.Usage.Input), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	list, err = s.Top(ctx, 7)
	same("Top", list, cut(want, 0, 7), err)
}

func cut(all []sessions.Conversation, offset, limit int) []sessions.Conversation {
	return all[min(offset, len(all)):min(offset+limit, len(all))]
}

func names(list []sessions.Conversation) (all []string) {
	for _, c := range list {
		all = append(all, c.Key.String())
	}
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkFind lists fifty conversations of many.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint("conversations=", n), func(b *testing.B) {
			s := memory.New(memory.Options{})
			defer s.Close()
			say := func(i, n int) {
				_, err := s.Accept(b.Context(), sessions.Entry{
					Inbound:  channels.Inbound{Key: channels.MustKey(fmt.Sprint("x:", i)), ID: fmt.Sprint(n, " ", i), Sender: channels.Person{IDs: []string{"1"}}, Text: "/x"},
					Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}},
				})
				must(b, err)
			}
			for i := range n {
				say(i, -1)
			}
			dice := rand.New(rand.NewPCG(1, 2))
			for i := 0; b.Loop(); i++ {
				say(dice.IntN(n), i)
				list, err := s.Find(b.Context(), sessions.Query{Limit: 50})
				if err != nil || len(list) != 50 {
					b.Fatalf("Find = %d conversations, %v", len(list), err)
				}
			}
		})
	}
}
