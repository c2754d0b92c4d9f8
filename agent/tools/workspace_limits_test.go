package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

func opened(t *testing.T, dir string, o tools.WorkspaceOptions) *tools.Workspace {
	t.Helper()
	w, err := tools.OpenWorkspace(dir, o)
	ok(t, err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// as makes tool one that is called in a conversation, by an operator or not.
func as(tool agent.Tool, key string, operator bool) func(t *testing.T, args m) (string, error) {
	return func(t *testing.T, args m) (string, error) {
		t.Helper()
		raw, err := json.Marshal(args)
		ok(t, err)
		return tool.Run(t.Context(), agent.Call{ID: "1", Args: raw, Key: channels.MustKey(key), Operator: operator})
	}
}

// Files that Dragoman runs by itself can be written only by operators, by whatever
// name.
func TestOperatorsFiles(t *testing.T) {
	dir := t.TempDir()
	write := tools.WriteFile(opened(t, dir, tools.WorkspaceOptions{Operators: []string{"HEARTBEAT.md"}}))
	theirs, mine := as(write, "telegram:7", false), as(write, "cli:direct", true)
	refused := func(path string) {
		t.Helper()
		for _, more := range []bool{false, true} {
			if got, err := theirs(t, m{"path": path, "content": "evil", "append": more}); err == nil || !strings.Contains(err.Error(), "only the operator may write") {
				t.Errorf("write_file(%q, append %v) = %q, %v, want a refusal", path, more, got, err)
			}
		}
	}
	ok(t, os.Mkdir(filepath.Join(dir, "notes"), 0o755))
	ok(t, os.Symlink(".", filepath.Join(dir, "here")))
	ok(t, os.Symlink("..", filepath.Join(dir, "notes/up")))
	spellings := []string{"HEARTBEAT.md", "heartbeat.MD", "./HEARTBEAT.md", "notes/../HEARTBEAT.md", "here/HEARTBEAT.md", "here/here/Heartbeat.md", "notes/up/HEARTBEAT.md"}
	for _, path := range spellings {
		refused(path)
	}
	for _, args := range []m{{"path": "HEARTBEAT.md", "content": "mine"}, {"path": "notes/up/HEARTBEAT.md", "content": ", too", "append": true}} {
		if _, err := mine(t, args); err != nil {
			t.Errorf("an operator's write_file(%v) = %v", args, err)
		}
	}
	for _, path := range spellings {
		refused(path)
	}
	if got := held(t, filepath.Join(dir, "HEARTBEAT.md")); got != "mine, too" {
		t.Errorf("the file holds %q, want what the operator wrote", got)
	}
	for _, path := range []string{"notes/HEARTBEAT.md", "HEARTBEAT.md.txt", "HEARTBEAT"} {
		if _, err := theirs(t, m{"path": path, "content": "x"}); err != nil {
			t.Errorf("write_file(%q) = %v, want no error", path, err)
		}
	}
	// If the operator's file is a link, its target is protected too.
	ok(t, os.Rename(filepath.Join(dir, "HEARTBEAT.md"), filepath.Join(dir, "notes/beat.md")))
	ok(t, os.Symlink("notes/beat.md", filepath.Join(dir, "HEARTBEAT.md")))
	refused("notes/beat.md")
	refused("HEARTBEAT.md")
}

// With PerChat no conversation sees the files of another, and operators see all.
func TestWorkspacePerChat(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir, tools.WorkspaceOptions{PerChat: true, Quota: 16 << 10, Operators: []string{"HEARTBEAT.md"}})
	put(t, filepath.Join(dir, "mine.md"), "the operator's")
	names := map[string]string{}
	for _, key := range []string{"telegram:7", "telegram:-100200:7", "irc:#Go", "irc:#go"} {
		if _, err := as(tools.WriteFile(w), key, false)(t, m{"path": "notes/a.md", "content": "of " + key}); err != nil {
			t.Fatal(err)
		}
		if _, err := as(tools.WriteFile(w), key, false)(t, m{"path": "HEARTBEAT.md", "content": "run by nobody"}); err != nil {
			t.Errorf("a HEARTBEAT.md that is not the workspace's: %v", err)
		}
		if got, err := as(tools.ReadFile(w), key, false)(t, m{"path": "notes/a.md"}); err != nil || got != "of "+key {
			t.Errorf("%s reads %q, %v, want its own", key, got, err)
		}
		if got, err := as(tools.ListDir(w), key, false)(t, m{}); err != nil || got != "HEARTBEAT.md\t13\nnotes/\n" {
			t.Errorf("%s sees %q, %v, want its own files", key, got, err)
		}
		for _, path := range []string{"mine.md", "../../mine.md", "/mine.md"} {
			if got, err := as(tools.ReadFile(w), key, false)(t, m{"path": path}); err == nil {
				t.Errorf("%s reads %s: %q", key, path, got)
			}
		}
		// Each chat has a separate quota.
		if _, err := as(tools.WriteFile(w), key, false)(t, m{"path": "b", "content": strings.Repeat("x", 5000)}); err == nil || !strings.Contains(err.Error(), "the workspace is full") {
			t.Errorf("%s writes more than its quota: %v", key, err)
		}
		names[channels.MustKey(key).FileName()] = key
	}
	for name, key := range names {
		if got, err := as(tools.ReadFile(w), "cli:direct", true)(t, m{"path": "chats/" + name + "/notes/a.md"}); err != nil || got != "of "+key {
			t.Errorf("the operator reads %q, %v, want what %s wrote", got, err, key)
		}
	}
	if got := held(t, filepath.Join(dir, "mine.md")); got != "the operator's" {
		t.Errorf("the operator's file holds %q", got)
	}
}

// A full workspace accepts no more, says so, and keeps its files. Writes that do not
// enlarge a file still work.
func TestWorkspaceQuota(t *testing.T) {
	dir := t.TempDir()
	write := tools.WriteFile(opened(t, dir, tools.WorkspaceOptions{Quota: 20 << 10}))
	put(t, filepath.Join(dir, "a"), strings.Repeat("a", 10_000)) // 3 blocks of 4 KiB
	must(t, write, m{"path": "b", "content": "small"})
	must(t, write, m{"path": "c", "content": "small"})
	const full = "the workspace is full: its files may take 20 kB together"
	refuse(t, write, m{"path": "d", "content": ""}, full)
	refuse(t, write, m{"path": "e/f", "content": "small"}, full)
	if _, err := os.Stat(filepath.Join(dir, "e")); err == nil {
		t.Error("a refused write made a folder")
	}
	refuse(t, write, m{"path": "b", "content": strings.Repeat("b", 5000)}, full)
	refuse(t, write, m{"path": "b", "content": strings.Repeat("b", 5000), "append": true}, full)
	if got := held(t, filepath.Join(dir, "b")); got != "small" {
		t.Errorf("a refused write left %q", got)
	}
	must(t, write, m{"path": "b", "content": ", still", "append": true})
	must(t, write, m{"path": "a", "content": "short"})
	must(t, write, m{"path": "d", "content": "now there is room"})
}
