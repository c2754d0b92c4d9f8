package story_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

var pairingCode = regexp.MustCompile("[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{5}")

// A stranger gets a code, the operator lets them in with it, and takes that
// back.
func TestPairing(t *testing.T) {
	h := newHouse(t, plan{channels: "pairing: true"})
	d := h.start()
	h.tell(ann, "hello, it is me #1")
	code := pairingCode.FindString(h.said(ann.ID, 1)[0])
	if list := h.dragoman("pair", "list"); !strings.Contains(list, code) || !strings.Contains(list, "Ann") {
		t.Errorf("pair list lacks the request %s:\n%s", code, list)
	}
	if out, err := h.try("pair", "approve", "AAAA-BBBB-CCCCC"); err == nil {
		t.Errorf("a wrong code is taken: %s", out)
	}
	out := h.dragoman("pair", "approve", strings.ToLower(strings.ReplaceAll(code, "-", " ")))
	if !strings.Contains(out, `71 (calls themselves "Ann") may talk on telegram now.`) {
		t.Errorf("pair approve says %q", out)
	}
	if out, err := h.try("pair", "approve", code); err == nil {
		t.Errorf("a code is taken twice: %s", out)
	}
	want := []string{"You may write now.", "echo: hello, it is me #1"}
	if got := h.said(ann.ID, 3)[1:]; !slices.Equal(got, want) {
		t.Errorf("after the approval the bot says %q, want %q", got, want)
	}
	h.tell(ann, "and now? #2")
	if got := h.said(ann.ID, 4)[3]; got != "echo: and now? #2" {
		t.Errorf("the answer = %q, want one to #2 alone", got)
	}
	h.dragoman("pair", "remove", "telegram", "71")
	h.tell(ann, "still? #3")
	if got := h.said(ann.ID, 5)[4]; !pairingCode.MatchString(got) {
		t.Errorf("after pair remove the bot says %q, want a new code", got)
	}
	code = pairingCode.FindString(h.said(ann.ID, 5)[4])
	// Telegram hands in again what it was not told of, and she would be known again.
	testkit.Eventually(h.t, "Telegram to know that #3 came in", func() bool { return h.api.Unconfirmed() == 0 })
	d.end(syscall.SIGTERM)
	d = h.start() // what waited in memory is gone: she has to write again
	h.dragoman("pair", "approve", code)
	h.tell(ann, "back? #4")
	if got := h.said(ann.ID, 6)[5]; got != "echo: back? #4" {
		t.Errorf("after a restart the answer = %q, want one to #4 alone", got)
	}
	d.end(syscall.SIGTERM)
	rows := h.rows("inbox", "messages")
	if strings.Contains(rows, "still?") || !strings.Contains(rows, "and now?") {
		t.Errorf("what strangers wrote is kept, or what Ann wrote is not:\n%s", rows)
	}
}

const morning = `
heartbeat:
  jobs: [{name: morning, cron: "0 8 * * *", target: "telegram:71", prompt: "what is on today? #7"}]`

// lastSaid is what was said last in a conversation, also by a job.
var lastSaid = regexp.MustCompile(`(?s)"last": \{.*?\},`)

// withoutLast is a list of conversations that what a job says in one does not change.
func withoutLast(list string) string { return lastSaid.ReplaceAllString(list, "") }

// A job speaks to a person and touches no conversation: not the list, not one
// row. The model sees nothing of what was said.
func TestCase50JobTouchesNoSession(t *testing.T) {
	h := newHouse(t, plan{rest: morning})
	d := h.start()
	h.tell(ann, "my bicycle is green #1")
	h.said(ann.ID, 1)
	list := h.dragoman("sessions", "list", "--json")
	d.end(syscall.SIGTERM)
	rows := h.rows("conversations", "generations", "messages", "summaries")
	if !strings.Contains(rows, "bicycle") {
		t.Fatalf("the rows hold nothing of the conversation:\n%s", rows)
	}

	d = h.start()
	h.dragoman("jobs", "run", "morning")
	if got := h.said(ann.ID, 2)[1]; !strings.Contains(got, "what is on today? #7") {
		t.Errorf("the job says %q", got)
	}
	for _, m := range h.asked()[1].Messages {
		if strings.Contains(m.Content, "bicycle") {
			t.Errorf("the job reads the conversation: %q", m.Content)
		}
	}
	testkit.Eventually(h.t, "the outcome", func() bool { return strings.Contains(h.dragoman("jobs", "log"), "ran") })
	list = withoutLast(list)
	if now := withoutLast(h.dragoman("sessions", "list", "--json")); now != list {
		t.Errorf("sessions list was\n%s\nand is\n%s", list, now)
	}
	d.end(syscall.SIGTERM)
	if now := h.rows("conversations", "generations", "messages", "summaries"); now != rows {
		t.Errorf("the rows were\n%s\nand are\n%s", rows, now)
	}
}

// rows are all rows of some tables as text, while no daemon runs.
func (h *house) rows(tables ...string) string {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.state, "dragoman.db")+"?mode=ro")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	var all strings.Builder
	for _, table := range tables {
		rows, err := db.QueryContext(h.t.Context(), "SELECT * FROM "+table)
		if err != nil {
			h.t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			h.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(sql.RawBytes)
			}
			if err := rows.Scan(values...); err != nil {
				h.t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s", table)
			for _, v := range values {
				fmt.Fprintf(&all, " %q", *v.(*sql.RawBytes))
			}
			all.WriteByte('\n')
		}
		if err := rows.Err(); err != nil {
			h.t.Fatal(err)
		}
		_ = rows.Close()
	}
	return all.String()
}

// HEARTBEAT.md in the workspace is the person's own list: what it says
// reaches the model, silence reaches nobody, and without the file nothing
// happens.
func TestHeartbeatFile(t *testing.T) {
	answer := make(chan string, 4)
	h := newHouse(t, plan{
		rest: "heartbeat: {target: \"telegram:71\", every: 12h}",
		options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
			return agenttest.TextReply(<-answer)
		}},
	})
	h.start()
	if out, err := h.try("jobs", "run", "HEARTBEAT.md"); err == nil {
		t.Errorf("a file that is not there is run: %s", out)
	}
	h.api.Private(ann) // she has talked to the bot before
	file := filepath.Join(h.state, "workspace", "HEARTBEAT.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outcomes := func() string {
		var all []string
		for _, o := range decode[[]sessions.Occurrence](t, h.dragoman("jobs", "log", "--json")) {
			all = append(all, o.Outcome)
		}
		return strings.Join(all, " ")
	}
	write("- look whether the oven is off\n")
	answer <- "HEARTBEAT_OK"
	h.dragoman("jobs", "run", "HEARTBEAT.md")
	testkit.Eventually(h.t, "the silence", func() bool { return outcomes() == "silent" })
	h.nextSecond() // one occurrence a second
	answer <- "The oven is **on**!"
	h.dragoman("jobs", "run", "HEARTBEAT.md")
	if got := h.said(ann.ID, 1)[0]; got != "The oven is on!" {
		t.Errorf("the job says %q", got)
	}
	testkit.Eventually(h.t, "both outcomes", func() bool { return outcomes() == "ran silent" })
	for _, r := range h.model.Requests() {
		if !strings.Contains(r.LastUser(), "look whether the oven is off") {
			t.Errorf("the model reads %q, want the file", r.LastUser())
		}
	}
	if list := h.dragoman("sessions", "list"); !strings.Contains(list, "No conversations yet") {
		t.Errorf("the job made a conversation:\n%s", list)
	}
}

// nextSecond waits for the clock: occurrences are named by whole seconds.
func (h *house) nextSecond() {
	h.t.Helper()
	began := time.Now().Unix()
	testkit.Eventually(h.t, "the next second", func() bool { return time.Now().Unix() > began })
}

// A long chat is summarised: the model gets the summary and what follows it,
// and finds with its tool what the summary dropped (acceptance case 32);
// the operator still has every word.
func TestCase32Summary(t *testing.T) {
	h := newHouse(t, plan{rest: "summary: {trigger: {messages: 10}, keep: {n: 4}}\nqueue: {rate_per_minute: 0}"})
	d := h.start()
	said := 0
	say := func() {
		said++
		text := fmt.Sprintf("message number #%d", said)
		if said == 2 {
			text += " and the bicycle costs B=$129"
		}
		h.tell(ann, text)
		h.said(ann.ID, said)
	}
	for range 8 {
		say()
	}
	testkit.Eventually(h.t, "a summary", func() bool { return strings.Contains(d.out.String(), "conversation summarised") })
	say()
	last := h.asked()[len(h.asked())-1]
	var all strings.Builder
	for _, m := range last.Messages {
		all.WriteString(m.Role + ": " + m.Content + "\n")
	}
	if text := all.String(); !strings.Contains(text, "SUMMARY OF WHAT WAS SAID.") || strings.Contains(text, "#1\n") || !strings.Contains(text, fmt.Sprintf("#%d", said)) {
		t.Errorf("the model reads, after the summary:\n%s", text)
	}
	if len(last.Messages) > 14 {
		t.Errorf("the model reads %d messages, want the summary and few others", len(last.Messages))
	}
	if strings.Contains(all.String(), "B=$129") {
		t.Errorf("the request still has the price, so that there is nothing to find:\n%s", all.String())
	}
	said++
	h.tell(ann, fmt.Sprintf(`what did it cost? !tool search_history {"query":"bicycle"} #%d`, said))
	if got := h.said(ann.ID, said)[said-1]; !strings.Contains(got, "B=$129") {
		t.Errorf("the answer = %q, want the price that the summary dropped", got)
	}
	show := h.dragoman("sessions", "show", "telegram:71", "--last", "0")
	for n := 1; n <= said; n++ {
		if !strings.Contains(show, fmt.Sprintf("#%d", n)) {
			t.Errorf("sessions show lacks message %d", n)
		}
	}
	d.end(syscall.SIGTERM)
	h.start()
	say()
	if n := len(h.asked()[len(h.asked())-1].Messages); n > 16 {
		t.Errorf("after a restart the model reads %d messages", n)
	}
}

// asideID is how a list of the queue calls the first thing that was set aside.
func asideID(list string) string { return regexp.MustCompile(`aside/\S+`).FindString(list) }

// An update that cannot be understood is set aside where the operator sees
// it, and holds nobody up.
func TestPoisonUpdate(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.api.PushRaw(func(id int64) []byte {
		return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":"not a number","text":"poison text"}}`, id)
	})
	h.tell(ann, "hello #1")
	h.said(ann.ID, 1)
	h.until("everything to be confirmed", func() bool { return h.api.Unconfirmed() == 0 })
	list := h.dragoman("queue", "list")
	aside := asideID(list)
	if !strings.HasPrefix(aside, "aside/telegram/") {
		t.Fatalf("queue list lacks what was set aside:\n%s", list)
	}
	if show := h.dragoman("queue", "show", aside); !strings.Contains(show, "poison text") {
		t.Errorf("queue show lacks what it was:\n%s", show)
	}
	if status := h.dragoman("status"); !strings.Contains(status, "1 set aside") {
		t.Errorf("status does not say so:\n%s", status)
	}
	if strings.Contains(d.out.String(), "poison text") {
		t.Errorf("the log repeats it:\n%s", d.out)
	}
	h.dragoman("queue", "drop", "--yes", aside)
	if list := h.dragoman("queue", "list"); !strings.Contains(list, "The queue is empty") {
		t.Errorf("queue list still shows it:\n%s", list)
	}
}

// SIGTERM in the middle of an answer: it is finished and delivered, nothing
// new is taken, and what came meanwhile is answered after the next start.
func TestSigtermDuringATurn(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.tell(ann, "a long one !hold end #1")
	testkit.Eventually(h.t, "the model to be asked", func() bool { return len(h.asked()) == 1 })
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(h.t, "the daemon to drain", func() bool { return strings.Contains(d.out.String(), "msg=draining") })
	h.tell(bob, "am I too late? #2")
	h.gates.open("end")
	d.wait()
	if got := h.said(ann.ID, 1)[0]; !strings.HasSuffix(got, "the end of end. #1") {
		t.Errorf("the answer = %q, want all of it", got)
	}
	if n := len(h.api.FromBot(bob.ID)); n != 0 {
		t.Errorf("a message that came after SIGTERM was answered %d times before the restart", n)
	}
	if h.api.Unconfirmed() == 0 {
		t.Error("a message that was not taken was confirmed")
	}
	h.start()
	if got := h.said(bob.ID, 1)[0]; got != "echo: am I too late? #2" {
		t.Errorf("after the restart the bot says %q", got)
	}
	h.tell(ann, "and I? #3")
	h.said(ann.ID, 2)
}

// A person whom a SIGHUP turns out loses the tools of the turn that runs.
func TestSighupTakesTools(t *testing.T) {
	var h *house
	h = newHouse(t, plan{channels: "allow: [71]", options: agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		for _, m := range r.Messages {
			if m.Role == "tool" {
				return agenttest.TextReply("it says: " + m.Content)
			}
		}
		return func(x *agenttest.Exchange) {
			<-h.gates.gate("turned out")
			agenttest.EchoReply(x)
		}
	}}})
	d := h.start()
	h.tell(ann, `!tool write_file {"path": "late.md", "content": "too late"}`)
	h.until("the question to the model", func() bool { return len(h.asked()) == 1 })
	h.configure(plan{channels: "allow: [72]"})
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(h.t, "the reload", func() bool { return strings.Contains(d.out.String(), "msg=\"reloaded") })
	h.gates.open("turned out")
	if got := h.said(ann.ID, 1)[0]; !strings.Contains(got, "may not use this any more") {
		t.Errorf("the bot says %q, want that the tool was not run", got)
	}
	if _, err := os.Stat(filepath.Join(h.state, "workspace", "late.md")); err == nil {
		t.Error("the file was written")
	}
}

// SIGHUP lets somebody in without a restart, and a bad file changes nothing.
func TestSighup(t *testing.T) {
	h := newHouse(t, plan{channels: "allow: [71]"})
	d := h.start()
	hangup := func(words string) {
		t.Helper()
		before := strings.Count(d.out.String(), words)
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(h.t, words, func() bool { return strings.Count(d.out.String(), words) > before })
	}
	h.tell(bob, "let me in #1")
	h.until("the stranger's message to be done with", func() bool { return h.api.Unconfirmed() == 0 })
	h.configure(plan{channels: "allow: [71, 72]"})
	hangup("msg=\"reloaded")
	h.tell(bob, "let me in #2")
	if got := h.said(bob.ID, 1)[0]; got != "echo: let me in #2" {
		t.Errorf("the bot says %q, want an answer to #2 alone", got)
	}
	h.configure(plan{channels: "allow: [nobody]"})
	hangup("reload refused")
	h.tell(bob, "still? #3")
	h.said(bob.ID, 2)
}

// The unix socket serves the terminal: dragoman chat talks to the daemon that
// runs, in the same conversation every time.
func TestChatOverTheSocket(t *testing.T) {
	h := newHouse(t, plan{})
	h.start()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	for i, words := range []string{"good morning #1\n", "good evening #2\n"} {
		cmd := h.command(ctx, "chat")
		cmd.Stdin = strings.NewReader(words)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("dragoman chat: %v\n%s", err, &out)
		}
		if want := "echo: " + strings.TrimSpace(words); !strings.Contains(out.String(), want) {
			t.Errorf("dragoman chat shows %q, want %q in it", out.String(), want)
		}
		if n := len(h.asked()[i].Messages); n < 2+2*i {
			t.Errorf("the model reads %d messages, want what was said before, too", n)
		}
	}
}

// Without a daemon dragoman chat serves its own terminal and nothing else:
// what waits for Telegram waits for the daemon, which answers it as ever, and
// no job is run.
func TestChatAloneLeavesTheRestAlone(t *testing.T) {
	h := newHouse(t, plan{
		rest:     morning,
		channels: "allow: [\"*\"]\n    system_prompt: Be polite on Telegram.",
	})
	d := h.start()
	h.tell(ann, "the beginning !hold kill #1")
	testkit.Eventually(h.t, "the model to be asked", func() bool { return len(h.asked()) == 1 })
	h.dragoman("jobs", "run", "morning")
	testkit.Eventually(h.t, "the job to be done", func() bool { return strings.Contains(h.dragoman("jobs", "log"), "ran") })
	d.over = true
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	h.gates.open("kill")

	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	cmd := h.command(ctx, "chat")
	cmd.Stdin = strings.NewReader("good morning #2\n")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "echo: good morning #2") {
		t.Fatalf("dragoman chat: %v\n%s", err, out)
	}
	if n := len(h.asked()); n != 3 {
		t.Errorf("the model was asked %d times, want once more, by the terminal", n)
	}

	h.start()
	h.until("the answer", func() bool {
		return strings.Contains(strings.Join(finished(h.api.FromBot(ann.ID)), "\n"), "the end of kill. #1")
	})
	last := h.asked()[len(h.asked())-1]
	if !strings.Contains(last.Messages[0].Content, "Be polite on Telegram.") {
		t.Errorf("the answer was made without the channel's system prompt: %q", last.Messages[0].Content)
	}
}

// The same with conversations in files: a job that calls a tool, fails, or
// does not fit its model leaves each conversation's document byte for byte as it
// was, with its time, and has no messages of its own.
func TestCase50JobTouchesNoFile(t *testing.T) {
	var turn atomic.Int32
	// Its target is another chat, which is told that the job failed.
	elsewhere := strings.Replace(morning, "telegram:71", "telegram:72", 1)
	h := newHouse(t, plan{rest: "store: {type: file}" + elsewhere, options: agenttest.Options{
		Reply: func(r *agenttest.Request) agenttest.Reply {
			switch last := r.Messages[len(r.Messages)-1]; {
			case !strings.Contains(r.Messages[0].Content, "This is a scheduled check"):
				return agenttest.EchoReply
			case last.Role == "tool":
				return agenttest.TextReply("HEARTBEAT_OK")
			}
			switch turn.Add(1) {
			case 1:
				return agenttest.ToolReply(agenttest.ToolDelta{Index: agenttest.At(0), ID: "a", Name: "time", Arguments: "{}"})
			case 2:
				return agenttest.StatusReply(400, nil, `{"error":{"message":"bad role","type":"invalid_request_error"}}`)
			default:
				return agenttest.StatusReply(400, nil, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
			}
		},
	}})
	d := h.start()
	h.tell(ann, "my bicycle is green #1")
	h.said(ann.ID, 1)
	list := h.dragoman("sessions", "list", "--json")
	d.end(syscall.SIGTERM) // all documents are written now
	before := h.documents()
	if len(before) != 1 {
		t.Fatalf("%d documents of conversations, want Ann's alone: %v", len(before), before)
	}
	d = h.start()
	for n := 1; n <= 3; n++ {
		h.nextSecond() // an occurrence has its due second as its name
		h.dragoman("jobs", "run", "morning")
		testkit.Eventually(h.t, "the outcome", func() bool {
			log := h.dragoman("jobs", "log")
			return strings.Count(log, "silent")+strings.Count(log, "failed")+strings.Count(log, "ran") >= n
		})
	}
	if got := turn.Load(); got < 3 {
		t.Errorf("the model was asked for %d jobs, want 3", got)
	}
	for _, r := range h.model.Requests()[1:] {
		for _, m := range r.Messages {
			if strings.Contains(m.Content, "bicycle") && !strings.Contains(m.Content, "<transcript>") {
				t.Errorf("a job reads the conversation: %q", m.Content)
			}
		}
	}
	list = withoutLast(list)
	if now := withoutLast(h.dragoman("sessions", "list", "--json")); now != list {
		t.Errorf("sessions list was\n%s\nand is\n%s", list, now)
	}
	d.end(syscall.SIGTERM)
	// What the job itself waited for has a record elsewhere. It holds no message.
	record, err := os.ReadFile(filepath.Join(h.state, "sessions", "jobs", "heartbeat_morning.json"))
	if err != nil || !strings.Contains(string(record), `"messages": []`) {
		t.Errorf("the job has a conversation, or no record: %v: %s", err, record)
	}
	now := h.documents()
	delete(now, "telegram_72.json") // has what the target was told
	if !maps.Equal(before, now) {
		t.Errorf("the documents were\n%v\nand are\n%v", before, now)
	}
}

// documents are the files of conversations and archives with their times and
// what is in them, while no daemon runs.
func (h *house) documents() map[string]string {
	h.t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(h.state, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Base(filepath.Dir(path)) != "conversations" {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		all[filepath.Base(path)] = fmt.Sprintf("%s %x", info.ModTime(), sha256.Sum256(b))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}
