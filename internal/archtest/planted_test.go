package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// plant is a bug that somebody could make, and where it has to be noticed.
type plant struct {
	what     string
	file     string
	from, to string
	pkg, run string // the tests that are asked
}

// planted are bugs that once stayed unnoticed, or were found far away.
var planted = []plant{
	{"the file store does not sync its folders", "sessions/file/files.go", "return errors.Join(fsync(f), f.Close())", "return f.Close()", "./sessions/file", "TestPowerCut"},
	{"a failing operation is not rolled back in a shared batch", "sessions/sqlite/writer.go", "if t.wrote {", "if t.ended {", "./sessions/sqlite", "Fail|Batch"},
	{"a search does not find a message that shared a commit with a deletion", "sessions/sqlite/index.go", "t.fail(t.index()) // first what the batch has added", "", "./sessions/sqlite", "Batch"},
	{"a delivery that moves to another conversation gets a new id", "sessions/sqlite/apply.go", "WHERE did = '' AND id BETWEEN ? AND ?`, t.b.prefix", "WHERE did = 'x' AND id BETWEEN ? AND ?`, t.b.prefix", "./sessions/sqlite", "Rows$/LikeTheReference"},
	{"the pieces of an answer go out in reverse", "internal/gateway/split.go", "for i, p := range parts {\n\t\tl.Part", "for i := range parts {\n\t\tp := parts[len(parts)-1-i]\n\t\tl.Part", "./internal/gateway", "."},
	{"the last of many waiting messages is not shown to the model", "internal/gateway/agent_turn.go", "for i := range r.rows {\n\t\tif steered", "for i := range r.rows[:min(len(r.rows), maxGather-1)] {\n\t\tif steered", "./internal/gateway", "."},
	{"a message is shown to the model twice", "internal/gateway/agent_turn.go", "t.Input = append(t.Input, userMessage(m, r.g.opts.Now()))", "t.Input = append(t.Input, userMessage(m, r.g.opts.Now()), userMessage(m, r.g.opts.Now()))", "./internal/gateway", "."},
	{"the store does not learn that a delivery begins", "internal/gateway/deliver.go", "if err := g.store.MarkSending(ctx, c, d.ID); err != nil {", "if err := error(nil); err != nil {", "./internal/gateway", "."},
	{"a delivery that a crash cut off counts as new", "internal/gateway/deliver.go", "return d.State == sessions.DeliveryUnknown || d.State == sessions.DeliverySending", "return d.State == sessions.DeliveryUnknown", "./internal/gateway", "."},
	{"the watchdog is fed by a store that hangs", "internal/app/watchdog.go", "if d.progress(every) {\n\t\t\tnotify", "if d.progress(every); true {\n\t\t\tnotify", "./internal/app", "Watchdog"},
	{"the page's login never ends", "internal/web/sessions.go", "return found, ok && time.Now().Before(found.Ends)", "return found, ok", "./internal/web", "Login"},
	{"a stop drops what waits behind the running turn as well", "internal/gateway/stop.go", "e.Ends = seqs", "e.Ends = nil", "./internal/gateway", "."},
	{"a kick from a room leaves the rest of that answer in the outbox", "internal/gateway/deliver.go", `g.chats.cancelRest(d.Key, "", allPieces)`, `g.chats.cancelRest(d.Key, "", d.Seq)`, "./internal/gateway", "Kick"},
	{"a 401 of the bot's token is taken for a permanent error of the message", "channels/telegram/refusals.go", "case refused(err):", "case refused(err) && r.code != http.StatusUnauthorized:", "./channels/telegram", "Send"},
	{"a preview overtakes an answer that waits", "internal/gateway/attendant.go", "if waits, err := a.r.g.store.Unsent(ctx, a.r.claim, 1); err != nil || len(waits) > 0 {", "if _, err := a.r.g.store.Unsent(ctx, a.r.claim, 1); err != nil {", "./internal/gateway", "."},
	{"a refused message is acknowledged to WhatsApp", "channels/whatsapp/receive.go", "case err == nil:\n\t\t\tk.used", "case true:\n\t\t\tk.used", "./channels/whatsapp", "."},
	{"a refused message is confirmed to Telegram", "channels/telegram/update.go", "err := c.handIn(ctx, in, a)\n\t\tif err == nil {", "err := c.handIn(ctx, in, a)\n\t\tif true {", "./channels/telegram", "."},
	{"a summary does not say how many erasures it knows", "agent/recap/summaries.go", "\tmade.Erasures = h.Erasures\n", "", "./internal/gateway", "AnErasure"},
	{"the daily reset takes the clock's zone", "internal/gateway/reset.go", "now.In(zone).Date()", "now.Date()", "./internal/gateway", "ResetBefore"},
	{"a later part of a summary that is refused begins it again", "agent/recap/writing.go", "if !w.started && w.cut > 0 {", "if w.cut > 0 {", "./agent", "Part"},
	{"one lesson deletes another", "agent/provider/memory.go", `strings.HasPrefix(old.What, name+"=")`, "strings.HasPrefix(old.What, name)", "./agent/provider", "Lessons"},
	{"a restore does not sync the folder", "internal/storage/restore.go", "return syncDir(filepath.Dir(m.to))", "return nil", "./internal/storage", "Restore"},
	{"of two ends of an answer the last counts", "agent/wire/ends.go", `if reason != "" && meaning(d.Finish) == endWhole {`, `if reason != "" {`, "./agent/anthropic", "Ends"},
	{"tools run although somebody in the turn may no longer talk", "internal/gateway/agent_turn.go", "for _, w := range rows {\n\t\tif w.Inbound.Sender.ID() == people.OperatorID", "for _, w := range rows[len(rows)-1:] {\n\t\tif w.Inbound.Sender.ID() == people.OperatorID", "./internal/gateway", "Everybody"},
	{"a stranger's messages fill the memory", "internal/gateway/pairing.go", "isCommand || len(it.messages) >= maxApplicantMessages ||", "isCommand ||", "./internal/gateway", "Stranger"},
	{"a steered message is shown twice after a crash", "internal/gateway/turn.go", "msg.Seq = w.Seq // only", "_ = w.Seq // only", "./internal/gateway", "Steer"},
	{"the preview becomes the last piece of a long answer", "internal/gateway/finish.go", "_, list[0].Edit = r.live.current()", "_, list[len(list)-1].Edit = r.live.current()", "./internal/gateway", "Preview"},
	{"a line that IRC did not confirm counts as not sent", "channels/irc/confirm.go", `s.settle(d, fmt.Errorf("irc: send to %s: not confirmed`, `s.settle(d, notSent("send to %s: not confirmed`, "./channels/irc", "Unconfirmed"},
	{"a line for IRC leaves no room for an unknown host", "channels/irc/send.go", `cmp.Or(s.me.host, strings.Repeat("h", maxHost))`, `cmp.Or(s.me.host, "")`, "./channels/irc", "Host"},
	{"a copy of an unreadable WhatsApp message is another message", "channels/whatsapp/receive.go", "id := inboundID(before.info())", "id := inboundID(&evt.Info)", "./channels/whatsapp", "Copy"},
	{"a file for a topic of Telegram goes to all", "channels/telegram/send.go", "if f.topic != 0 {\n\t\t\tu.values", "if f.topic < 0 {\n\t\t\tu.values", "./channels/telegram", "Refused"},
	{"one long event cuts a viewer off for ever", "channels/live/room.go", "if full && len(v.queue) > 0 {", "if full {", "./channels/live", "Long"},
	{"the logins of a node with another token replace ours", "internal/web/sessions.go", `err != nil || l.Token != s.nameOf("") {`, "err != nil {", "./internal/web", "Login"},
	{"a frozen node commits for a conversation that another has claimed", "sessions/postgres/apply.go", "version = $8 AND live = $9 RETURNING", "version = $8 AND (live = $9 OR true) RETURNING", "./sessions/postgres", "TestStolenClaim"},
	{"two nodes change records of one kind at once", "sessions/postgres/records.go", "SELECT pg_advisory_xact_lock($1, hashtext($2))", "SELECT $1::int, hashtext($2)", "./sessions/postgres", "TestRecordsAreLocked"},
	{"a line for IRC is 20 bytes too long with the server's prefix", "channels/irc/split.go", "maxLine = 510", "maxLine = 530", "./channels/irc", "Lines"},
	{"a yes counts for another call than was shown", "internal/actions/guard.go", "if r.Hash != hash {\n\t\t\tr.State = Closed", "if false {\n\t\t\tr.State = Closed", "./internal/actions", "Cases"},
	{"a yes counts twice", "internal/actions/guard.go", "\t\tr.State = Used\n", "", "./internal/actions", "Cases"},
	{"a wrong person's yes counts", "internal/actions/decide.go", "case !who.mayDecide(r):", "case false:", "./internal/actions", "Cases"},
	{"a turn asks as often as it likes", "internal/actions/guard.go", "case asked >= MaxQuestions:", "case false:", "./internal/actions", "Cases"},
	{"one yes connects two people", "internal/people/connect_answers.go", "if !o.record.Yes {", "if false {", "./internal/people", "Connect"},
	{"connected identities share their rights", "internal/people/connect_answers.go", "fresh := newPerson() // whose", "fresh := into // whose", "./internal/people", "Connect"},
	{"a reminder comes an hour after the clock has jumped", "heartbeat/rule.go", "due = FirstShown(wall, c.zone)", "due = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, c.zone)", "./heartbeat", "Rules"},
	{"a fact that was replaced is found", "sessions/engine/facts.go", "if r.Fact.Scope == scope && r.Fact.Gone.IsZero() {", "if r.Fact.Scope == scope {", "./sessions/sqlite", "Store$/Facts"},
	{"what a turn used is forgotten when it ends", "internal/budget/ledger.go", "s.ended += k.done", "_ = k.done", "./internal/budget", "."},
	{"what other nodes used is read a second late", "internal/budget/rule.go", "r.refresh(ctx, accounts, t.At, r.with.Shared)", "r.refresh(ctx, accounts, t.At, false)", "./internal/budget", "."},
	{"a call begins without a look at what runs", "internal/budget/ledger.go", "if running > 0 && running >= r.left(a, s) {", "if running < 0 {", "./internal/budget", "."},
	{"two nodes deliver one reminder", "sessions/engine/remind.go", "if !found || !stored.Note.Due.Equal(rules.Time(n.Due)) || !bytes.Equal(stored.Note.Data, rules.JSON(n.Data)) {", "if !found || !stored.Note.Due.Equal(rules.Time(n.Due)) && !bytes.Equal(stored.Note.Data, rules.JSON(n.Data)) {", "./sessions/sqlite", "Store$/Notes"},
	{"a summary forgets whose words it replaces", "agent/recap/writing.go", ", Origins: originsOf(h.Summary, h.Messages[:w.cut]),", ",", "./agent", "SummariesInherit"},
}

// Each bug has a line to be planted in.
func TestPlantedLines(t *testing.T) {
	for _, p := range planted {
		text, err := os.ReadFile(filepath.Join("../..", p.file))
		if n := strings.Count(string(text), p.from); n != 1 || err != nil {
			t.Errorf("%s holds the line of %q %d times (%v), want once: %s", p.file, p.what, n, err, p.from)
		}
	}
}

// TestPlanted plants each bug, one at a time and never in the tree itself, and
// wants to see its tests red. It takes minutes: make planted.
func TestPlanted(t *testing.T) {
	if os.Getenv("DRAGOMAN_PLANT") == "" {
		t.Skip("make planted runs this")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| bug | where | found by | seconds |\n|---|---|---|---|\n")
	for _, p := range planted {
		t.Run(p.what, func(t *testing.T) {
			found, took := p.grow(t, root)
			fmt.Fprintf(&table, "| %s | `%s` | `%s` | %.0f |\n", p.what, p.file, found, took.Seconds())
		})
	}
	path := filepath.Join(root, "docs/internals/planted.md")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := testkit.ReplaceSection(string(old), "planted", table.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// grow runs the tests with the bug in place and returns the first that failed.
func (p plant) grow(t *testing.T, root string) (test string, took time.Duration) {
	t.Helper()
	source := filepath.Join(root, p.file)
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), p.from) != 1 {
		t.Fatalf("%s does not hold the line once: %s", p.file, p.from)
	}
	dir := t.TempDir()
	with, overlay := filepath.Join(dir, "with.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: with}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{with: []byte(strings.Replace(string(text), p.from, p.to, 1)), overlay: list} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-failfast", "-vet=off", "-timeout", "5m", "-overlay", overlay, "-run", p.run, p.pkg)
	run.Dir = root
	began := time.Now()
	out, err := run.CombinedOutput()
	found := failed.FindSubmatch(out)
	if err == nil || found == nil {
		t.Fatalf("nobody noticed: %v\n%s", err, out[max(0, len(out)-2000):])
	}
	return string(found[1]), time.Since(began)
}
