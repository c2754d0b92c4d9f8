package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/agent/tools"
)

func workspace(t *testing.T, dir string) *tools.Workspace {
	t.Helper()
	w, err := tools.OpenWorkspace(dir, tools.WorkspaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func held(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	read := tools.ReadFile(workspace(t, dir))
	put(t, filepath.Join(dir, "notes/today.md"), "# Today\nmilk\n")
	put(t, filepath.Join(dir, "empty"), "")
	put(t, filepath.Join(dir, "utf16"), "\xff\xfeh\x00i\x00")
	put(t, filepath.Join(dir, "latin1.txt"), "caf\xe9 au lait")
	put(t, filepath.Join(dir, "image"), "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	ok(t, os.Symlink("notes/today.md", filepath.Join(dir, "inside")))

	for path, want := range map[string]string{
		"notes/today.md": "# Today\nmilk\n", "./notes/../notes/today.md": "# Today\nmilk\n",
		"inside": "# Today\nmilk\n", "empty": "[empty is empty]",
	} {
		if got := must(t, read, m{"path": path}); got != want {
			t.Errorf("read_file(%q) = %q, want %q", path, got, want)
		}
	}
	refuse(t, read, m{"path": "missing"}, `"missing" does not exist`)
	refuse(t, read, m{"path": "notes"}, "is a folder; use list_dir")
	refuse(t, read, m{"path": "empty/x"}, "is not a folder")
	refuse(t, read, m{"path": "utf16"}, "is not UTF-8 text")
	refuse(t, read, m{"path": "latin1.txt"}, "is not UTF-8 text")
	refuse(t, read, m{"path": "image"}, "it looks like image/png")
	refuse(t, read, m{"path": "notes/today.md", "offset": 13}, "is past its end")
	refuse(t, read, m{"path": "notes/today.md", "offset": -1}, "negative")
	refuse(t, read, m{}, "the path is empty")
}

// escapes are ways out of the workspace. Each function gets the workspace and a
// secret file next to it.
var escapes = map[string]func(dir, secret string) (path string, err error){
	"dots":          func(_, _ string) (string, error) { return "../secret", nil },
	"dots inside":   func(_, _ string) (string, error) { return "a/../../secret", nil },
	"absolute":      func(_, secret string) (string, error) { return secret, nil },
	"NUL":           func(_, _ string) (string, error) { return "a\x00/../secret", nil },
	"link":          func(dir, secret string) (string, error) { return "l", os.Symlink(secret, filepath.Join(dir, "l")) },
	"relative link": func(dir, _ string) (string, error) { return "l", os.Symlink("../secret", filepath.Join(dir, "l")) },
	"linked folder": func(dir, secret string) (string, error) {
		return "l/secret", os.Symlink(filepath.Dir(secret), filepath.Join(dir, "l"))
	},
	"link with a slash": func(dir, secret string) (string, error) { return "l/", os.Symlink(secret, filepath.Join(dir, "l")) },
	"link chain": func(dir, secret string) (string, error) {
		return "a", errors.Join(os.Symlink("b", filepath.Join(dir, "a")), os.Symlink(secret, filepath.Join(dir, "b")))
	},
	"hard link": func(dir, secret string) (string, error) { return "h", os.Link(secret, filepath.Join(dir, "h")) },
	"proc": func(dir, _ string) (string, error) {
		return "p/self/environ", os.Symlink("/proc", filepath.Join(dir, "p"))
	},
	"proc fd": func(dir, secret string) (string, error) {
		f, err := os.Open(secret) // stays open, because the link below goes through it
		if err != nil {
			return "", err
		}
		return "fd", os.Symlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), filepath.Join(dir, "fd"))
	},
	"FIFO": func(dir, _ string) (string, error) { return "fifo", syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600) },
	"loop": func(dir, _ string) (string, error) { return "loop", os.Symlink("loop", filepath.Join(dir, "loop")) },
	"device": func(dir, _ string) (string, error) {
		return "null", os.Symlink("/dev/null", filepath.Join(dir, "null"))
	},
	"deep": func(_, _ string) (string, error) { return strings.Repeat("a/", 40) + "b", nil },
	"long": func(_, _ string) (string, error) { return strings.Repeat("a", 2000), nil },
	"our own file": func(_, _ string) (string, error) {
		return "sub/" + tools.TempName, nil
	},
}

// fileTools are the built-in tools that take a path.
func fileTools(w *tools.Workspace) []agent.Tool {
	return slices.DeleteFunc(tools.Builtin(tools.Needs{Workspace: w}), func(tool agent.Tool) bool {
		return !strings.Contains(string(tool.Spec().Parameters), `"path":`)
	})
}

func TestNothingLeadsOutOfTheWorkspace(t *testing.T) {
	const secret = "the operator's secret"
	for name, make := range escapes {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir, outside := filepath.Join(top, "workspace"), filepath.Join(top, "secret")
			w := workspace(t, dir)
			put(t, outside, secret)
			path, err := make(dir, outside)
			ok(t, err)
			for _, tool := range fileTools(w) {
				args := m{"path": path}
				if tool.Spec().Name == "write_file" {
					args["content"] = "overwritten"
				}
				got, err := call(t, tool, args)
				if err == nil || strings.Contains(got, secret) {
					t.Errorf("%s(%q) = %q, want an error", tool.Spec().Name, path, got)
				}
				if err != nil && strings.Contains(err.Error(), top) && !strings.HasPrefix(path, "/") {
					t.Errorf("%s(%q): the error %q shows the operator's paths", tool.Spec().Name, path, err)
				}
			}
			if got := held(t, outside); got != secret {
				t.Errorf("the file outside holds %q now", got)
			}
		})
	}
}

// TestLinkRace swaps a folder for a link to the outside as fast as it can while the
// tools read and write through it.
func TestLinkRace(t *testing.T) {
	top := t.TempDir()
	dir, outside := filepath.Join(top, "workspace"), filepath.Join(top, "outside")
	w := workspace(t, dir)
	put(t, filepath.Join(outside, "file"), "secret")
	put(t, filepath.Join(dir, "door/file"), "public")
	ok(t, os.Symlink(outside, filepath.Join(dir, "evil")))
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		a, b := filepath.Join(dir, "door"), filepath.Join(dir, "evil")
		for {
			select {
			case <-done:
				return
			default:
				// The folder and the link are swapped atomically.
				_ = renameExchange(a, b)
			}
		}
	})
	read, write := tools.ReadFile(w), tools.WriteFile(w)
	seen := map[string]int{}
	// How often each side of the swap is hit depends on the machine.
	enough := func(tries int) bool {
		return tries >= 3000 && min(seen["public"], seen["refused"], seen["written"]) >= 20
	}
	for tries, begun := 0, time.Now(); !enough(tries) && time.Since(begun) < 30*time.Second; tries++ {
		got, err := read.Run(t.Context(), agent.Call{Args: json.RawMessage(`{"path":"door/file"}`)})
		if err != nil {
			got = "refused"
		}
		seen[got]++
		if _, err := write.Run(t.Context(), agent.Call{Args: json.RawMessage(`{"path":"door/new","content":"x"}`)}); err == nil {
			seen["written"]++
		}
	}
	close(done)
	swapper.Wait()
	if seen["secret"] > 0 || seen["public"] == 0 || seen["refused"] == 0 || seen["written"] == 0 {
		t.Errorf("saw %v; want public, refused and written, and never secret", seen)
	}
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 || held(t, filepath.Join(outside, "file")) != "secret" {
		t.Errorf("outside holds %v (%v), want the one file untouched", names, err)
	}
}

func TestPagesAddUpToTheFile(t *testing.T) {
	dir := t.TempDir()
	read := tools.ReadFile(workspace(t, dir))
	for name, content := range map[string]string{
		"lines":    strings.Repeat("a line of text\n", 40),
		"one line": strings.Repeat("x", 1000),
		"runes":    strings.Repeat("é漢😀", 100),
		"odd":      "a" + strings.Repeat("😀", 100),
		"exact":    strings.Repeat("y", 128),
	} {
		put(t, filepath.Join(dir, "f"), content)
		var got strings.Builder
		for offset, pages := 0, 0; ; pages++ {
			page := must(t, read, m{"path": "f", "offset": offset, "limit": 64})
			head, text, found := strings.Cut(page, "]\n")
			if !found || !strings.HasPrefix(head, "[f: bytes ") || !utf8.ValidString(text) || len(text) > 64 || pages > 100 {
				t.Fatalf("%s: page at %d = %q", name, offset, page)
			}
			got.WriteString(text)
			if strings.HasSuffix(head, "the end") {
				break
			}
			if _, err := fmt.Sscanf(head[strings.LastIndex(head, " ")+1:], "%d", &offset); err != nil {
				t.Fatalf("%s: no offset in %q", name, head)
			}
		}
		if got.String() != content {
			t.Errorf("%s: the pages are %d bytes, want the file's %d", name, got.Len(), len(content))
		}
	}
}

func TestLargeFile(t *testing.T) {
	dir := t.TempDir()
	w := workspace(t, dir)
	put(t, filepath.Join(dir, "big.log"), strings.Repeat("0123456789abcde\n", 12<<16)) // 12 MiB
	got := must(t, tools.ReadFile(w), m{"path": "big.log"})
	if !strings.HasPrefix(got, "[big.log: bytes 0 to 32768 of 12582912; go on with offset 32768]\n") || len(got) > 33<<10 {
		t.Errorf("read_file = %d bytes that begin %.100q", len(got), got)
	}
	got = must(t, tools.ReadFile(w), m{"path": "big.log", "offset": 12<<20 - 16})
	if want := "[big.log: bytes 12582896 to 12582912 of 12582912, the end]\n0123456789abcde\n"; got != want {
		t.Errorf("read_file at the end = %q, want %q", got, want)
	}
	refuse(t, tools.WriteFile(w), m{"path": "new", "content": strings.Repeat("x", 12<<20)}, "a file may have 1048576")
	refuse(t, tools.WriteFile(w), m{"path": "big.log", "content": "x", "append": true}, "a file may have 1048576")
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that was refused exists (%v)", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	write := tools.WriteFile(workspace(t, dir))
	if got, want := must(t, write, m{"path": "a/b/c.md", "content": "one\n"}), "Wrote a/b/c.md (4 bytes)."; got != want {
		t.Errorf("write_file = %q, want %q", got, want)
	}
	file := filepath.Join(dir, "a/b/c.md")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new file has mode %v (%v), want 0600", info.Mode(), err)
	}
	ok(t, os.Chmod(file, 0o640))
	must(t, write, m{"path": "a/b/c.md", "content": "two\n", "append": true})
	if got := held(t, file); got != "one\ntwo\n" {
		t.Errorf("after an append: %q", got)
	}
	must(t, write, m{"path": "a/b/c.md", "content": "three"})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 || held(t, file) != "three" {
		t.Errorf("after replacing: mode %v (%v), content %q", info.Mode(), err, held(t, file))
	}
	must(t, write, m{"path": "new", "content": "", "append": true})
	refuse(t, write, m{"path": "a/b", "content": "x"}, "is a folder")
	refuse(t, write, m{"path": "a/b/", "content": "x"}, "names a folder")
	refuse(t, write, m{"path": ".", "content": "x"}, "names a folder")
	refuse(t, write, m{"path": "a/b/c.md/d", "content": "x"}, "is not a folder")
	put(t, filepath.Join(dir, "bin"), "\xff\xfe")
	refuse(t, write, m{"path": "bin", "content": "x", "append": true}, "is not UTF-8")
	ok(t, os.Symlink("c.md", filepath.Join(dir, "a/b/link")))
	refuse(t, write, m{"path": "a/b/link", "content": "x"}, "is a link")
	if held(t, file) != "three" {
		t.Error("write_file wrote through a link")
	}
}

// TestWriteIsWholeOrNothing reads a file directly while it is replaced again and
// again.
func TestWriteIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	write := tools.WriteFile(workspace(t, dir))
	old, young := strings.Repeat("old ", 50_000), strings.Repeat("young ", 50_000)
	must(t, write, m{"path": "f", "content": old})
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		defer close(done)
		for i := range 40 {
			content := []string{young, old}[i%2]
			raw, _ := json.Marshal(m{"path": "f", "content": content})
			if _, err := write.Run(t.Context(), agent.Call{Args: raw}); err != nil {
				t.Errorf("write_file = %v", err)
				return
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if got := held(t, filepath.Join(dir, "f")); got != old && got != young {
			t.Errorf("read %d bytes that are neither the old nor the new content", len(got))
			break
		}
	}
	writer.Wait()
}

func TestWriteAfterACrash(t *testing.T) {
	dir := t.TempDir()
	w := workspace(t, dir)
	put(t, filepath.Join(dir, tools.TempName), "half of somethi")
	if got := must(t, tools.ListDir(w), m{}); strings.Contains(got, tools.TempName) {
		t.Errorf("list_dir shows %q", got)
	}
	must(t, tools.WriteFile(w), m{"path": "f", "content": "whole"})
	if got := held(t, filepath.Join(dir, "f")); got != "whole" {
		t.Errorf("f = %q, want whole", got)
	}
	if _, err := os.Stat(filepath.Join(dir, tools.TempName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is still there (%v)", err)
	}
}

func TestListDir(t *testing.T) {
	dir := t.TempDir()
	list := tools.ListDir(workspace(t, dir))
	if got := must(t, list, m{}); got != "[. is empty]" {
		t.Errorf("list_dir of nothing = %q", got)
	}
	put(t, filepath.Join(dir, "b.txt"), "12345")
	put(t, filepath.Join(dir, "a/x"), "")
	put(t, filepath.Join(dir, "two\nlines"), "")
	ok(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	ok(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	want := "a/\nb.txt\t5\nlink\tlink\npipe\tspecial\n\"two\\nlines\"\t0\n"
	for _, path := range []string{"", ".", "/", "a/.."} {
		if got := must(t, list, m{"path": path}); got != want {
			t.Errorf("list_dir(%q) = %q, want %q", path, got, want)
		}
	}
	refuse(t, list, m{"path": "b.txt"}, "is not a folder; use read_file")
	refuse(t, list, m{"path": "pipe"}, "is not a folder")
	refuse(t, list, m{"path": "missing"}, "does not exist")
}

func TestListDirPages(t *testing.T) {
	dir := t.TempDir()
	list := tools.ListDir(workspace(t, dir))
	for i := range 1200 {
		put(t, filepath.Join(dir, fmt.Sprintf("f%04d", i)), "")
	}
	for offset, want := range map[int]string{0: "[.: entries 1 to 500 of 1200]\nf0000\t0\n", 1000: "[.: entries 1001 to 1200 of 1200]\nf1000\t0\n"} {
		if got := must(t, list, m{"offset": offset}); !strings.HasPrefix(got, want) {
			t.Errorf("list_dir at %d begins %.80q, want %q", offset, got, want)
		}
	}
	refuse(t, list, m{"offset": 1200}, "past the last")
}

func TestOpenWorkspaceKeepsAwayFromSecrets(t *testing.T) {
	top := t.TempDir()
	state := filepath.Join(top, "state")
	put(t, filepath.Join(state, "dragoman.db"), "")
	ok(t, os.Symlink(state, filepath.Join(top, "alias")))
	private := []string{filepath.Join(state, "dragoman.db"), filepath.Join(top, "etc/config.yaml")}
	for dir, allowed := range map[string]bool{
		filepath.Join(state, "workspace"): true, filepath.Join(top, "ws"): true, "/dev/shm/": false,
		state: false, top: false, filepath.Join(top, "alias"): false, filepath.Join(top, "etc"): false, "/": false, "/proc/self": false,
	} {
		w, err := tools.OpenWorkspace(dir, tools.WorkspaceOptions{Private: private})
		if err == nil {
			ok(t, w.Close())
		}
		if (err == nil) != allowed {
			t.Errorf("OpenWorkspace(%s) = %v, want allowed = %v", dir, err, allowed)
		}
	}
	file := filepath.Join(top, "file")
	put(t, file, "")
	if _, err := tools.OpenWorkspace(file, tools.WorkspaceOptions{}); err == nil {
		t.Error("OpenWorkspace of a file succeeded")
	}
}

func TestReadFileForTheProgram(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "workspace")
	w := workspace(t, dir)
	put(t, filepath.Join(top, "secret"), "secret")
	put(t, filepath.Join(dir, "HEARTBEAT.md"), "- mail\n")
	ok(t, os.Symlink("../secret", filepath.Join(dir, "out")))
	ok(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	if got, err := w.ReadFile("HEARTBEAT.md", 100); string(got) != "- mail\n" || err != nil {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	if got, err := w.ReadFile("HEARTBEAT.md", 3); len(got) != 4 || err != nil {
		t.Errorf("ReadFile of at most 3 bytes = %q, %v; want one more", got, err)
	}
	if _, err := w.ReadFile("missing", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile of nothing = %v, want fs.ErrNotExist", err)
	}
	for _, name := range []string{"out", "fifo", ".", "../secret"} {
		if got, err := w.ReadFile(name, 100); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%s) = %q, %v; want another error", name, got, err)
		}
	}
}
