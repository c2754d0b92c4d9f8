package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/window"
)

func TestPruneRules(t *testing.T) {
	if diff := cmp.Diff(window.DefaultPrune(), load1(t, "").Prune.Rules()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	got := load1(t, `
model: {encoding: o200k_base}
prune: {enabled: false, soft_percent: 40, hard_percent: 60, head: 10, tail: 20, min_result: 4000, keep_assistants: 0, exempt: []}
`)
	want := window.Prune{Off: true, SoftPercent: 40, HardPercent: 60, Head: 10, Tail: 20, MinResult: 4000, Exempt: []string{}}
	if diff := cmp.Diff(want, got.Prune.Rules()); diff != "" {
		t.Errorf("Rules (-want +got):\n%s", diff)
	}
	if got.Model.Encoding != "o200k_base" {
		t.Errorf("Encoding = %q", got.Model.Encoding)
	}
}

// Every preset can be named, what is written wins over it, and the effective
// form shows the numbers and loads as the same again.
func TestPrunePresets(t *testing.T) {
	for name, want := range window.PrunePresets {
		c := load1(t, "prune: {preset: "+name+"}\n")
		if diff := cmp.Diff(want, c.Prune.Rules()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.Prune, load1(t, c.Effective()).Prune); diff != "" {
			t.Errorf("%s: its effective form loads as (-want +got):\n%s", name, diff)
		}
	}
	c := load1(t, "prune: {min_total: 9000, exempt: [], preset: openclaw}\n")
	want := window.PrunePresets["openclaw"]
	want.MinTotal, want.Exempt = 9000, []string{}
	if diff := cmp.Diff(want, c.Prune.Rules()); diff != "" {
		t.Errorf("with overrides (-want +got):\n%s", diff)
	}
	for _, part := range []string{"preset: openclaw", "min_result: 4000", "min_total: 9000"} {
		if !strings.Contains(c.Effective(), part) {
			t.Errorf("Effective lacks %s:\n%s", part, c.Effective())
		}
	}
}

func TestPruneProblems(t *testing.T) {
	for text, want := range map[string]string{
		"model: {encoding: o200k}\n":                        `model.encoding: "o200k" is not a known value; write cl100k_base or o200k_base`,
		"prune: {soft_percent: 0}\n":                        "prune.soft_percent: 0 is out of range; write 1 to 100",
		"prune: {hard_percent: 20}\n":                       "prune.hard_percent: is less than prune.soft_percent, so results would never be shortened, only replaced; write 30 or more",
		"prune: {min_result: 3000}\n":                       "prune.min_result: is not more than prune.head and prune.tail together, so there is nothing to leave out; write more than 3000",
		"prune: {keep_assistants: -1}\n":                    "prune.keep_assistants: -1 is out of range; write 0 to 1000",
		"prune: {exempt: [\" \"]}\n":                        "prune.exempt[0]: is empty; write a name",
		"prune: {min_total: -1}\n":                          "prune.min_total: -1 is out of range; write 0 to 100000000",
		"prune: {preset: claw}\n":                           `prune.preset: "claw" is not a known value; write dragoman, openclaw, sentinel or sparing`,
		"prune: {preset: openclaw, head: 3000}\n":           "prune.min_result: is not more than prune.head and prune.tail together, so there is nothing to leave out; write more than 4500",
		"prune: {off: true}\n":                              "prune.off: unknown key",
		"prune: {head: 100000000, min_result: 100000000}\n": "prune.head: 100000000 is out of range; write 0 to 1000000",
		"prune: {soft_percent: 99, hard_percent: 101}\n":    "prune.hard_percent: 101 is out of range; write 1 to 100",
		"prune: {head: 300, tail: 300, min_result: 499}\n":  "prune.min_result: 499 is out of range; write 500 to 100000000",
	} {
		_, err := load(t, text)
		found := false
		got := problems(t, err)
		for _, p := range got {
			found = found || len(p) >= len(want)+2 && p[2:2+len(want)] == want
		}
		if !found {
			t.Errorf("%sproblems = %q, want %q", text, got, want)
		}
	}
}

// The preset of summaries brings the view that goes with it, unless one is
// named; what is written counts either way.
func TestPrunePresetOfSummaries(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "dragoman",
		"summary: {preset: molf}\n":      "sparing", // case 36: 49,999 characters stay untouched
		"summary: {preset: sentinel}\n":  "sentinel",
		"summary: {preset: picoclaw}\n":  "dragoman",
		"summary: {preset: terrarium}\n": "dragoman",
		"summary: {preset: molf}\nprune: {preset: dragoman}\n": "dragoman",
		"summary: {preset: molf}\nprune: {preset: openclaw}\n": "openclaw",
	} {
		c := load1(t, text)
		if diff := cmp.Diff(window.PrunePresets[want], c.Prune.Rules()); c.Prune.Preset != want || diff != "" {
			t.Errorf("%sthe preset is %s, want %s with (-want +got):\n%s", text, c.Prune.Preset, want, diff)
		}
		if diff := cmp.Diff(c.Prune, load1(t, c.Effective()).Prune); diff != "" {
			t.Errorf("%sits effective form loads as (-want +got):\n%s", text, diff)
		}
	}
	c := load1(t, "summary: {preset: molf}\nprune: {min_result: 20000}\n")
	if got := c.Prune.Rules(); got.MinResult != 20_000 || c.Prune.Preset != "sparing" {
		t.Errorf("with its own number: %+v, want sparing from 20000 on", got)
	}
}

// TestExemptNames: a name that no tool has is told, and refuses nothing.
func TestExemptNames(t *testing.T) {
	for text, want := range map[string]string{
		"prune: {exempt: [time]}\n":                   "",
		"prune: {exempt: [skill]}\n":                  "",
		"prune: {exempt: [time, red_file, manual]}\n": `prune.exempt[1]: no tool is called "red_file"; did you mean "read_file"?` + "\n" + `prune.exempt[2]: no tool is called "manual"; remove it`,
	} {
		var got []string
		for _, w := range load1(t, text).Warnings() {
			got = append(got, w.Path+": "+w.What+"; "+w.Want)
		}
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%swarnings (-want +got):\n%s", text, diff)
		}
	}
}

// The preset of summaries brings a view that is called like it, unless one is
// named.
func TestFailedCalls(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "summary: {preset: sentinel}\n": true, "summary: {preset: picoclaw}\n": false, "prune: {preset: sentinel}\n": true,
		"summary: {preset: sentinel}\nprune: {preset: dragoman}\n": false, "summary: {preset: sentinel}\nprune: {failed_calls: false}\n": false,
		"prune: {failed_calls: true}\n": true,
	} {
		c := load1(t, text)
		if got := c.Prune.Rules().FailedCalls; got != want {
			t.Errorf("%sFailedCalls = %v, want %v", text, got, want)
		}
		if diff := cmp.Diff(c.Prune, load1(t, c.Effective()).Prune); diff != "" || !strings.Contains(c.Effective(), "failed_calls: ") {
			t.Errorf("%sits effective form loads as (-want +got):\n%s", text, diff)
		}
	}
}
