package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

// A call of write_file names the file that it replaces, in the folder that it would write to.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir, tools.WorkspaceOptions{PerChat: true})
	replaced := func(args string) (name, hash string, err error) {
		return w.Replaced(agent.Call{ID: "1", Args: []byte(args), Key: channels.MustKey("telegram:7")})
	}
	const call = `{"path":"./a.txt","content":"x"}`
	name, none, err := replaced(call)
	if name != "a.txt" || none != "" || err != nil {
		t.Errorf("before there is a file: %q, %q, %v", name, none, err)
	}
	file := filepath.Join(dir, "chats", channels.MustKey("telegram:7").FileName(), "a.txt")
	hashes := map[string]bool{}
	for _, text := range []string{"", "one", strings.Repeat("x", 2<<20), strings.Repeat("x", 2<<20+1)} {
		ok(t, os.WriteFile(file, []byte(text), 0o600))
		_, hash, err := replaced(call)
		if hash == "" || hashes[hash] || err != nil {
			t.Errorf("with %d bytes the hash is %q, %v, want another one", len(text), hash, err)
		}
		hashes[hash] = true
	}
	name, _, err = replaced(`{"path":"a.txt","content":"x","append":true}`)
	if name != "" || err != nil {
		t.Errorf("a call that adds to the file replaces %q, %v", name, err)
	}
	for _, args := range []string{`{"path":"../a","content":"x"}`, `{"path":"/etc/passwd","content":"x"}`, `{"path":".","content":"x"}`, `{"path":7}`} {
		_, _, err := replaced(args)
		if err == nil {
			t.Errorf("%s is not refused", args)
		}
	}
}
