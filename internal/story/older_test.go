package story_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"
)

// older is the program of a version before labels: what a reply is was written into its
// text and its id. Build it from commit 11dfcbe5.
func older(t *testing.T) string {
	t.Helper()
	path := os.Getenv("DRAGOMAN_OLDER")
	if path == "" {
		t.Skip("DRAGOMAN_OLDER names no older program")
	}
	return path
}

// verse is a line of the long answer, which takes ten messages and a file.
func verse(n int) string {
	return fmt.Sprintf("Verse %d tells of dragomans, who spoke every tongue at court.", n)
}

func epic() string {
	var lines []string
	for n := range 1600 {
		lines = append(lines, verse(n))
	}
	return strings.Join(lines, "\n\n")
}

// recital is the model of these stories.
func recital(down func() bool) func(*agenttest.Request) agenttest.Reply {
	return func(r *agenttest.Request) agenttest.Reply {
		asked := r.LastUser()
		switch {
		case down():
			return agenttest.StatusReply(503, nil, `{"error": {"message": "overloaded"}}`)
		case strings.Contains(asked, "a long poem"):
			return agenttest.TextReply(epic())
		case strings.Contains(asked, "fail"):
			return agenttest.StatusReply(401, nil, `{"error": {"message": "wrong key"}}`)
		case strings.Contains(asked, "list them"):
			return agenttest.TextReply(strings.Join(tale("dragoman"), "\n"))
		case strings.Contains(asked, "watch the disk"):
			return agenttest.TextReply("The **disk** is full.")
		}
		return agenttest.EchoReply
	}
}

// What an older program has accepted and not yet answered, answered and not yet sent, goes
// out as that program would have sent it: files, the rest of a long answer in a room,
// apologies, what jobs wrote, a question asked once more. A copy of its store stays. After
// that it refuses the store.
func TestOlderStore(t *testing.T) {
	before := older(t)
	for _, store := range []string{"sqlite", "file"} {
		t.Run(store, func(t *testing.T) {
			server := ircd.StartNgircd(t, ircd.NgircdOptions{})
			anna := ircd.Join(t, server.Addr(), "anna", "#go")
			var outage atomic.Bool
			h := newHouse(t, plan{options: agenttest.Options{Reply: recital(outage.Load)}})
			channels := func(every string) string {
				return fmt.Sprintf(`allow: ["*"]
  home:
    type: irc
    server: %s
    tls: false
    nick: dragoman
    channels: ["#go"]
    allow: ["chat:#go"]
    max_lines: 3
    flood: {burst: 2, every: %s}`, server.Addr(), every)
			}
			rest := "store: {type: " + store + "}\nheartbeat: {jobs: [{name: watch, every: 1m, target: 'telegram:" + fmt.Sprint(bob.ID) + "', prompt: watch the disk}]}"
			h.configure(plan{channels: channels("1m"), rest: rest})
			h.fillOlder(before, anna, &outage)
			keepOlder(t, h.state, store)

			h.api.Heal()
			outage.Store(false)
			h.configure(plan{channels: channels("10ms"), rest: rest})
			d := h.start()
			h.checkOlder(anna)
			d.end(syscall.SIGTERM)
			name := map[string]string{"sqlite": "dragoman.db.before-v3", "file": "sessions.rows.db.before-v3"}[store]
			if _, err := os.Stat(filepath.Join(h.state, name)); err != nil {
				t.Errorf("no copy of the older store is kept: %v", err)
			}
			h.bin = before
			if out, err := h.try("check"); err == nil || !strings.Contains(out, "newer version") {
				t.Errorf("the older program looks at the store of this one: %v, %q", err, out)
			}
		})
	}
}

// fillOlder has the older program leave something of each kind behind.
func (h *house) fillOlder(before string, anna *ircd.Person, outage *atomic.Bool) {
	h.t.Helper()
	stop := h.runOlder(before)
	h.tell(ann, "what is Go? #1")
	h.said(ann.ID, 1)
	h.tell(ann, "/again")
	h.said(ann.ID, 2)
	h.tell(ann, "fail now")
	h.said(ann.ID, 3)
	h.tell(bob, "and what is C? #2")
	h.said(bob.ID, 1)
	if !testkit.Poll(2*most, func() bool { return slices.Contains(h.api.FromBot(bob.ID), "The disk is full.") }) {
		h.t.Fatal("the job writes nothing to bob")
	}
	anna.Say("#go", "dragoman: list them")
	anna.WaitHeard("dragoman", "#go", 1)
	h.api.Break(botapi.Fault{Method: "sendMessage", ChatID: ann.ID, DropBefore: true})
	h.api.Break(botapi.Fault{Method: "sendDocument", ChatID: ann.ID, DropBefore: true})
	h.tell(ann, "a long poem, please")
	h.tell(ann, "fail again")
	testkit.Eventually(h.t, "the apology to wait for the poem", func() bool {
		return strings.Count(h.olderQueue(before), "out/telegram:"+fmt.Sprint(ann.ID)) == 12
	})
	outage.Store(true)
	h.tell(bob, "/again")
	testkit.Eventually(h.t, "bob's question to wait for the model", func() bool {
		return strings.Contains(h.olderQueue(before), "postponed")
	})
	stop()
}

// checkOlder wants all of that to arrive.
func (h *house) checkOlder(anna *ircd.Person) {
	t := h.t
	t.Helper()
	var shown []botapi.Message
	h.until("the rest for ann", func() bool {
		shown = h.api.Shown(ann.ID)
		last := shown[len(shown)-1]
		return strings.Contains(last.Text, "Sorry, ") && last.From.ID == botapi.BotID
	})
	var file string
	var verses strings.Builder
	for _, m := range shown {
		if strings.Contains(m.Text, "<!--") {
			t.Errorf("ann reads a mark: %.80q", m.Text)
		}
		if strings.Contains(m.Text, "Verse") {
			verses.WriteString(m.Text + "\n\n")
		}
		if m.Document != nil {
			file = m.Document.Content
		}
	}
	if file != epic() {
		t.Errorf("the file has %d bytes, want the %d of the poem", len(file), len(epic()))
	}
	if got := strings.TrimPrefix(verses.String(), "↻ "); !strings.HasPrefix(got, verse(0)+"\n\n"+verse(1)) {
		t.Errorf("the poem begins with %.100q", got)
	}
	heard := anna.WaitHeard("dragoman", "#go", 4)
	if want := []string{"anna: dragoman 1", "anna: ↻ dragoman 2", "```go", "9 more lines (more: !more)"}; !slices.Equal(heard[:4], want) {
		t.Errorf("the room heard %q, want %q", heard, want)
	}
	anna.Say("#go", "!more")
	heard = anna.WaitHeard("dragoman", "#go", 7)
	if heard[4] != "anna: dragoman 3" {
		t.Errorf("after !more the room heard %q", heard[4:])
	}
	h.until("an answer to bob's question", func() bool {
		return strings.Contains(strings.Join(h.api.FromBot(bob.ID), "\n"), "[asks for another answer to:] and what is C? #2")
	})
	h.tell(bob, "what did you write? #3")
	h.until("another answer", func() bool { return strings.Contains(strings.Join(h.api.FromBot(bob.ID), "\n"), "write? #3") })
	asked := h.asked()
	var all strings.Builder
	for _, m := range asked[len(asked)-1].Messages {
		all.WriteString(m.Content + "\n")
	}
	if !strings.Contains(all.String(), "[The scheduled job \"watch\" wrote this here:]\nThe **disk** is full.") {
		t.Errorf("the model is not told what the job wrote: %s", all.String())
	}
}

// runOlder starts an older daemon, which speaks another API, and returns what ends it.
func (h *house) runOlder(bin string) (stop func()) {
	h.t.Helper()
	out := &testkit.Output{}
	cmd := exec.Command(bin, "run", "--config", h.config)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = h.environment()
	cmd.Dir = h.dir
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := false
	stop = func() {
		if over {
			return
		}
		over = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			h.t.Errorf("the older daemon ended with %v:\n%s", err, out)
		}
	}
	h.t.Cleanup(stop)
	testkit.Eventually(h.t, "the older daemon to listen", func() bool {
		conn, err := net.DialTimeout("unix", filepath.Join(h.state, "dragoman.sock"), time.Second)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return stop
}

// olderQueue is what its own command line says of the older daemon's queue.
func (h *house) olderQueue(bin string) string {
	cmd := exec.Command(bin, "queue", "list", "--config", h.config)
	cmd.Env = h.environment()
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// keepOlder copies the older store to where DRAGOMAN_KEEP_OLDER says, for the tests of the
// stores.
func keepOlder(t *testing.T, state, store string) {
	t.Helper()
	to := os.Getenv("DRAGOMAN_KEEP_OLDER")
	if to == "" {
		return
	}
	if err := os.CopyFS(filepath.Join(to, store), os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
}
