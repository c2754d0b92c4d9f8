package app_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// usual is the set of families that a scrape of any daemon has after one turn with a tool.
var usual = []string{
	"turn_phase_seconds", "model_first_token_seconds", "store_seconds", "store_errors_total", "leases_held", "leases_taken_total",
	"api_requests_total", "api_request_seconds", "http_requests_total", "stream_cut_total", "stream_listeners", "outbox_oldest_seconds",
	"model_tokens_total", "deliveries_total", "tool_call_seconds",
}

// private matches what no label may hold.
var private = regexp.MustCompile(`secret|Ann|web:`)

// parsed reads a scrape as strictly as Prometheus does.
func parsed(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("the scrape cannot be parsed: %v", err)
	}
	return families
}

// toolTurn runs a daemon and a turn that calls a tool.
func toolTurn(t *testing.T, more string) *running {
	t.Helper()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(r *agenttest.Request) agenttest.Reply {
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			return agenttest.TextReply("It is late.")
		}
		return agenttest.ToolReply(agenttest.ToolDelta{Index: agenttest.At(0), ID: "a", Name: "time", Arguments: "{}"})
	}})
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, context_window: 50000}\n"+more).run()
	r.ask(r.page("secret-room"), "what time is it, says Ann?")
	if _, err := api.ListJobs.Call(t.Context(), r.admin, api.JobQuery{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// The real daemon's scrape keeps to the conventions of Prometheus, has each part of a turn,
// and names nobody.
func TestScrapeConventions(t *testing.T) {
	t.Parallel()
	r := toolTurn(t, "")
	r.expect("", map[string]float64{
		`turn_phase_seconds_count{phase="wait"}`:                       1,
		`turn_phase_seconds_count{phase="model"}`:                      2,
		`turn_phase_seconds_count{phase="tools"}`:                      1,
		`turn_phase_seconds_count{phase="delivery"}`:                   1,
		`model_first_token_seconds_count{model="main"}`:                1,
		`store_seconds_count{operation="accept"}`:                      1,
		`store_seconds_count{operation="commit turn"}`:                 1,
		`store_errors_total{operation="commit turn"}`:                  0,
		`leases_held{lease="owners"}`:                                  1,
		`api_requests_total{code="200",route="GET /api/v1/jobs"}`:      1,
		`api_request_seconds_count{route="GET /api/v1/jobs"}`:          1,
		`http_requests_total{code="200",route="GET /api/chat/events"}`: -1, // it lasts
	})
	page := r.scrape("")
	families := parsed(t, page)
	for _, name := range usual {
		if families["dragoman_"+name] == nil {
			t.Errorf("no dragoman_%s", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	series := 0
	for name, family := range families {
		series += len(family.Metric)
		for _, m := range family.Metric {
			if i := slices.IndexFunc(m.Label, func(l *dto.LabelPair) bool {
				return private.MatchString(l.GetValue())
			}); i >= 0 {
				t.Errorf("%s has the label %s=%q", name, m.Label[i].GetName(), m.Label[i].GetValue())
			}
		}
	}
	if series > 400 {
		t.Errorf("%d series after one turn", series)
	}
}

// Prometheus' own tool has nothing to say against the scrape.
func TestScrapePromtool(t *testing.T) {
	t.Parallel()
	promtool := testkit.Need(t, "promtool")
	r := toolTurn(t, "")
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(r.scrape(""))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
