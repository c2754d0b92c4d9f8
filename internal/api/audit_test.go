package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// audited is a server with an audit log, and a function that returns the lines since it
// was last called.
func audited(t *testing.T) (o api.Options, lines func() []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	s := filled(t)
	o = optionsOf(s)
	o.Audit = erasure.Log{Path: path, Now: now}
	o.Eraser = erasure.New(erasure.Options{Store: s, Log: o.Audit, Now: now})
	seen := 0
	return o, func() []string {
		data, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all := strings.SplitAfter(string(data), "\n")
		all = all[:len(all)-1]
		since := all[seen:]
		seen = len(all)
		return since
	}
}

// TestEveryChangeIsAudited: each verb that is no GET, but for a copy of all, writes who uses it, whether it
// succeeds or not. Questions and prompts, and the files for them, are messages of
// a person, a webhook is called by a program, and what people have read and pinned and think of
// answers is theirs alone: these are no acts.
func TestEveryChangeIsAudited(t *testing.T) {
	o, lines := audited(t)
	o.Phones = noPhones{}
	h := api.New(o)
	own := map[string]bool{ // of the caller alone
		"/conversations/{key}/messages": true, "/conversations/{key}/read": true, "/conversations/{key}/pin": true,
		"/conversations/{key}/messages/{seq}/feedback": true, "/files": true,
	}
	argument := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, verb := range api.Table() {
		path := strings.NewReplacer("{from}", "telegram:1", "{seq}", "1").Replace(verb.Path)
		path = argument.ReplaceAllString(path, "telegram:1")
		if strings.HasPrefix(path, "/facts/telegram:1") {
			path = strings.Replace(path, "telegram:1", "7", 1) + "?target=telegram:1"
		}
		body := `{}`
		if verb.Path == "/erasures" {
			body = `{"keys": ["telegram:404"]}`
		}
		w := asked(h, verb.Method, api.Root+path, body)
		got := lines()
		want := 2
		if verb.Method == http.MethodGet || verb.Path == "/ask" || own[verb.Path] || verb.OwnSecret {
			want = 0
		}
		if (verb.Path == "/records" || verb.Path == "/export") && verb.Method == http.MethodGet {
			want = 1 // all of the store is read
		}
		if len(got) != want {
			t.Errorf("%s %s (%d) writes %d lines to the audit log, want %d", verb.Method, verb.Path, w.Code, len(got), want)
		}
		for _, line := range got {
			if !strings.Contains(line, `"by":"operator"`) {
				t.Errorf("%s %s does not say who does it: %s", verb.Method, verb.Path, line)
			}
		}
	}
}

// TestAuditNamesThePrincipal and whom an act is about only as a sum.
func TestAuditNamesThePrincipal(t *testing.T) {
	o, lines := audited(t)
	o.Reads = everything{}
	c := as(o, people.Principal{ID: "telegram:42", Name: "laptop", Scope: people.Operate, Token: "laptop", TokenID: "1"})
	k := channels.MustKey("telegram:1")
	model := "m"
	if _, err := api.Configure.Call(t.Context(), c, api.Change{Key: k, Model: &model}); err != nil {
		t.Fatal(err)
	}
	if err := api.DropQueue.Call(t.Context(), c, api.Item{ID: "out/telegram:1/404"}); err == nil {
		t.Fatal("an entry that is not there was dropped")
	}
	type line struct{ Action, State, By string }
	var got []line
	for _, text := range lines() {
		var one struct {
			Action, State, By string
			Targets           []string
		}
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "telegram:") || len(one.Targets) != 1 || len(one.Targets[0]) != 64 {
			t.Errorf("a target is not a sum: %s", text)
		}
		got = append(got, line{Action: one.Action, State: one.State, By: one.By})
	}
	want := []line{
		{Action: "settings", State: "begun", By: "laptop"},
		{Action: "settings", State: "done", By: "laptop"},
		{Action: "queue drop", State: "begun", By: "laptop"},
		{Action: "queue drop", State: "failed", By: "laptop"},
	}
	if len(got) != len(want) {
		t.Fatalf("the audit log has %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

// everything is read by everybody.
type everything struct{ api.Reads }

func (everything) Read(context.Context, people.Principal, channels.Key) (people.Sight, error) {
	return people.Sight{May: true, Own: true}, nil
}

// noPhones knows no channel.
type noPhones struct{}

func (noPhones) Link(context.Context, string, string, func(channels.Invitation)) (string, error) {
	return "", sessions.ErrNotFound
}

func (noPhones) Unlink(context.Context, string) (bool, error) { return false, sessions.ErrNotFound }
