package app_test

import (
	"errors"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
)

// readLog reads the log.
func (r *running) readLog(q api.LogQuery) api.Page[api.LogRecord] {
	r.t.Helper()
	page, err := api.ReadLog.Call(r.t.Context(), r.admin, q)
	if err != nil {
		r.t.Fatal(err)
	}
	return page
}

// The log is read from the newest records on, in pages, by level, conversation and text, and
// nobody reads a secret in it.
func TestLog(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-this-page"
	r := newPlace(t, "http: {listen: \"127.0.0.1:0\", token: "+secret+"}\nlog: {level: debug}").run()
	log := r.daemon.Log()
	log.Warn("tried", "key", "web:default", "err", errors.New("GET https://example.org/?token="+secret+" failed"))
	log.Error("failed", "channel", "irc", "err", errors.New("gone"))
	log.Info("said "+secret, "channel", "irc")

	all := r.readLog(api.LogQuery{Limit: 3})
	if len(all.Data) != 3 || all.Data[0].Message != "tried" || all.Data[1].Facts["err"] != "gone" || all.Data[2].Message != "said <secret>" {
		t.Fatalf("the newest three records are %+v", all.Data)
	}
	if got := all.Data[0].Facts["err"]; got != "GET https://example.org/?token=<secret> failed" {
		t.Errorf("the error is %q", got)
	}
	for what, one := range map[string]struct {
		q    api.LogQuery
		want string
	}{
		"level":              {api.LogQuery{Level: "error"}, "failed"},
		"channel":            {api.LogQuery{Channel: "irc", Level: "error"}, "failed"},
		"key":                {api.LogQuery{Key: channels.MustKey("web:default"), Level: "warn"}, "tried"},
		"text":               {api.LogQuery{Text: "EXAMPLE.org"}, "tried"},
		"channel of the key": {api.LogQuery{Channel: "web", Level: "warn"}, "tried"},
	} {
		got := r.readLog(one.q)
		if len(got.Data) != 1 || got.Data[0].Message != one.want {
			t.Errorf("by %s: %+v, want %s alone", what, got.Data, one.want)
		}
	}
	after := r.readLog(api.LogQuery{After: all.Data[0].ID, Limit: 1})
	if len(after.Data) != 1 || after.Data[0].Message != "failed" || after.Next != all.Data[1].ID {
		t.Errorf("after the first: %+v", after)
	}
}
