package story_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest/providers"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
)

// mark is in the system prompt of every request that answers a person; those
// for summaries have another.
const mark = "You are the heron of this test."

// columns are what each provider is tried with.
var columns = []string{"plain", "stream", "tools", "parallel", "reasoning kept", "pictures", "summary", "restart", "change"}

// matrix gathers what came of it.
type matrix struct {
	mu    sync.Mutex
	cells map[string]string // by provider and column
}

func (m *matrix) set(p providers.Provider, column, cell string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[p.Name+"/"+column] = cell
}

func (m *matrix) of(p providers.Provider, column string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cells[p.Name+"/"+column]
}

// table is what docs/models.md shows.
func (m *matrix) table() string {
	text := "| provider | " + strings.Join(columns, " | ") + " |\n|---" + strings.Repeat("|---", len(columns)) + "|\n"
	for _, p := range providers.All() {
		text += "| " + p.Name
		for _, c := range columns {
			text += " | " + m.of(p, c)
		}
		text += " |\n"
	}
	return text
}

// Every provider, as its documents describe it, is talked to by the real
// program: no request breaks a rule, or where one does it is made again in
// silence, and people are answered.
func TestProviders(t *testing.T) {
	m := &matrix{cells: map[string]string{}}
	all := providers.All()
	t.Run("each", func(t *testing.T) {
		for i, p := range all {
			t.Run(p.Name, func(t *testing.T) {
				t.Run("talk", func(t *testing.T) { converses(t, m, p) })
				t.Run("summary", func(t *testing.T) { summarises(t, m, p, "dragoman") })
				t.Run("restart", func(t *testing.T) { restarts(t, m, p, all[(i+1)%len(all)]) })
			})
		}
		for _, preset := range []string{"terrarium", "goose-balanced"} {
			t.Run(preset, func(t *testing.T) { summarises(t, m, providers.Mistral(), preset) })
		}
	})
	if path := os.Getenv("DRAGOMAN_PROVIDERS"); path != "" {
		if err := os.WriteFile(path, []byte(m.table()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// booth is a house whose model is a provider.
type booth struct {
	*house
	s  *providers.Server
	in *providers.Internet
	m  *matrix
	// runs are how often the program was started: each run may learn by itself.
	runs int
}

func newBooth(t *testing.T, m *matrix, p providers.Provider, rest string) *booth {
	b := &booth{house: newHouse(t, plan{}), in: providers.NewInternet(t), m: m}
	b.env = b.in.Env()
	b.settle(providers.Serve(t, p), rest)
	return b
}

// settle writes a configuration with a provider, as somebody would who knows
// nothing about it but its address, its key and its name.
func (b *booth) settle(s *providers.Server, rest string) {
	b.s = s
	b.answers()
	b.configure(plan{
		model: fmt.Sprintf("model: {base_url: %s, api_key: %s, name: %q, retries: 1}", b.in.Put(s), providers.Key, s.Model),
		rest:  "agent: {system_prompt: " + mark + "}\n" + rest,
	})
}

// run starts the program.
func (b *booth) run() *daemon {
	b.runs++
	return b.start()
}

// answers makes the provider obey people, and summarise where it is asked to.
func (b *booth) answers() {
	b.s.Answer(func(r *providers.Request) providers.Answer {
		if strings.Contains(r.All(), mark) {
			return providers.Obey(r)
		}
		return providers.Answer{Text: summary}
	})
}

const summary = "## Goal\nAnn counts the herons at the lake and wants them reported.\n## Progress\n" +
	"Ann has counted three herons in the morning and two herons in the evening at the lake.\n" +
	"## Next steps\nCount the herons again tomorrow.\n## Critical context\nHEARD OF HERONS: three and two."

// say writes as Ann, and returns the answer.
func (b *booth) say(f func()) (string, error) {
	before := len(finished(b.api.FromBot(ann.ID)))
	f()
	var all []string
	if !testkit.Poll(20*time.Second, func() bool {
		all = finished(b.api.FromBot(ann.ID))
		return len(all) > before
	}) {
		return "", errors.New("no answer came in 20 seconds")
	}
	return all[len(all)-1], nil
}

// want says text and records whether the answer is as it is to be.
func (b *booth) want(column, text string, like ...string) {
	b.t.Helper()
	b.wantOf(column, func() { b.tell(ann, text) }, like...)
}

func (b *booth) wantOf(column string, f func(), like ...string) {
	b.t.Helper()
	seen := len(b.s.Refused())
	got, err := b.say(f)
	for _, part := range like {
		if err == nil && !strings.Contains(got, part) {
			err = fmt.Errorf("the answer is %q, want %q in it", got, part)
		}
	}
	b.judge(column, err, b.s.Refused()[seen:])
}

// judge records a cell. A person must not notice anything; what the server
// refused on the way is a failure only if it refused the same twice.
func (b *booth) judge(column string, err error, refused []string) {
	b.t.Helper()
	times := map[string]int{}
	for _, r := range refused {
		times[r]++
		if err == nil && times[r] > b.runs {
			err = errors.New("the provider refused the same more than once")
		}
	}
	cell := "yes"
	if err != nil {
		cell = "no"
		b.t.Errorf("%s: %v; it refused %q", column, err, refused)
	}
	b.m.set(b.s.Provider, column, cell)
}

const (
	twoSteps = "Count the herons.\ncall time\ncall list_dir {\"path\":\".\"}"
	twoCalls = "Count them again.\ncall time & list_dir {\"path\":\".\"}"
)

// elsewhere asks for the same by other calls, so that a provider can tell its
// own from those that another one made.
func elsewhere(text string) string {
	return strings.NewReplacer("time", `time {"zone":"UTC"}`, `"."`, `"./"`).Replace(text)
}

// converses: hello, two tools one after the other, two at once, and a picture, in
// one conversation.
func converses(t *testing.T, m *matrix, p providers.Provider) {
	b := newBooth(t, m, p, "")
	d := b.run()
	b.want("plain", "hello there", "heard: hello there")
	var err error
	if rs := b.s.Requests(); len(rs) == 0 || !rs[len(rs)-1].Stream {
		err = errors.New("the request asked for no stream")
	}
	b.judge("stream", err, nil)
	if p.NoTools {
		b.want("tools", twoSteps, "heard: Count the herons.")
		for _, c := range []string{"tools", "parallel", "reasoning kept"} {
			m.set(p, c, "it has none")
		}
	} else {
		b.want("tools", twoSteps, "heard: Count the herons. -> ")
		b.want("parallel", twoCalls, "heard: Count them again. -> ", " & ")
		b.want("parallel", "and now?", "heard: and now?")
		b.keeps()
	}
	b.wantOf("pictures", func() {
		b.api.Private(ann).Post(botapi.Post{From: ann, Extra: photo(b.api.AddFile(aPicture(t)), "what is this?")})
	}, "heard: what is this?")
	if rs := b.s.Requests(); len(rs) > 0 && b.m.of(p, "pictures") == "yes" {
		_, at := rs[len(rs)-1].Last()
		switch n := rs[len(rs)-1].Messages[at].Pictures; {
		case !p.Sees && n == 0:
			m.set(p, "pictures", "it sees none")
		case p.Sees && n == 1:
		default:
			b.judge("pictures", fmt.Errorf("the request has %d pictures", n), nil)
		}
	}
	_ = d
}

// keeps: what the provider attached to its calls came back. That it came back
// unchanged is a rule of the provider's.
func (b *booth) keeps() {
	b.t.Helper()
	if !b.s.Attached() {
		b.m.set(b.s.Provider, "reasoning kept", "it attaches none")
		return
	}
	var err error
	if !slices.ContainsFunc(b.s.Requests(), func(r *providers.Request) bool {
		return r.Refused == "" && slices.ContainsFunc(r.Messages, kept)
	}) {
		err = errors.New("no request brought back what the provider attached")
	}
	b.judge("reasoning kept", err, nil)
}

// summarises: a summary is made, and the conversation goes on with it.
func summarises(t *testing.T, m *matrix, p providers.Provider, preset string) {
	b := newBooth(t, m, p, "summary: {preset: "+preset+", trigger: {messages: 4}, keep: {n: 2}}")
	d := b.run()
	b.want("summary", "I saw three herons at the lake this morning.\ncall time", "heard: I saw three")
	b.want("summary", "And two herons at the lake in the evening.", "heard: And two")
	b.want("summary", "Please count the herons again.", "heard: Please")
	if !testkit.Poll(20*time.Second, func() bool { return strings.Contains(d.out.String(), "conversation summarised") }) {
		b.judge("summary", errors.New("no summary came in 20 seconds"), b.s.Refused())
		return
	}
	b.want("summary", "What comes next?", "heard: What comes next?")
	if rs := b.s.Requests(); len(rs) == 0 || !strings.Contains(rs[len(rs)-1].All(), "HEARD OF HERONS") {
		b.judge("summary", errors.New("the request after it has no summary"), nil)
	}
	b.want("summary", twoSteps, "heard: Count")
}

// restarts: the program is killed when a tool has answered and the model has
// not. Then the conversation moves to another provider.
func restarts(t *testing.T, m *matrix, p, next providers.Provider) {
	b := newBooth(t, m, p, "")
	d := b.run()
	held := make(chan struct{})
	var reached sync.Once
	begun := make(chan struct{})
	b.s.Answer(func(r *providers.Request) providers.Answer {
		a := providers.Obey(r)
		if len(a.Calls) == 0 {
			reached.Do(func() { close(begun) })
			a.Hold = held
		}
		return a
	})
	b.wantOf("restart", func() {
		b.tell(ann, twoSteps)
		if !testkit.Poll(20*time.Second, func() bool {
			select {
			case <-begun:
				return true
			default:
				return len(finished(b.api.FromBot(ann.ID))) > 0
			}
		}) || len(finished(b.api.FromBot(ann.ID))) > 0 {
			return // the answer, or that none comes, says why
		}
		d.over = true
		_ = d.cmd.Process.Kill()
		<-d.ended
		b.answers()
		d = b.run()
	}, "heard: Count the herons.")
	if err := b.repeated(); err != nil {
		b.judge("restart", err, nil)
	}
	d.end(syscall.SIGTERM)
	b.settle(providers.Serve(t, next), "")
	d = b.run()
	b.want("change", "hello to you", "heard: hello to you")
	b.want("change", elsewhere(twoSteps), "heard: Count the herons.")
	b.want("change", elsewhere(twoCalls), "heard: Count them again.")
	for i, r := range b.s.Requests() {
		if i == 0 && slices.ContainsFunc(r.Messages, kept) {
			b.judge("change", fmt.Errorf("its first request has what another provider attached: %s", r.Body), nil)
		}
	}
	_ = d
}

// kept reports whether a message has something that a provider attached.
func kept(m providers.Message) bool {
	return m.Seal != "" || m.Reasoning != nil && *m.Reasoning != "" ||
		slices.ContainsFunc(m.Calls, func(c providers.Call) bool { return c.Seal != "" })
}

// repeated says whether the newest request has a call twice.
func (b *booth) repeated() error {
	rs := b.s.Requests()
	if len(rs) == 0 {
		return errors.New("no request came")
	}
	ids := map[string]bool{}
	for _, msg := range rs[len(rs)-1].Messages {
		for _, c := range msg.Calls {
			if ids[c.ID] {
				return fmt.Errorf("call %s was made twice", c.ID)
			}
			ids[c.ID] = true
		}
	}
	return nil
}

var cutCounted = regexp.MustCompile(`(?m)^dragoman_model_silent_cuts_total\{model="qwen3:8b"\} [1-9]`)

// A server that cuts requests without a word is noticed, and the conversation
// is summarised before more of it is lost.
func TestSilentCutter(t *testing.T) {
	b := newBooth(t, &matrix{cells: map[string]string{}}, providers.SilentCutter(), "")
	d := b.run()
	for n := range 10 {
		b.want("plain", fmt.Sprintf("herons, day %d\n%s", n, strings.Repeat("three herons at the lake ", 150)), fmt.Sprintf("heard: herons, day %d", n))
	}
	testkit.Eventually(t, "a summary", func() bool { return strings.Contains(d.out.String(), "conversation summarised") })
	if _, metrics := d.read("/metrics"); !cutCounted.MatchString(metrics) {
		t.Errorf("the metrics do not count it:\n%s", metrics)
	}
}
