package crash_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions/engine"
)

// steps are the named moments at which the daemon can be told to die.
var steps = []string{
	"accept.before", "accept.after",
	"journal.model.before", "journal.model.after",
	"journal.tool_start.before", "journal.tool_start.after",
	"journal.tool_done.before", "journal.tool_done.after",
	"journal.preview.before", "journal.preview.after",
	"commit.before", "commit.after",
	"park.before", "park.after", "journal.resumed.after",
	"sending.before", "sending.after", // before the network is called
	"sent.before", "sent.after", // after that
}

// firstChat numbers the people; each has one private chat.
const (
	firstChat = 5000
	chats     = 12
)

// campaign is one run: the two servers, the daemon's configuration, and what
// was sent so far.
type campaign struct {
	t      *testing.T
	api    *botapi.Server
	model  *agenttest.Server
	bin    string
	config string
	// settings are what the configuration has while the daemon is not paused.
	settings string
	log      *os.File
	env      []string // what the daemon is told beside the config
	store    string
	listen   string // the daemon's port; "off" if it is ""
	// channel is the network's, as in keys.
	channel string
	places  []*place // of the chats, on Telegram
	dice    dice
	open    func() *engine.Store
	people  people
	talk    talk
	stored  [chats]stored // in the end
	unrest

	mu     sync.Mutex
	daemon *os.Process // the newest
	before int         // calls when it was started
	deaths []time.Time
}

func newCampaign(t *testing.T, store string) *campaign {
	t.Helper()
	c := &campaign{}
	c.prepare(t, store, c.telegram(t, placesOf(chats)))
	c.lengthy = true
	return c
}

// telegram makes c talk on a test Bot API server, in places of these kinds, and returns
// its channel in the configuration.
func (c *campaign) telegram(t *testing.T, kinds []kind) (channel string) {
	t.Helper()
	var err error
	if c.api, err = botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + strings.Repeat("TEST", 9)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.api.Close)
	var allow []string
	for i := range chats {
		allow = append(allow, itoa(ann(i).ID))
		c.places = append(c.places, newPlace(c.api, i, kinds[i]))
	}
	c.channel = "telegram"
	c.people = people{
		say:   func(chat int, text string) string { return c.places[chat].say(text) },
		edit:  func(chat int, id, text string) { c.places[chat].edit(id, text) },
		name:  func(chat int) string { return c.places[chat].key() },
		shown: func(chat int) []string { return c.places[chat].shown() },
		when:  func(chat int) []time.Time { return changed(c.api, c.places[chat].chat.ID()) },
		idle:  func() bool { return c.api.Unconfirmed() == 0 },
		away:  func(chat int) bool { return c.places[chat].gone() },
	}
	return fmt.Sprintf(`telegram: {type: telegram, token: %q, api_url: %s, allow: [%s], poll_timeout: 5s}`, c.api.Token(), c.api.URL(), strings.Join(allow, ", "))
}

// changed is when each message of the bot in chat got its newest text.
func changed(api *botapi.Server, chat int64) (times []time.Time) {
	for _, m := range api.Shown(chat) {
		switch {
		case m.From == nil || m.From.ID != botapi.BotID:
		case m.Edits > 0:
			times = append(times, m.Edited)
		default:
			times = append(times, m.Stored)
		}
	}
	return times
}

// prepare makes what all campaigns have: the binary, a model and a
// configuration with this channel.
func (c *campaign) prepare(t *testing.T, store, channel string) {
	t.Helper()
	c.t = t
	c.store = store
	c.roll(seeded(t))
	c.moody = true
	c.bin = build(t)
	c.open = func() *engine.Store {
		store, _ := openStore(t, filepath.Join(filepath.Dir(c.config), "state"), c.store)
		return store
	}
	c.model = agenttest.Serve(t, agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return c.unrest.reply }, Recorded: -1})
	dir := t.TempDir()
	var err error
	if c.log, err = os.Create(filepath.Join(dir, "daemon.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.log.Close() })
	c.config = filepath.Join(dir, "dragoman.yaml")
	c.settings = fmt.Sprintf(`
state_dir: %s
store: {type: %s}
http: {listen: %q}
log: {level: info}
model: {type: openai, base_url: %s, name: fake, context_window: 200000}
summary: {trigger: {messages: 30}, keep: {n: 8}}
queue: {rate_per_minute: 0, max_waiting: 1000}
channels:
  %s
`, filepath.Join(dir, "state"), store, cmp.Or(c.listen, "off"), c.model.URL(), channel)
	c.configure("")
}

func ann(chat int) botapi.User { return botapi.Person(int64(firstChat+chat), "Ann") }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // of itoa
	return n
}

// build makes the binary under test, once for all tests. One that DRAGOMAN_BIN
// names is tested instead.
func build(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("DRAGOMAN_BIN"); bin != "" {
		return bin
	}
	testkit.Sources(t)
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// builtIn is the folder of the binary.
var builtIn string

var built = sync.OnceValues(func() (string, error) {
	var err error
	if builtIn, err = os.MkdirTemp("", "dragoman-crash-"); err != nil {
		return "", err
	}
	bin := filepath.Join(builtIn, "dragoman")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "crashpoints", "-o", bin, "dragoman/cmd/dragoman")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	testkit.AtOnce(4)
	code := m.Run()
	pgtest.Stop()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// reply is the model. What it does follows from the marks it is asked about,
// so that a turn that is run again meets the same behaviour: every third turn
// calls tools, every seventh streams long enough to be previewed.
func reply(x *agenttest.Exchange) {
	asked := asks(x.Request)
	if len(asked) == 0 { // a summary, which must be about what was said
		all := agenttest.Marks(string(x.Request.Body))
		x.Text("## Progress\nThese were seen: " + strings.ReplaceAll(strings.Join(all, ", "), "#", "message "))
		x.End("stop")
		return
	}
	first := strconv.Itoa(asked[0])
	if callsTools(x.Request) {
		x.Tools(
			agenttest.ToolDelta{Index: agenttest.At(0), ID: "a" + first, Name: "time", Arguments: "{}"},
			agenttest.ToolDelta{Index: agenttest.At(1), ID: "b" + first, Name: "write_file", Arguments: `{"path":"n.txt","content":"#` + first + `"}`},
		)
		x.End("tool_calls")
		return
	}
	text := answerTo(asked)
	if asked[0]%7 == 0 {
		for _, word := range agenttest.Words(text) {
			x.Text(word)
			x.Wait(150 * time.Millisecond)
		}
	} else {
		x.Text(text)
	}
	x.End("stop")
}

// callsTools reports whether the model calls tools when it gets r.
func callsTools(r *agenttest.Request) bool {
	asked := asks(r)
	last := r.Messages[len(r.Messages)-1]
	return len(asked) > 0 && asked[0]%3 == 0 && last.Role != "tool" && r.HasTool("write_file")
}

// answerTo is the whole answer to messages.
func answerTo(asked []int) string {
	var text strings.Builder
	text.WriteString("Seen: ")
	for _, n := range asked {
		fmt.Fprintf(&text, "#%d ", n)
	}
	text.WriteString("done.")
	return text.String()
}

// start runs the daemon; at, if not empty, is where it kills itself.
func (c *campaign) start(at string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(c.bin, "run", "--config", c.config)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	cmd.Env = append(os.Environ(), "DRAGOMAN_CRASH="+at)
	cmd.Env = append(cmd.Env, c.env...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = c.calls()
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.daemon = cmd.Process
	return cmd
}

func TestCampaign(t *testing.T) {
	besideOthers(t)
	runCampaign(t, "sqlite", "crash", wanted(t, 15))
}

// TestWebhookCampaign is the same with Telegram calling, instead of being polled.
func TestWebhookCampaign(t *testing.T) {
	besideOthers(t)
	c := &campaign{listen: testkit.FreeAddress(t)}
	channel := c.telegram(t, placesOf(chats))
	hook := fmt.Sprintf(`, webhook: {url: "http://%s", secret: a-secret-of-this-campaign}}`, c.listen)
	c.prepare(t, "sqlite", strings.TrimSuffix(channel, "}")+hook)
	c.lengthy = true
	c.run(wanted(t, 9), "crash-webhook", c.telegramLines)
	if polls := c.api.Count("getUpdates"); polls > 0 {
		t.Errorf("the daemon polled %d times, want a webhook alone", polls)
	}
}

// TestFileStoreCampaign is the same over documents.
func TestFileStoreCampaign(t *testing.T) {
	kills := wanted(t, 0)
	if kills == 0 {
		t.Skip("part of make crash; make test kills this store without the daemon around it")
	}
	runCampaign(t, "file", "crash-file", kills)
}

func runCampaign(t *testing.T, store, section string, kills int) {
	t.Helper()
	c := newCampaign(t, store)
	c.run(kills, section, c.telegramLines)
}

// telegramLines are what a report says of Telegram alone.
func (c *campaign) telegramLines(v verdict) []line {
	return []line{
		{"messages changed afterwards", c.talk.edits},
		{"refusals of the bot's token (401), which was well again", c.refused},
		{"outages of the network", c.outages},
		{"pauses of the daemon, which kept what came", c.pauses},
		{"sentences about a pause", v.paused},
		{"topics closed for a while", c.closures},
		{"topics gone for a while", c.losses},
		{"answers in the group because their topic was gone", v.outside},
		{"files with a long answer", v.files},
		{"sentences in place of a forbidden file", v.instead},
		{"sent with the mark ↻, because an earlier sending may have arrived", v.marked},
		{"of those, really seen twice", v.repeated},
		{"previews left unfinished by a kill, visibly (…)", v.leftovers},
	}
}

// run kills the daemon and judges what came of it. own is what the network has
// to say beside what all have.
func (c *campaign) run(kills int, section string, own func(verdict) []line) verdict {
	c.t.Helper()
	began := time.Now()
	atStep, random := c.disturb(kills)
	settled := c.settle()
	v := c.verdict()
	r := report{kills: kills, atStep: atStep, random: random, campaign: c, verdict: v, own: own(v), took: time.Since(began), settled: settled}
	c.t.Logf("\n%s", r)
	v.check(c.t)
	accounted(c.t, c.log.Name(), c.met[aboutLength] > 0)
	if c.t.Failed() {
		keepLog(c.t, c.log.Name())
		return v
	}
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" {
		if err := writeSection(path, section, r.String()); err != nil {
			c.t.Error(err)
		}
	}
	return v
}

// accounted wants that each request showed the whole conversation, or a summary
// of what it did not. The daemon logs what it counts in
// dragoman_messages_unaccounted_total: in silence, and said to the model. The latter
// is right where the model's server refused requests as too long, because the daemon
// then believes that its window is small.
func accounted(t *testing.T, path string, refused bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	for line := range strings.Lines(string(b)) {
		said := strings.Contains(line, "context truncated")
		if said && !refused || strings.Contains(line, "left out messages without saying so") {
			t.Errorf("a request to the model lacked messages: the daemon logged %q", line)
		}
	}
}

// keepLog shows the end of the daemon's log of a campaign that failed.
func keepLog(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Log(err)
		return
	}
	t.Logf("the daemon's last words:\n%s", b[max(0, len(b)-6000):])
}
