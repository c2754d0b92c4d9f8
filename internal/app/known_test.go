package app_test

import (
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// Whoever wrote or was let in is listed, by page, name and identity, and so is what each used.
func TestKnownPeople(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	ctx := t.Context()
	for _, k := range []string{"telegram:1", "telegram:5", "irc:bob!b@x"} {
		restoreTalk(t, r.admin, channels.MustKey(k), sessions.Owner{Identities: []string{k}, Private: true, From: 1})
	}
	if err := api.JoinPeople.Call(ctx, r.admin, api.Identities{One: "telegram:5", Other: "telegram:6"}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.PutQuestion.Call(ctx, r.admin, api.Question{Key: channels.MustKey("web:default"), Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	restoreQueue(t, r.admin) // telegram:7, who is called Ann, was let in, and telegram:8 was not
	var found []api.Person
	after := ""
	for {
		page, err := api.ListPeople.Call(ctx, r.admin, api.PeopleQuery{After: after, Limit: 1})
		if err != nil || len(page.Data) != 1 {
			t.Fatalf("ListPeople = %+v, %v; want one a page", page, err)
		}
		found = append(found, page.Data...)
		after = page.Next
		if after == "" {
			break
		}
	}
	has := func(identity string) bool {
		return slices.ContainsFunc(found, func(p api.Person) bool { return slices.Contains(p.Identities, identity) })
	}
	for _, identity := range []string{"telegram:1", "telegram:5", "telegram:6", "irc:bob!b@x", "web:operator", "telegram:7"} {
		if !has(identity) {
			t.Errorf("%s is in no page of %+v", identity, found)
		}
	}
	if len(found) != 5 {
		t.Errorf("there are %d people, want 5: %+v", len(found), found)
	}
	named, err := api.ListPeople.Call(ctx, r.admin, api.PeopleQuery{Text: "ann"})
	if err != nil || len(named.Data) != 1 || named.Data[0].Name != "Ann" {
		t.Errorf("ListPeople = %+v, %v; want Ann", named, err)
	}
	one, err := api.ReadPerson.Call(ctx, r.admin, api.OneIdentity{Identity: "telegram:6"})
	if err != nil || len(one.Identities) != 2 || one.Seen.IsZero() {
		t.Errorf("ReadPerson = %+v, %v", one, err)
	}
	some, err := api.ListPeople.Call(ctx, r.admin, api.PeopleQuery{Text: "IRC:BOB"})
	if err != nil || len(some.Data) != 1 {
		t.Errorf("ListPeople = %+v, %v; want bob", some, err)
	}
	used, err := api.ReadUsage.Call(ctx, r.admin, api.UsageBy{Person: "operator"})
	if err != nil || used.Total.Turns != 1 {
		t.Errorf("ReadUsage of the operator = %+v, %v; want one turn", used, err)
	}
}
