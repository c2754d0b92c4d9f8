package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

// bound is the workspace of a test and the folder of its chat.
type bound struct {
	t   *testing.T
	w   *tools.Workspace
	dir string
}

func newBound(t *testing.T) bound {
	home := t.TempDir()
	dir := filepath.Join(home, "chats", channels.MustKey("telegram:7").FileName())
	ok(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	return bound{t, opened(t, home, tools.WorkspaceOptions{}), dir}
}

func (b bound) write(name, text string) {
	ok(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
}

// callFiles are the files to which a yes to a call of exec is bound.
func callFiles(t *testing.T, w *tools.Workspace, c agent.Call) ([]agent.File, error) {
	able, is := agent.ToolAs[agent.FileTool](tools.Exec(w, nil))
	if !is {
		t.Fatal("exec is bound to no files")
	}
	return able.Files(t.Context(), c)
}

// of are the files to which a yes for a command is bound.
func (b bound) of(command string) []agent.File {
	b.t.Helper()
	args, err := json.Marshal(m{"command": command})
	ok(b.t, err)
	list, err := callFiles(b.t, b.w, agent.Call{Args: args, Key: channels.MustKey("telegram:7")})
	ok(b.t, err)
	return list
}

// A yes for a command is bound to the files that it names, however it names them.
func TestBoundToACommandsFiles(t *testing.T) {
	b := newBound(t)
	for _, name := range []string{"run.sh", "sub/deep.py", "my notes.txt", "Makefile", "a", "größe.txt"} {
		b.write(name, name)
	}
	for command, want := range map[string]string{
		"sh run.sh":                  "run.sh",
		"sh ./run.sh arg":            "run.sh",
		"sh /work/run.sh;true":       "run.sh",
		`sh "run.sh"`:                "run.sh",
		`sh ru\n.sh`:                 "run.sh",
		`sh 'ru'"n.sh"`:              "run.sh",
		"cd sub && python3 deep.py":  "sub/deep.py",
		"FILE=run.sh; sh $FILE":      "run.sh",
		"sh *.sh":                    "run.sh",
		"sh r[u]n.?h":                "run.sh",
		"cat 'my notes.txt'":         "my notes.txt",
		`cat my\ notes.txt`:          "my notes.txt",
		"make all":                   "Makefile",
		"cat a run.sh":               "a run.sh",
		"wc größe.txt":               "größe.txt",
		"echo prerun.sh run.shx a.b": "",
		"date":                       "",
		"cat /etc/passwd":            "",
	} {
		var names []string
		for _, f := range b.of(command) {
			names = append(names, f.Name)
			if len(f.Hash) != 64 {
				t.Errorf("the hash of %s is %q", f.Name, f.Hash)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s is bound to %q, want %q", command, got, want)
		}
	}
}

// Whatever changes in such a file, the yes is for another one.
func TestBoundToContents(t *testing.T) {
	b := newBound(t)
	seen := [][]agent.File{b.of("sh run.sh")}
	differs := func(what string) {
		t.Helper()
		now := b.of("sh run.sh")
		for _, before := range seen {
			if slices.Equal(before, now) {
				t.Errorf("with %s the yes is for the same: %v", what, now)
			}
		}
		seen = append(seen, now)
	}
	b.write("run.sh", "echo good")
	differs("a new file")
	b.write("run.sh", "echo evil")
	differs("other words")
	b.write("sub/run.sh", "echo good")
	differs("a file of the same name in a folder")
	ok(t, os.Remove(filepath.Join(b.dir, "run.sh")))
	ok(t, os.Symlink("other", filepath.Join(b.dir, "run.sh")))
	differs("a link")
	b.write("other", "one")
	differs("a link to a file")
	b.write("other", "two")
	differs("a link to a file that has changed")
}

// Many files have one line together, and a change of each of them counts.
func TestBoundToMany(t *testing.T) {
	b := newBound(t)
	for i := range 40 {
		b.write(fmt.Sprintf("%02d.sh", i), "x")
	}
	before := b.of("sh *.sh")
	if len(before) != 12 || before[11].Name != "29 more files" {
		t.Errorf("it is bound to %d: %v", len(before), before)
	}
	b.write("39.sh", "y")
	if after := b.of("sh *.sh"); slices.Equal(before, after) {
		t.Error("a change of the last one does not count")
	}
}

// What the daemon does not open on its own account, it does not open for a question.
func TestBoundRefuses(t *testing.T) {
	b := newBound(t)
	b.write("a", "x")
	ok(t, os.Link(filepath.Join(b.dir, "a"), filepath.Join(b.dir, "hard")))
	args := json.RawMessage(`{"command":"cat hard"}`)
	_, err := callFiles(t, b.w, agent.Call{Args: args, Key: channels.MustKey("telegram:7")})
	if err == nil || !strings.Contains(err.Error(), "more than one name") {
		t.Errorf("a hard link: %v", err)
	}
}
