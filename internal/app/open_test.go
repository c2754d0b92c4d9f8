package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/storage"
)

func TestOpenRunClose(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	if s := r.status(); !s.Running || s.PID != os.Getpid() || s.Model != "demo" || s.Store != "sqlite" {
		t.Errorf("Status = %+v, want this process, demo and sqlite", s)
	}
	if got := r.ask(r.page(""), "are you a bot?"); !strings.Contains(got, "built-in **demo**") {
		t.Errorf("the answer = %q, want the demo's words about itself", got)
	}
	r.stop()
	for _, words := range []string{"Dragoman v-test", "chat page", "http://127.0.0.1:", "msg=stopped"} {
		if !strings.Contains(r.log.String(), words) {
			t.Errorf("the daemon's output lacks %q:\n%s", words, r.log)
		}
	}
	if _, err := os.Stat(p.state("dragoman.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	p.opens()
}

// A daemon may be closed without ever having run, and closed twice.
func TestCloseWithoutRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	d, err := app.Open(t.Context(), p.config(), app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	p.opens()
}

func TestOneDaemonAFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	said := p.refused()
	want := fmt.Sprintf("storage: %s is in use by dragoman with process id %d; stop it, or choose another state_dir", p.state(""), os.Getpid())
	want = strings.Replace(want, "state/ ", "state ", 1)
	if said != want {
		t.Errorf("a second Open says\n %s, want\n %s", said, want)
	}
	if got := r.ask(r.page(""), "good morning"); got == "" {
		t.Error("the first daemon does not answer after a second one was refused")
	}
}

// Whatever Open fails on, it takes back what it had opened: the folder can be
// used at once.
func TestFailedOpenLeavesNothing(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	for _, tt := range []struct {
		name, config string
		says         []string
	}{
		{"port in use", `http: {listen: "` + port + `"}`, []string{"another program has the port " + port, "perhaps another Dragoman", "http:\n  listen: "}},
		{"certificates", "channels: {irc: {type: irc, server: 'irc.example.org:6697', allow: ['*'], ca_file: notes.pem, channels: ['#go']}}", []string{"channel irc", "ca_file", "holds no certificate"}},
		{"workspace around the state", "workspace: link", []string{"the model must not see", "choose a separate folder"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, tt.config)
			if err := os.WriteFile(filepath.Join(p.dir, "notes.pem"), []byte("no certificate\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("state", filepath.Join(p.dir, "link")); err != nil {
				t.Fatal(err)
			}
			said := p.refused()
			for _, words := range tt.says {
				if !strings.Contains(said, words) {
					t.Errorf("Open says %q, want %q in it", said, words)
				}
			}
			p.write("")
			p.opens()
		})
	}
}

// A context that is over must not leave a half of a daemon either.
func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := app.Open(ctx, p.config(), app.Options{}); err == nil {
		_ = d.Close() // it was quick enough: that is fine, too
	}
	p.opens()
}

// A database that is not whole is refused and not touched: no byte of it, and
// nothing beside it that would change what a repair finds.
func TestCorruptDatabase(t *testing.T) {
	t.Parallel()
	whole := newPlace(t, "")
	r := whole.run()
	r.ask(r.page(""), "good morning")
	r.stop()
	database, err := os.ReadFile(whole.state("dragoman.db"))
	if err != nil {
		t.Fatal(err)
	}
	header := append([]byte{}, database...)
	copy(header[20:100], bytes.Repeat([]byte{0xAA}, 80))
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"another file", []byte(strings.Repeat("these are somebody's notes\n", 200))},
		{"cut in half", database[:len(database)/2]},
		{"its first bytes overwritten", header},
		{"a few bytes", database[:10]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, "")
			if err := os.Mkdir(p.state(""), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.state("dragoman.db"), tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if said := p.refused(); !strings.Contains(said, "damaged") || !strings.Contains(said, "restore a backup") {
				t.Errorf("Open says %q, want that it is damaged and what to do", said)
			}
			if _, _, err := app.Admin(t.Context(), p.config(), storage.Caller{}); err == nil {
				t.Error("Admin = nil, want the same refusal")
			}
			got, err := os.ReadFile(p.state("dragoman.db"))
			if err != nil || string(got) != string(tt.data) {
				t.Errorf("the file was changed: %d bytes, were %d (%v)", len(got), len(tt.data), err)
			}
			if err := os.Remove(p.state("dragoman.db")); err != nil {
				t.Fatal(err)
			}
			p.opens()
		})
	}
}

// A file in the place of the folder.
func TestStateDirectoryIsAFile(t *testing.T) {
	p := newPlace(t, "")
	if err := os.WriteFile(filepath.Join(p.dir, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := p.refused(); !strings.Contains(said, "cannot be created") {
		t.Errorf("Open says %q", said)
	}
}

// The kernel's limit for a socket's path must not be one for ours.
func TestLongStatePath(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	deep := filepath.Join(p.dir, strings.Repeat("long-", 30))
	text := "state_dir: " + deep + "\nmodel: {type: demo}\nhttp: {listen: \"127.0.0.1:0\"}\n"
	if err := os.WriteFile(p.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.run()
	if s := r.status(); s.StateDir != deep {
		t.Errorf("Status.StateDir = %q, want %q", s.StateDir, deep)
	}
}

// Whatever a daemon keeps lies in its state directory, which it makes and nobody
// else may read.
func TestStateIsInOneFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	r.ask(r.page(""), "hello")
	r.stop()
	for _, name := range []string{"dragoman.db", "workspace"} {
		if _, err := os.Stat(p.state(name)); err != nil {
			t.Errorf("%s is elsewhere: %v", name, err)
		}
	}
	if info, err := os.Stat(p.state("")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v (%v), want 0700", info.Mode(), err)
	}
	names, err := filepath.Glob(filepath.Join(p.dir, "*"))
	if want := []string{p.path, filepath.Clean(p.state(""))}; err != nil || !slices.Equal(names, want) {
		t.Errorf("a daemon leaves %q (%v), want its configuration and its state alone: %q", names, err, want)
	}
}
