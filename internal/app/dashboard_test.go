package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"dragoman/internal/testkit"
)

// dashboard is what this test reads of docs/grafana.json.
type dashboard struct {
	Panels []panel `json:"panels"`
}

// panel is one of a dashboard's.
type panel struct {
	ID      int     `json:"id"`
	Title   string  `json:"title"`
	Type    string  `json:"type"`
	GridPos gridPos `json:"gridPos"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

// gridPos is where a panel is, of 24 columns.
type gridPos struct{ X, Y, W, H int }

// alertRules is what this test reads of docs/alerts.yaml.
type alertRules struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

func loadDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func loadAlerts(t *testing.T) (a alertRules) {
	t.Helper()
	text, err := os.ReadFile("../../docs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// onlyPostgres are metrics that a daemon without a database does not have.
var onlyPostgres = regexp.MustCompile(`^dragoman_pool_`)

// Everything that the dashboard and the alerts ask for is in the scrape of a daemon.
func TestDashboardAndAlertsAskForWhatIsThere(t *testing.T) {
	t.Parallel()
	exprs := map[string]string{}
	for _, p := range loadDashboard(t).Panels {
		for _, target := range p.Targets {
			exprs["panel "+p.Title+": "+target.Expr] = target.Expr
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
	}
	for _, g := range loadAlerts(t).Groups {
		for _, r := range g.Rules {
			exprs["alert "+r.Alert] = r.Expr
			if r.Annotations["summary"] == "" || r.Annotations["what_to_do"] == "" {
				t.Errorf("the alert %s does not say what it is and what to do", r.Alert)
			}
		}
	}
	r := toolTurn(t, "heartbeat:\n  jobs: [{name: hourly, every: 1h, target: \"web:default\", prompt: 'say: good hour'}]")
	families := parsed(t, r.scrape(""))
	asked := regexp.MustCompile(`\b(?:dragoman|process|go)_[a-z_]+`)
	suffix := regexp.MustCompile(`_(?:bucket|sum|count)$`)
	for where, expr := range exprs {
		for _, name := range asked.FindAllString(expr, -1) {
			known := families[name] != nil || families[suffix.ReplaceAllString(name, "")] != nil
			if !known && !onlyPostgres.MatchString(name) {
				t.Errorf("%s: no scrape has %s", where, name)
			}
		}
	}
	if len(exprs) < 40 {
		t.Errorf("only %d expressions were looked at", len(exprs))
	}
}

// No panel hides another, and none sticks out.
func TestDashboardLayout(t *testing.T) {
	t.Parallel()
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range loadDashboard(t).Panels {
		if ids[p.ID] {
			t.Errorf("the id %d is there twice", p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W < 1 || p.GridPos.H < 1 {
			t.Errorf("%q is at %+v", p.Title, p.GridPos)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, used := taken[at]; used {
					t.Fatalf("%q is over %q", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
	}
}

// Prometheus' own tool reads the alerts and each expression of the dashboard, and the
// alerts fire when they must.
func TestAlertsPromtool(t *testing.T) {
	t.Parallel()
	promtool := testkit.Need(t, "promtool")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("check", "rules", "../../docs/alerts.yaml")
	run("test", "rules", "testdata/alerts.yaml")

	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, p := range loadDashboard(t).Panels {
		for _, target := range p.Targets {
			rules = append(rules, rule{"panel:seen", strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run("check", "rules", path)
}
