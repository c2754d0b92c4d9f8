package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/sessions/sqlite"
)

const pageToken = "correct-horse-battery"

// scrape reads /metrics as Prometheus does, with a token, or with the session that a
// one-time link began.
func (r *running) scrape(token string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.status().Listen+"/metrics", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token == "" {
		req.AddCookie(r.linked())
	} else {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(body)
}

// metric is the value of one series, or -1.
func metric(page, series string) float64 {
	found := regexp.MustCompile(`(?m)^dragoman_` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return -1
	}
	return v
}

// expect scrapes until every series has its value.
func (r *running) expect(token string, want map[string]float64) {
	r.t.Helper()
	for series, value := range want {
		page := ""
		r.until(series, func() bool {
			page = r.scrape(token)
			return metric(page, series) == value
		})
	}
}

// Of messages commands are told apart, and of calls the models that the
// configuration names; conversations can name any other.
func TestScrapeMessagesAndModels(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "cheap", "odd"}})
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, context_window: 50000, others: [{name: cheap}]}").run()
	page := r.page("")
	r.ask(page, "hello")
	r.ask(page, "/help")
	for _, name := range []string{"cheap", "odd"} {
		if _, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: channels.MustKey("web:default"), Model: &name}); err != nil {
			t.Fatal(err)
		}
		r.ask(page, "hello, "+name)
	}
	r.expect("", map[string]float64{
		`messages_accepted_total{channel="web",outcome="queued"}`:  3,
		`messages_accepted_total{channel="web",outcome="command"}`: 1,
		`messages_accepted_total{channel="web",outcome="done"}`:    -1,
		`model_calls_total{model="main",outcome="ok"}`:             1,
		`model_calls_total{model="cheap",outcome="ok"}`:            1,
		`model_calls_total{model="other",outcome="ok"}`:            1,
		`model_call_seconds_count{model="other"}`:                  1,
	})
	if got := r.scrape(""); strings.Contains(got, "odd") || metric(got, `model_tokens_total{kind="input",model="cheap"}`) <= 0 {
		t.Errorf("a name that nobody configured is a label, or cheap's tokens are not counted:\n%s", got)
	}
}

// Without configured prices a call costs what the provider says.
func TestScrapeCostOfProvider(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(*agenttest.Request) agenttest.Reply {
		return agenttest.RawReply(`data: {"choices":[{"index":0,"delta":{"content":"well"},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"cost":0.25}}` + "\n\ndata: [DONE]\n\n")
	}})
	for prices, want := range map[string]float64{"": 0.25, ", prices: {output: 1000000}": 3} {
		r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, context_window: 50000"+prices+"}").run()
		r.ask(r.page(""), "hello")
		r.expect("", map[string]float64{`model_cost_total{model="main"}`: want})
		r.stop()
	}
}

// What came due while no daemon ran counts as missed, with its number.
func TestScrapeJobs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "heartbeat:\n  jobs: [{name: hourly, every: 1h, target: \"web:default\", prompt: 'say: good hour'}]")
	if err := os.Mkdir(p.state(""), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), p.state("dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Plan(t.Context(), "hourly", time.Time{}, time.Now().Add(-210*time.Minute).Truncate(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.run().expect("", map[string]float64{
		`heartbeats_total{job="hourly",outcome="missed"}`:  3,
		`heartbeats_total{job="hourly",outcome="ran"}`:     1,
		`heartbeats_total{job="hourly",outcome="skipped"}`: 0,
	})
}

func TestScrapeLogins(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "http: {listen: \"127.0.0.1:0\", token: "+pageToken+"}").run()
	r.expect(pageToken, map[string]float64{`login_failures_total{reason="wrong_token"}`: 0})
	for range 8 {
		r.scrape("wrong-" + pageToken)
	}
	r.expect(pageToken, map[string]float64{
		`login_failures_total{reason="wrong_token"}`: 6, `login_failures_total{reason="too_many"}`: 2,
	})
}

func TestScrapeSizes(t *testing.T) {
	t.Parallel()
	for _, kind := range config.FileStores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "store: {type: "+kind+"}")
			r := p.run()
			r.ask(r.page(""), "hello")
			if err := os.WriteFile(p.state("media/tmp/part"), make([]byte, 1234), 0o600); err != nil {
				t.Fatal(err)
			}
			got := r.scrape("")
			if n := metric(got, "media_bytes"); n != 1234 {
				t.Errorf("media_bytes = %v, want 1234", n)
			}
			if n := metric(got, "store_bytes"); n <= 0 {
				t.Errorf("store_bytes = %v", n)
			}
		})
	}
}

// A hook that does not answer has a backlog, and it is seen.
func TestScrapeHooks(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	open := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(open) })
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		told.Add(1)
		<-open
	}))
	defer hook.Close()
	defer letGo()
	r := newPlace(t, "hooks: [{on: [turn_done], url: '"+hook.URL+"/secret'}]").run()
	series := `hook_waiting{hook="hooks[0] ` + strings.TrimPrefix(hook.URL, "http://") + `"}`
	for _, room := range []string{"a", "b", "c"} {
		r.ask(r.page(room), "hello")
	}
	r.expect("", map[string]float64{series: 3})
	letGo()
	r.expect("", map[string]float64{series: 0, `hook_events_total{event="turn_done",outcome="ok"}`: 3})
	if told.Load() != 3 {
		t.Errorf("the hook was told %d times, want 3", told.Load())
	}
}
