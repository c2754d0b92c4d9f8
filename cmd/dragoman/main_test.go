package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/memory"

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
	testscript.Run(t, testscript.Params{
		Dir:      "testdata/script",
		Deadline: time.Now().Add(15 * time.Minute), // a story takes a second, on a busy machine with the race detector many
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", "")
			env.Setenv("XDG_CONFIG_HOME", "")
			return layExamples(filepath.Join(env.WorkDir, "examples"))
		},
	})
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

var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeDaemon serves the verbs from a store in memory, by the real handler.
type fakeDaemon struct {
	store    *memory.Store
	jobs     httpapi.Scheduler
	audit    string
	aside    []string
	trouble  *httpapi.Trouble
	troubles []httpapi.OtherTrouble
	config   string // that was asked for last
	adjust   func(*config.Config)
	released int
	asked    int
}

func (f *fakeDaemon) load(path string) (*config.Config, error) {
	f.config = path
	cfg, _, err := config.Load(config.Options{Dir: "/nowhere", Home: "/nowhere", Env: func(string) (string, bool) { return "", false }})
	if f.adjust != nil {
		f.adjust(cfg)
	}
	return cfg, err
}

func (f *fakeDaemon) loadWithoutSecrets(path string) (*config.Config, error) { return f.load(path) }

func (*fakeDaemon) run(ctx context.Context, _ *env, _ *config.Config, _ string, _ <-chan struct{}) error {
	<-ctx.Done()
	return nil
}

func (*fakeDaemon) chat(context.Context, *env, *config.Config) error { return nil }

func (f *fakeDaemon) link(_ context.Context, _ *config.Config, channel, phone string, show func(qr, code string)) (string, error) {
	if channel != "whatsapp" {
		return "", errors.New("app: link: no such channel")
	}
	if phone != "" {
		show("", "ABCD-EFGH")
		return phone, nil
	}
	show("https://example.org/first", "")
	show("https://example.org/second", "")
	return "+15550000001", nil
}

func (*fakeDaemon) unlink(_ context.Context, _ *config.Config, channel string) (bool, error) {
	switch channel {
	case "far":
		return false, nil
	case "other":
		return false, errors.New("whatsapp: unlink: no such channel")
	}
	return true, nil
}

func (f *fakeDaemon) checkStore(*config.Config) error { return nil }

func (f *fakeDaemon) damaged(*config.Config) ([]string, error) { return f.aside, nil }

func (*fakeDaemon) migrate(_ context.Context, _ *config.Config, from, to string, tell func(exchange.Progress)) (migrated, error) {
	for i := range 3 {
		tell(exchange.Progress{Step: exchange.Copying, Done: 1000 * i, Total: 2000})
	}
	return migrated{From: from, To: to, Equal: true, Aside: "x", Advice: "advice"}, nil
}

func (f *fakeDaemon) admin(context.Context, *config.Config) (*httpapi.Client, func(), error) {
	f.asked++
	return httpapi.InProcess(httpapi.Admin(httpapi.AdminOptions{
		Store: f.store, Jobs: f.jobs, AuditFile: f.audit, Now: func() time.Time { return clock },
		Info: func() httpapi.Info {
			return httpapi.Info{Version: "v1", ModelTrouble: f.trouble, OtherTroubles: f.troubles}
		},
	})), func() { f.released++ }, nil
}

// world is one machine on which commands are run one after the other.
type world struct {
	t           *testing.T
	daemon      *fakeDaemon
	width       int
	sizes       [][2]int // of the terminal: columns and rows, each time it is asked; none: no terminal
	interactive bool
	in          string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, daemon: &fakeDaemon{store: memory.New(memory.Options{Now: func() time.Time { return clock }})}}
}

// size is how large the terminal is now.
func (w *world) size() (columns, rows int) {
	if len(w.sizes) == 0 {
		return 0, 0
	}
	now := w.sizes[0]
	if len(w.sizes) > 1 {
		w.sizes = w.sizes[1:]
	}
	return now[0], now[1]
}

func (*world) now() time.Time { return clock.Add(5 * time.Minute) }

func (w *world) run(args ...string) (code int, out, errs string) {
	w.t.Helper()
	var o, e bytes.Buffer
	code = run(w.t.Context(), args, &env{
		in: strings.NewReader(w.in), out: &o, err: &e, daemon: w.daemon, width: w.width, interactive: w.interactive, size: w.size,
		now: w.now,
	})
	if w.daemon.asked != w.daemon.released {
		w.t.Errorf("dragoman %v: the store was not released", args)
	}
	return code, o.String(), e.String()
}

// want runs a command that must succeed with parts in its output.
func (w *world) want(parts []string, args ...string) string {
	w.t.Helper()
	code, out, errs := w.run(args...)
	if code != 0 || errs != "" {
		w.t.Errorf("dragoman %v = %d, stderr %q", args, code, errs)
	}
	for _, p := range parts {
		if !strings.Contains(out, p) {
			w.t.Errorf("dragoman %v lacks %q:\n%s", args, p, out)
		}
	}
	return out
}

// fail runs a command that must end with code and say part.
func (w *world) fail(code int, part string, args ...string) {
	w.t.Helper()
	got, _, errs := w.run(args...)
	if got != code || !strings.Contains(errs, part) {
		w.t.Errorf("dragoman %v = %d %q, want %d %q", args, got, errs, code, part)
	}
}

// say lets a person write n messages and be answered.
func (w *world) say(key, title string, texts ...string) {
	w.t.Helper()
	k := channels.MustKey(key)
	for i, text := range texts {
		_, err := w.daemon.store.Accept(context.Background(), sessions.Entry{
			Inbound:  channels.Inbound{Key: k, ID: key + text + string(rune('a'+i)), Text: text},
			Answered: true,
			Append: []sessions.Message{
				{Role: sessions.RoleUser, Content: text, Name: "Ann\x1b[31m", At: clock},
				{Role: sessions.RoleAssistant, Content: "re: " + text, At: clock},
			},
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if title != "" {
		if err := w.daemon.store.Rename(context.Background(), k, title); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"No conversations yet. Write to Dragoman"}, "sessions", "list")
	w.want([]string{"[]"}, "sessions", "list", "--json")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "show", "telegram:1")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "export", "telegram:1")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "rename", "telegram:1", "x")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "delete", "telegram:1", "--yes")
	w.fail(2, `"telegram" is no conversation`, "sessions", "show", "telegram")

	w.say("telegram:1", "Trip to \x1b]0;evil\x07Rome \u202eesrever", "one", "two\x1b[2J\nline", "three")
	out := w.want([]string{"KEY", "telegram:1", "Trip to ·]0;evil·Rome esrever", "5 min ago"}, "sessions", "list")
	if strings.ContainsAny(out, "\x1b\x07\u202e") {
		t.Errorf("a title drives the terminal: %q", out)
	}
	out = w.want([]string{"Ann·[31m", "    two·[2J\n    line\n", "re: three"}, "sessions", "show", "telegram:1")
	if strings.Contains(out, "\x1b") {
		t.Errorf("a message drives the terminal: %q", out)
	}
	out = w.want([]string{"(4 messages before; --last 0 shows all)", "re: three"}, "sessions", "show", "telegram:1", "--last", "2")
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
	w.fail(2, "add --yes", "sessions", "delete", "telegram:1")
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
	w.fail(2, "exists already", "sessions", "export", "irc:#go/x", "-o", path)
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
	w.fail(2, "or write --all", "sessions", "export")
	w.fail(2, "or write --all", "sessions", "export", "--all", "irc:#go/x")
	gone := filepath.Join(t.TempDir(), "gone.md")
	w.fail(1, "there is no conversation", "sessions", "export", "irc:#nobody", "-o", gone)
	nodir := filepath.Join(t.TempDir(), "nodir", "x")
	w.fail(1, "dragoman: "+nodir+" cannot be written: no such file or directory\n", "sessions", "export", "irc:#go/x", "-o", nodir)
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without content stays: %v", err)
	}
}

func TestQueue(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Nothing waits: every message is answered"}, "queue", "list")
	w.want([]string{"[]"}, "queue", "list", "--json")
	w.fail(1, "there is no entry out-9", "queue", "show", "out-9")
	for _, id := range []string{"7", "8"} {
		if err := w.daemon.store.SetAside(context.Background(), sessions.Aside{Channel: "telegram", ID: id, Raw: []byte("{\x1b"), Why: "no JSON"}); err != nil {
			t.Fatal(err)
		}
	}
	items, err := w.daemon.store.ListQueue(context.Background(), 10)
	if err != nil || len(items) != 2 {
		t.Fatalf("ListQueue = %v, %v", items, err)
	}
	first, second := items[0].ID, items[1].ID
	w.want([]string{"ID", first, second, "no JSON", "5 min ago"}, "queue", "list")
	w.want([]string{"(there may be more: --limit)"}, "queue", "list", "--limit", "1")
	w.want([]string{first, "{·"}, "queue", "show", first)
	w.fail(2, "add --yes", "queue", "drop", first)
	// One that does not exist does not keep the others from being dropped.
	code, out, errs := w.run("queue", "drop", "--yes", first, "out-9", second)
	if code != 1 || !strings.Contains(out, first+" was given up.\n"+second+" was given up.") || !strings.Contains(errs, "there is no entry out-9") {
		t.Errorf("drop = %d %q %q", code, out, errs)
	}
	w.want([]string{"Nothing waits"}, "queue", "list")
	w.fail(1, first, "queue", "retry", first)
}

type oneJob struct{ ran int }

func (j *oneJob) Jobs(context.Context) ([]httpapi.Job, error) {
	return []httpapi.Job{{
		Name: "morning", Schedule: "0 8 * * *", Target: "telegram:1", Next: clock.Add(2 * time.Hour),
		Last: &sessions.Occurrence{Job: "morning", Due: clock, Outcome: "skipped", Why: "outside of active hours"},
	}}, nil
}

func (j *oneJob) RunJob(_ context.Context, name string) error {
	if name != "morning" {
		return sessions.ErrNotFound
	}
	j.ran++
	return nil
}

func TestJobs(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"No jobs. Add some under heartbeat.jobs"}, "jobs", "list")
	w.want([]string{"Nothing was due yet."}, "jobs", "log")
	w.fail(1, "it does not run", "jobs", "run", "morning")
	jobs := &oneJob{}
	w.daemon.jobs = jobs
	w.want([]string{"morning", "0 8 * * *", "in 1 h", "skipped: outside of active hours"}, "jobs", "list")
	w.want([]string{"morning was started"}, "jobs", "run", "morning")
	w.fail(1, "there is no job evening", "jobs", "run", "evening")
	if jobs.ran != 1 {
		t.Errorf("ran %d times, want 1", jobs.ran)
	}
}

func TestPair(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Nobody was paired and nobody asks to be."}, "pair", "list")
	_, _, err := w.daemon.store.RequestPairing(context.Background(), sessions.Pairing{
		Channel: "telegram", PersonID: "7", Name: "Ann\n\x1b[1m", Code: "ABCD-EFGH", Expires: clock.Add(time.Hour),
	}, clock, 3)
	if err != nil {
		t.Fatal(err)
	}
	w.want([]string{"telegram", "7", "asks; the code ends in 55 min", "ABCD-EFGH"}, "pair", "list")
	w.fail(1, "no open request has this code", "pair", "approve", "XXXX")
	w.want([]string{`7 (calls themselves "Ann ·[1m") may talk on telegram now.`}, "pair", "approve", "abcdefgh")
	w.want([]string{"let in 5 min ago"}, "pair", "list")
	w.want([]string{"7 may not talk on telegram any more"}, "pair", "remove", "telegram", "7")
	w.fail(1, "7 was not paired on telegram", "pair", "remove", "telegram", "7")
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"does not run; start it with: dragoman run", "inbox      empty", "outbox     empty"}, "status")
	w.want([]string{`"running": false`}, "status", "--json")
	if _, err := w.daemon.store.Accept(context.Background(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey("telegram:1"), ID: "1", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	w.daemon.trouble = &httpapi.Trouble{At: clock.Add(293 * time.Second), Why: "connection\x1b[1m refused.", InARow: 3}
	w.daemon.troubles = []httpapi.OtherTrouble{{Model: "small", Trouble: httpapi.Trouble{At: w.daemon.trouble.At, Why: "busy", InARow: 1}}}
	w.want([]string{
		"1 message waits for an answer, the oldest from 5 min ago",
		"\nmodel      the last call failed 7 s ago: connection·[1m refused (3 in a row)\n" +
			"model      the last call of small failed 7 s ago: busy (1 in a row)\n",
	}, "status")
	w.want([]string{`"model_trouble": {`, `"in_a_row": 3`}, "status", "--json")
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
	w.fail(2, `did you mean "check"?`, "chekc")
	w.fail(2, "Try: dragoman help sessions\n", "sessions", "shwo")
	w.fail(2, "Try: dragoman help sessions show\n", "sessions", "show")
	w.fail(2, "there is no command nonsense", "help", "nonsense")
	w.fail(2, "unknown flag --colour", "status", "--colour")
	w.want([]string{"Nothing waits"}, "queue") // a group alone lists
	w.want([]string{"dragoman dev"}, "version")
}

func TestTableFitsTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "日本語のとても長い題名がここにあります 👨‍👩‍👧‍👦 and it goes on and on and on and on", "x")
	w.say("irc:#a-very-long-channel-name-that-nobody-would-choose", "", "x")
	for _, width := range []int{60, 80, 120} {
		w.width = width
		out := w.want(nil, "sessions", "list")
		for line := range strings.Lines(out) {
			if got := columns(strings.TrimRight(line, "\n")); got > width {
				t.Errorf("a line takes %d of %d columns: %q", got, width, line)
			}
		}
	}
	w.width = 60
	w.want([]string{"…"}, "sessions", "list")
	w.width = 0
	w.want([]string{"and on and on and on"}, "sessions", "list")
}

// In a narrow terminal columns are left out before what can be copied is cut.
func TestNarrowTablesKeepWhatIsCopied(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "A title that is longer than it has room here", "x")
	_, _, err := w.daemon.store.RequestPairing(t.Context(), sessions.Pairing{
		Channel: "telegram", PersonID: "123456789", Name: "Somebody With A Name", Code: "ABCD-EFGH", Expires: clock.Add(time.Hour),
	}, clock, 9)
	if err != nil {
		t.Fatal(err)
	}
	w.width = 40
	for _, test := range []struct{ line, whole, not string }{
		{"sessions list", "telegram:1  A title", "TOKENS"},
		{"sessions stats", "2026-03-01      1         2", "█"},
		{"sessions generations telegram:1", "20260301_001  5 min ago", "FIRST"},
		{"pair list", "ABCD-EFGH", "NAME"},
	} {
		out := w.want([]string{test.whole}, strings.Fields(test.line)...)
		if strings.Contains(out, test.not) {
			t.Errorf("dragoman %s shows %q in 40 columns:\n%s", test.line, test.not, out)
		}
	}
	w.width = 120
	w.want([]string{"TOKENS", "A title that is longer than it has room here"}, "sessions", "list")
}

// The bash script is run by bash.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	w := newWorld(t)
	script := w.want(nil, "completion", "bash")
	complete := func(words ...string) string {
		t.Helper()
		line := script + "\nCOMP_WORDS=("
		for _, word := range words {
			line += shellQuote(word) + " "
		}
		line += ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_dragoman\necho \"${COMPREPLY[*]}\"\n"
		out, err := exec.Command(bash, "--norc", "-c", line).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"dragoman", "se"}, "sessions"},
		{[]string{"dragoman", "sessions", "re"}, "rename"},
		{[]string{"dragoman", "-c", "sessions", "qu"}, "queue"},
		{[]string{"dragoman", "sessions", "show", "telegram:1", "--l"}, "--last"},
		{[]string{"dragoman", "completion", "f"}, "fish"},
		{[]string{"dragoman", "check", "--e"}, "--effective"},
		{[]string{"dragoman", "pair", ""}, "list approve remove --config --help"},
	} {
		if got := complete(tt.words...); got != tt.want {
			t.Errorf("%v completes to %q, want %q", tt.words, got, tt.want)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		script := w.want([]string{"sessions", "rename", "effective"}, "completion", shell)
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s refuses its script: %v: %s", shell, err, out)
		}
	}
	w.fail(2, "must be one of", "completion", "csh")
}
