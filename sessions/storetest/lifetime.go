package storetest

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

var lifetimeTests = map[string]func(*testing.T, *rig){
	"Join/OneConversationOfTwo":         joins,
	"Join/ADeliveryUnderWay":            joinsWhileSending,
	"Join/SummariesOfEither":            joinsSummaries,
	"Join/IntoNothingAndFromNothing":    joinsNothing,
	"Expire/Case49OnlyTheOldAndTheIdle": expires,
	"Expire/Case49WithoutAConversation": expiresRest,
	"Expire/AllWithoutAConversation":    expiresAllRest,
	"Delete/Case47IDsStayUnique":        deletes,
	"Delete/LargeWithAnUnsentAnswer":    deletesLargeAndUnsent,
	"Turn/LargeFirst":                   largeFirstTurn,
	"Erase/AConversation":               erases,
	"Erase/WhileItIsSummarised":         erasesWhileSummarised,
	"Erase/Copies":                      erasesCopies,
	"Erase/FormerCopies":                erasesFormerCopies,
	"Erase/APersonInAConversation":      erasesPerson,
	"Erase/APersonOnTwoNetworks":        erasesOnTwoNetworks,
	"Erase/Case52AnErasedUpdateIsKnown": erasedOnce,
	"Erase/WhatAnErasedPersonWaitsFor":  erasesWaiting,
	"Erase/NoNameOfAnEmptyChatIsLeft":   erasesEmptied,
	"Erase/WhatWasSetAside":             erasesQuarantined,
	"Erase/WhatOthersWroteBeside":       erasesForeign,
	"Join/FieldsOfOthers":               joinsForeign,
	"Erase/NothingIsFine":               erasesNothing,
}

func expires(t *testing.T, r *rig) {
	ctx := t.Context()
	for i, k := range []string{"x:1", "x:2", "x:3", "x:4", "x:5"} {
		r.say(t, k, number("", i), user("hi"))
	}
	r.accept(t, "x:1", "waits", "hi")
	r.enter(t, sessions.Entry{Inbound: in("x:2", "sends", "/x"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
	if gone, err := r.Expire(ctx, time.Now().Add(-time.Hour), 10); err != nil || len(gone) != 0 {
		t.Errorf("Expire = %v, %v", gone, err)
	}
	later := time.Now().Add(time.Hour)
	for limit, want := range map[int][]channels.Key{0: nil, -1: nil} {
		gone, err := r.Expire(ctx, later, limit)
		must(t, err)
		same(t, "Expire", gone, want)
	}
	gone, err := r.Expire(ctx, later, 2)
	must(t, err)
	same(t, "Expire", gone, []channels.Key{key("x:3"), key("x:4")})
	for range 2 {
		h := r.claim(t)
		defer h.release(nil)
		if h.Key == key("x:1") {
			r.commit(t, h, "ok")
		}
		r.deliver(t, h) // nothing is left to do, but the claims are live
	}
	gone, err = r.Expire(ctx, later, 10)
	must(t, err)
	same(t, "Expire", gone, []channels.Key{key("x:5")})
	if list, err := r.Find(ctx, sessions.Query{Limit: 9}); err != nil || len(list) != 2 {
		t.Errorf("Find = %+v, %v", list, err)
	}
}

// expiresRest: old commands and answers without a conversation are deleted, too, and
// stay duplicates.
func expiresRest(t *testing.T, r *rig) {
	ctx := t.Context()
	command := sessions.Entry{Inbound: in("x:1", "1", "/help me"), Answered: true, Replies: []sessions.Reply{{Text: "help"}}}
	r.enter(t, command, sessions.Done)
	expire := func(before time.Time, items int) {
		t.Helper()
		gone, err := r.Expire(ctx, before, 9)
		must(t, err)
		same(t, "Expire", gone, nil)
		feed, err := r.Feed(ctx, key("x:1"), 0, 9)
		must(t, err)
		if len(feed) != items {
			t.Errorf("%d items are left, want %d: %+v", len(feed), items, feed)
		}
	}
	later := time.Now().Add(time.Hour)
	expire(later, 2) // its answer is not sent yet
	h := r.claim(t)
	same(t, "deliveries", r.deliver(t, h), []string{"help"})
	expire(later, 2) // the claim is live
	h.release(nil)
	expire(time.Now().Add(-time.Hour), 2)
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() { // the claim may be about to end
		if _, err := r.Expire(ctx, later, 9); err != nil {
			t.Fatal(err)
		}
		if feed, err := r.Feed(ctx, key("x:1"), 0, 9); err != nil || len(feed) == 0 {
			break
		}
	}
	expire(later, 0)
	r.enter(t, command, sessions.Duplicate)
	is(t, "Delete", r.Delete(ctx, key("x:1")), sessions.ErrNotFound)
}

// expiresAllRest: an Expire that returns fewer than limit keys leaves nothing to
// expire, however many keys have no conversation.
func expiresAllRest(t *testing.T, r *rig) {
	const keys, limit = 9, 2
	for i := range keys {
		e := sessions.Entry{Inbound: in(fmt.Sprint("x:", i), fmt.Sprint(i), "/help"), Answered: true}
		r.enter(t, e, sessions.Done)
	}
	r.accept(t, "x:4", "waits", "hi") // keeps all of x:4
	r.say(t, "x:talk", "said", user("hi"))
	gone, err := r.Expire(t.Context(), time.Now().Add(time.Hour), limit)
	must(t, err)
	same(t, "Expire", gone, []channels.Key{key("x:talk")})
	for i := range keys {
		want := 0
		if i == 4 {
			want = 2
		}
		feed, err := r.Feed(t.Context(), key(fmt.Sprint("x:", i)), 0, 9)
		must(t, err)
		if len(feed) != want {
			t.Errorf("%d items of x:%d are left, want %d", len(feed), i, want)
		}
		r.enter(t, sessions.Entry{Inbound: in(fmt.Sprint("x:", i), fmt.Sprint(i), "/help")}, sessions.Duplicate)
	}
}

func deletes(t *testing.T, r *rig) {
	seen := map[string]bool{}
	for i := range 3 {
		for _, k := range []string{"x:1", "x:2", "x:3"} {
			r.say(t, k, fmt.Sprint(k, i), user("hi"))
			g, err := r.Generations(t.Context(), key(k))
			must(t, err)
			if len(g) != 1 || seen[g[0].ID] {
				t.Errorf("generations %+v, some were given before", g)
			}
			seen[g[0].ID] = true
			must(t, r.Delete(t.Context(), key(k)))
		}
	}
}
