package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"dragoman/internal/storage"
	"dragoman/sessions"
)

// Of the people who ask, the codes complete; those who are let in have none.
func TestPairingCodesComplete(t *testing.T) {
	w := newWorld(t)
	for _, p := range []sessions.Pairing{
		{Channel: "telegram", PersonID: "7", Name: "Ann", Code: "ABCD-EFGH", Expires: clock.Add(time.Hour)},
		{Channel: "irc", PersonID: "bob", Name: "Bob", Code: "JKLM-NPQR", Expires: clock.Add(time.Hour)},
	} {
		if _, _, err := w.daemon.store.RequestPairing(t.Context(), p, clock, 3); err != nil {
			t.Fatal(err)
		}
	}
	words := func() (all []string) {
		client, release, err := w.daemon.admin(t.Context(), nil, storage.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		list, err := running["code"](context.Background(), client)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			all = append(all, v.word+" "+v.help)
		}
		slices.Sort(all)
		return all
	}
	if got, want := words(), []string{"ABCD-EFGH Ann on telegram", "JKLM-NPQR Bob on irc"}; !slices.Equal(got, want) {
		t.Errorf("the codes are %q, want %q", got, want)
	}
	w.want(nil, "pair", "approve", "ABCD-EFGH")
	if got, want := words(), []string{"JKLM-NPQR Bob on irc"}; !slices.Equal(got, want) {
		t.Errorf("then they are %q, want %q", got, want)
	}
}
