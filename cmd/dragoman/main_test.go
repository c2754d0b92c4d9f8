package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"

	"github.com/rogpeppe/go-internal/testscript"
)

// The tests are in package main because nothing can import it.

// stuckVariable makes this test binary a daemon that never drains.
const stuckVariable = "DRAGOMAN_TEST_STUCK"

func TestMain(m *testing.M) {
	if os.Getenv(stuckVariable) != "" {
		stuckMain()
	}
	if path := os.Getenv(unfinishedVariable); path != "" {
		unfinishedMain(path)
	}
	testscript.Main(m, map[string]func(){"dragoman": func() { os.Exit(realMain()) }})
}

// TestScripts tells one story of a user in each file, with the real program.
func TestScripts(t *testing.T) {
	bot, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "123456789:" + strings.Repeat("A", 35)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	models := httptest.NewServer(http.HandlerFunc(listModels))
	t.Cleanup(models.Close)
	testscript.Run(t, testscript.Params{
		Dir:      "testdata/script",
		Deadline: time.Now().Add(15 * time.Minute), // a story takes a second, on a busy machine with the race detector many
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", "")
			env.Setenv("XDG_CONFIG_HOME", "")
			env.Setenv("BOT_API", bot.URL())
			env.Setenv("MODELS", models.URL+"/v1")
			return layExamples(filepath.Join(env.WorkDir, "examples"))
		},
	})
}

// listModels is a server with three models, for those who have its key.
func listModels(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Authorization") != "Bearer good-key-of-nobody":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}`)
	case r.URL.Path == "/v1/models":
		_, _ = fmt.Fprint(w, `{"object": "list", "data": [{"id": "moss-large"}, {"id": "moss-small"}, {"id": "fern-1"}]}`)
	default:
		http.NotFound(w, r)
	}
}

// layExamples puts the files of other programs into a story's folder.
func layExamples(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		return err
	}
	statements, err := os.ReadFile(filepath.Join(dir, "goose.sql"))
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "goose.db"))
	if err != nil {
		return err
	}
	_, err = db.Exec(string(statements))
	return errors.Join(err, db.Close())
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"No conversations yet. Write to Dragoman"}, "sessions", "list")
	w.want([]string{"[]"}, "sessions", "list", "--json")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "show", "telegram:1")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "export", "telegram:1")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "rename", "telegram:1", "x")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "delete", "telegram:1", "--yes")
	w.fail(exitUsage, `"telegram" is not a conversation`, "sessions", "show", "telegram")

	w.say("telegram:1", "Trip to \x1b]0;evil\x07Rome \u202eesrever", "one", "two\x1b[2J\nline", "three")
	out := w.want([]string{"KEY", "telegram:1", "Trip to ·]0;evil·Rome esrever", "5 min ago"}, "sessions", "list")
	if strings.ContainsAny(out, "\x1b\x07\u202e") {
		t.Errorf("a title drives the terminal: %q", out)
	}
	out = w.want([]string{"Ann·[31m", "    two·[2J\n    line\n", "re: three"}, "sessions", "show", "telegram:1")
	if strings.Contains(out, "\x1b") {
		t.Errorf("a message drives the terminal: %q", out)
	}
	out = w.want([]string{"(4 messages before; more: --before 5; all: --last 0)", "re: three"}, "sessions", "show", "telegram:1", "--last", "2")
	if strings.Contains(out, "two") {
		t.Errorf("--last shows more than the last two:\n%s", out)
	}
	w.want([]string{`"content": "three"`}, "sessions", "show", "telegram:1", "--json")
	w.want([]string{"is now called New name."}, "sessions", "rename", "telegram:1", "New", "name")
	w.want([]string{"New name"}, "sessions", "list")
}

func TestManyMessages(t *testing.T) {
	w := newWorld(t)
	texts := make([]string, 150) // 300 messages: more than two pages
	for i := range texts {
		texts[i] = "m" + strings.Repeat("x", i)
	}
	w.say("telegram:1", "", texts...)
	out := w.want(nil, "sessions", "export", "telegram:1")
	if n := strings.Count(out, `"role"`); n != 300 {
		t.Errorf("%d messages, want 300", n)
	}
	w.want([]string{"(293 messages before"}, "sessions", "show", "telegram:1", "--last", "7")
}

func TestDeleteAsks(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "", "x")
	w.fail(exitUsage, "add --yes", "sessions", "delete", "telegram:1")
	w.interactive = true
	w.in = "\n"
	w.fail(1, "nothing was done", "sessions", "delete", "telegram:1")
	w.in = ""
	w.fail(1, "nothing was done", "sessions", "delete", "telegram:1")
	w.want([]string{"telegram:1"}, "sessions", "list")
	w.in = "y\n"
	w.want([]string{"for good? [y/N] ", "telegram:1 was deleted."}, "sessions", "delete", "telegram:1")
	w.want([]string{"No conversations yet"}, "sessions", "list")
}

func TestExport(t *testing.T) {
	w := newWorld(t)
	w.say("irc:#go/x", "", "one <b>")
	out := w.want([]string{`"content":"one <b>"`}, "sessions", "export", "irc:#go/x")
	if n := strings.Count(out, "\n"); n != 3 {
		t.Errorf("%d lines, want the conversation, its messages and its inbox:\n%s", n, out)
	}
	w.want([]string{`"key": "irc:#go/x"`, `"content": "one <b>"`, `"summary": ""`}, "sessions", "export", "irc:#go/x", "--format", "json")
	w.want([]string{"# irc:#go/x\n", "**dragoman**", "re: one <b>\n"}, "sessions", "export", "irc:#go/x", "--format", "markdown")
	path := filepath.Join(t.TempDir(), "out.md")
	w.want(nil, "sessions", "export", "irc:#go/x", "-o", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != int64(len(out)) {
		t.Errorf("the file: %v, %v", info, err)
	}
	w.fail(exitUsage, "exists already", "sessions", "export", "irc:#go/x", "-o", path)
	if again, err := os.ReadFile(path); err != nil || string(again) == "" {
		t.Errorf("the file that was there: %q, %v", again, err)
	}
	w.want(nil, "sessions", "export", "irc:#go/x", "--format", "json", "--out", path, "--force")
	if now, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(now), "{\n") {
		t.Errorf("the file after --force: %q, %v", now, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file there is %v, %v", left, err)
	}
	w.want([]string{"[\n{\n  \"key\": \"irc:#go/x\"", "]\n"}, "sessions", "export", "--all", "--format", "json")
	w.fail(exitUsage, "or add --all", "sessions", "export")
	w.fail(exitUsage, "or add --all", "sessions", "export", "--all", "irc:#go/x")
	gone := filepath.Join(t.TempDir(), "gone.md")
	w.fail(1, "there is no conversation", "sessions", "export", "irc:#nobody", "-o", gone)
	nodir := filepath.Join(t.TempDir(), "nodir", "x")
	w.fail(1, "dragoman: "+nodir+" cannot be written: no such file or directory\n", "sessions", "export", "irc:#go/x", "-o", nodir)
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without content stays: %v", err)
	}
}

// An example in the help is a command line that can be parsed.
func TestExamples(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{
		"sessions list", "sessions set", "sessions facts", "sessions migrate", "sessions import", "sessions export", "queue retry", "pair approve",
	} {
		out := w.want([]string{"Example:"}, append(strings.Fields(command), "--help")...)
		_, line, _ := strings.Cut(out, "Example:")
		line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
		args := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		if !strings.HasPrefix(line, "dragoman "+command+" ") {
			t.Errorf("the example of %s is %q", command, line)
			continue
		}
		if code, _, errs := w.run(args[1:]...); code == exitUsage && strings.Contains(errs, "Try: dragoman help") {
			t.Errorf("the example of %s cannot be parsed: %s", command, errs)
		}
	}
}

// Errors begin with what is wrong, not with the name of a package.
func TestErrorsNameNoPackage(t *testing.T) {
	var errs bytes.Buffer
	e := &env{err: &errs}
	e.report(fmt.Errorf("app: open the store: %w", errors.Join(fmt.Errorf("sqlite: open: %w", errors.New("the disk is full")), errors.New("exchange: x; my file: y"))))
	if got, want := errs.String(), "dragoman: open the store: open: the disk is full\nx; my file: y\n"; got != want {
		t.Errorf("report = %q, want %q", got, want)
	}
}

func TestUsage(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Usage: dragoman <command>", "sessions"}, "help")
	w.want([]string{"Usage: dragoman <command>"})
	w.want([]string{"sessions rename"}, "help", "sessions")
	w.want([]string{"Usage: dragoman sessions show <key>"}, "help", "sessions", "show")
	w.want([]string{"Usage: dragoman sessions show <key>"}, "sessions", "show", "--help")
	w.fail(exitUsage, `did you mean "check"?`, "chekc")
	w.fail(exitUsage, "Try: dragoman help sessions\n", "sessions", "shwo")
	w.fail(exitUsage, "Try: dragoman help sessions show\n", "sessions", "show")
	w.fail(exitUsage, "there is no command nonsense", "help", "nonsense")
	w.fail(exitUsage, "unknown flag --colour", "status", "--colour")
	w.want([]string{"The queue is empty"}, "queue") // a group alone lists
	w.want([]string{"dragoman dev"}, "version")
}
