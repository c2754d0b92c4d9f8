package storetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// oddKeys are keys that look alike, or that mean something else to a file system that
// folds case, has device names or follows "..".
var oddKeys = []string{
	"telegram:1_2", "telegram_1:2", "irc:#a", "irc:##a", "irc:#A", "x:x/1", "x:x_1", "x:CON", "x:con", "x:NUL.json",
	"x:.", "x:..", "x:../../etc/x", "x:a/../../b", "x:/etc/passwd", "x:C:\\x", "x:~", "x:-rf", "x:.hidden", "x:a.json", "x:%2e%2e",
	"x:" + strings.Repeat("é", channels.MaxChatIDBytes/2), "x:" + strings.Repeat("é", channels.MaxChatIDBytes/2-1) + "ab", "telegram:123456",
}

// reloadsKeys: conversations with such keys are distinct after a restart, and a huge
// message is unchanged.
func reloadsKeys(t *testing.T, reopen func() *rig) {
	r := reopen()
	for i, k := range oddKeys {
		r.say(t, k, number("k", i), user("in "+k))
	}
	huge := strings.Repeat("0123456789ä", 1<<20) // 12 MB
	r.say(t, "x:huge", "huge", user(huge), user("after it"))
	r = reopen()
	for _, k := range oddKeys {
		same(t, "transcript of "+k, r.transcript(t, k), []string{"user: in " + k})
	}
	list, err := r.Find(t.Context(), sessions.Query{Limit: 100})
	must(t, err)
	names := map[string]bool{}
	for _, c := range list {
		names[c.Key.String()] = true
	}
	for _, k := range append(oddKeys, "x:huge") {
		if !names[k] {
			t.Errorf("List has no %q", k)
		}
	}
	if len(list) != len(oddKeys)+1 {
		t.Errorf("List has %d conversations, want %d", len(list), len(oddKeys)+1)
	}
	h, err := r.History(t.Context(), key("x:huge"), sessions.HistoryLimit{})
	must(t, err)
	if len(h.Messages) != 2 || h.Messages[0].Content != huge || h.Messages[1].Content != "after it" {
		t.Error("a message of 12 MB, or the one behind it, is not as it was")
	}
}

// reloadsInOrder: the clock jumped back between a call and its result. The
// order is that of the sequence, before and after a restart.
func reloadsInOrder(t *testing.T, reopen func() *rig) {
	r := reopen()
	call := assistant("")
	result := sessions.Message{Role: sessions.RoleTool, ToolCallID: "c", Content: "result"}
	last := assistant("done")
	call.ToolCalls = []sessions.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}
	all := []sessions.Message{user("first"), call, result, last, user("second")}
	for i := range all {
		all[i].At = noon.Add(-time.Duration(i) * 24 * time.Hour)
	}
	r.say(t, "x:1", "1", all[:2]...)
	r.say(t, "x:1", "2", all[2:]...)
	want := []string{"user: first", "assistant: ", "tool: result", "assistant: done", "user: second"}
	same(t, "transcript", r.transcript(t, "x:1"), want)
	r = reopen()
	same(t, "transcript after a restart", r.transcript(t, "x:1"), want)
	h, texts := r.history(t, sessions.HistoryLimit{})
	same(t, "History after a restart", texts, []string{"first", "", "result", "done", "second"})
	if len(h.Messages) != 5 || len(h.Messages[1].ToolCalls) != 1 || h.Messages[2].ToolCallID != "c" || !h.Messages[2].At.Equal(all[2].At) {
		t.Errorf("History after a restart = %+v", h.Messages)
	}
}

// namesStayInside: whatever the key, all files are in the store's directory.
func namesStayInside(t *testing.T, open func(t *testing.T, dir string) *engine.Store) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "a", "b", "store")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, open(t, dir))
	for i, k := range oddKeys {
		r.say(t, k, number("k", i), user("in "+k))
	}
	for _, bad := range []string{"", ".", "x:", "../../etc/x", "x:a\x00b", "x:a\r\nb", "x:" + strings.Repeat("k", 4096), "CON"} {
		if k, err := channels.ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%.20q) = %s, want an error: it names no conversation", bad, k)
		}
	}
	must(t, r.Close())
	found := false
	err := filepath.WalkDir(outer, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if inside, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(inside) {
			t.Errorf("%s lies outside of the store's directory", path)
		}
		found = true
		return nil
	})
	must(t, err)
	if !found {
		t.Error("nothing was written at all")
	}
}
