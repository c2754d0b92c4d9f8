package storetest

import (
	"testing"
	"time"

	"dragoman/sessions"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func ask(person, code string) sessions.Pairing {
	return sessions.Pairing{Channel: "x", PersonID: person, Name: "n" + person, Code: code, Expires: noon.Add(time.Hour)}
}

var peopleTests = map[string]func(*testing.T, *rig){
	"People/PairAndUnpair": func(t *testing.T, r *rig) {
		ctx := t.Context()
		got, created, err := r.RequestPairing(ctx, ask("1", "ABCD-EFGH"), noon, 2)
		must(t, err)
		same(t, "request", got, ask("1", "ABCD-EFGH"))
		if !created {
			t.Error("not created")
		}
		got, created, err = r.RequestPairing(ctx, ask("1", "OTHER"), noon.Add(time.Minute), 2)
		if err != nil || created || got.Code != "ABCD-EFGH" {
			t.Errorf("second request = %+v, %v, %v", got, created, err)
		}
		if _, _, err = r.RequestPairing(ctx, ask("9", "abcdefgh"), noon, 2); err == nil {
			t.Error("two people got one code")
		}
		_, _, err = r.RequestPairing(ctx, ask("2", "2222"), noon, 2)
		must(t, err)
		_, _, err = r.RequestPairing(ctx, ask("3", "3333"), noon, 2)
		is(t, "RequestPairing", err, sessions.ErrTooMany)
		for _, wrong := range []string{"", " - ", "ABCD", "nope"} {
			_, err = r.ApprovePairing(ctx, wrong, noon)
			is(t, "ApprovePairing "+wrong, err, sessions.ErrNotFound)
		}
		if ok, err := r.Paired(ctx, "x", []string{"1"}); err != nil || ok {
			t.Errorf("Paired before the approval = %v, %v", ok, err)
		}
		got, err = r.ApprovePairing(ctx, " abcd efgh", noon.Add(time.Minute))
		must(t, err)
		if got.PersonID != "1" || got.Code != "" || !got.Approved.Equal(noon.Add(time.Minute)) || got.Name != "n1" {
			t.Errorf("approved: %+v", got)
		}
		_, err = r.ApprovePairing(ctx, "ABCDEFGH", noon)
		is(t, "ApprovePairing again", err, sessions.ErrNotFound)
		for ids, want := range map[*[]string]bool{{"0", "1"}: true, {"2"}: false, {}: false, {""}: false} {
			if ok, err := r.Paired(ctx, "x", *ids); err != nil || ok != want {
				t.Errorf("Paired(%v) = %v, %v", *ids, ok, err)
			}
		}
		if ok, err := r.Paired(ctx, "y", []string{"1"}); err != nil || ok {
			t.Errorf("Paired on another channel = %v, %v", ok, err)
		}
		list, err := r.Pairings(ctx, noon)
		if err != nil || len(list) != 2 {
			t.Errorf("Pairings = %+v, %v", list, err)
		}
		_, err = r.RefusePairing(ctx, "1111", noon)
		is(t, "RefusePairing of an unknown code", err, sessions.ErrNotFound)
		_, err = r.RefusePairing(ctx, "ABCD-EFGH", noon)
		is(t, "RefusePairing of a code that was approved", err, sessions.ErrNotFound)
		is(t, "Unpair of a request", r.Unpair(ctx, "x", "2"), sessions.ErrNotFound)
		must(t, r.Unpair(ctx, "x", "1"))
		is(t, "Unpair again", r.Unpair(ctx, "x", "1"), sessions.ErrNotFound)
		if ok, err := r.Paired(ctx, "x", []string{"1"}); err != nil || ok {
			t.Errorf("Paired after Unpair = %v, %v", ok, err)
		}
		_, err = r.RefusePairing(ctx, "2222", noon.Add(1000*time.Hour))
		is(t, "RefusePairing of an expired code", err, sessions.ErrNotFound)
		got, err = r.RefusePairing(ctx, " 22-22 ", noon)
		if err != nil || got.PersonID != "2" || got.Channel != "x" {
			t.Errorf("RefusePairing = %+v, %v, want the request", got, err)
		}
		list, err = r.Pairings(ctx, noon)
		if err != nil || len(list) != 0 {
			t.Errorf("Pairings after the refusal = %+v, %v, want none", list, err)
		}
		got, created, err = r.RequestPairing(ctx, ask("2", "4444"), noon, 2)
		if err != nil || !created || got.Code != "4444" {
			t.Errorf("a request after the refusal = %+v, %v, %v, want a new one", got, created, err)
		}
	},
	"People/RequestsExpire": func(t *testing.T, r *rig) {
		ctx := t.Context()
		_, _, err := r.RequestPairing(ctx, ask("1", "1111"), noon, 1)
		must(t, err)
		late := noon.Add(time.Hour)
		_, err = r.ApprovePairing(ctx, "1111", late)
		is(t, "ApprovePairing of an expired code", err, sessions.ErrNotFound)
		if list, err := r.Pairings(ctx, late); err != nil || len(list) != 0 {
			t.Errorf("Pairings = %+v, %v", list, err)
		}
		again := ask("1", "1112")
		again.Expires = late.Add(time.Hour)
		got, created, err := r.RequestPairing(ctx, again, late, 1)
		if err != nil || !created || got.Code != "1112" {
			t.Errorf("RequestPairing = %+v, %v, %v", got, created, err)
		}
		if _, _, err = r.RequestPairing(ctx, ask("5", "5555"), late, 9); err == nil {
			t.Error("a request that is expired already was kept")
		}
		if _, _, err = r.RequestPairing(ctx, ask("6", " - "), noon, 9); err == nil {
			t.Error("a request without a code was kept")
		}
	},
	"Facts/Origins": func(t *testing.T, r *rig) {
		ctx := t.Context()
		origins := func(text string) []sessions.Origin {
			t.Helper()
			facts, err := r.Recall(ctx, "person:42", text, 1)
			must(t, err)
			if len(facts) != 1 || facts[0].Text != text {
				t.Fatalf("%q is recalled as %+v", text, facts)
			}
			return facts[0].Origins
		}
		remember := func(text string, from ...sessions.Origin) {
			t.Helper()
			_, err := r.Remember(ctx, "person:42", sessions.NewFact{Text: text, Origins: from})
			must(t, err)
		}
		remember("tea is cheap", "web", "mcp:shop")
		remember("coffee is not")
		same(t, "of a page", origins("tea is cheap"), []sessions.Origin{"web", "mcp:shop"})
		same(t, "of the person", origins("coffee is not"), nil)
		remember("coffee is not", "web")
		same(t, "of the person, and a page says so", origins("coffee is not"), nil)
		remember("tea is cheap", "file")
		same(t, "of a page, and a file says so", origins("tea is cheap"), []sessions.Origin{"web", "mcp:shop"})
		remember("tea is cheap")
		same(t, "of a page, and the person says so", origins("tea is cheap"), nil)
	},
	"Facts/RememberRecallForget": func(t *testing.T, r *rig) {
		ctx := t.Context()
		var ids []int64
		for _, text := range []string{"likes green tea", "lives in Κρήτη", "tea at five", "likes green tea"} {
			f, err := r.Remember(ctx, "person:42", sessions.NewFact{Text: text})
			must(t, err)
			if f.Text != text || f.ID == 0 || f.At.IsZero() {
				t.Errorf("fact %+v", f)
			}
			ids = append(ids, f.ID)
		}
		if ids[3] != ids[0] {
			t.Error("the same fact was stored twice")
		}
		for _, text := range []string{"Likes green tea.", "  likes   green tea ", "LIKES GREEN TEA!"} {
			f, err := r.Remember(ctx, "person:42", sessions.NewFact{Text: text})
			must(t, err)
			if f.ID != ids[0] || f.Text != "likes green tea" {
				t.Errorf("%q is stored as %+v, want the fact that is there", text, f)
			}
		}
		recall := func(query string, limit int) []string {
			t.Helper()
			facts, err := r.Recall(ctx, "person:42", query, limit)
			must(t, err)
			var texts []string
			for _, f := range facts {
				texts = append(texts, f.Text)
			}
			return texts
		}
		same(t, "newest", recall("", 2), []string{"tea at five", "lives in Κρήτη"})
		same(t, "best", recall("Green TEA?", 5), []string{"likes green tea", "tea at five"})
		same(t, "unicode", recall("κρήτη", 5), []string{"lives in Κρήτη"})
		same(t, "nothing", recall("zebra", 5), nil)
		same(t, "no words", recall("\"*(", 5), nil)
		if facts, err := r.Recall(ctx, "person:4", "", 5); err != nil || len(facts) != 0 {
			t.Errorf("another scope: %v, %v", facts, err)
		}
		is(t, "Forget in another scope", r.Forget(ctx, "person:4", ids[0]), sessions.ErrNotFound)
		must(t, r.Forget(ctx, "person:42", ids[0]))
		is(t, "Forget again", r.Forget(ctx, "person:42", ids[0]), sessions.ErrNotFound)
		same(t, "after Forget", recall("tea", 5), []string{"tea at five"})
		f, err := r.Remember(ctx, "person:42", sessions.NewFact{Text: "new"})
		must(t, err)
		if f.ID <= ids[2] {
			t.Errorf("id %d was used before", f.ID)
		}
	},
}
