package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/window"
	"dragoman/internal/config"
)

// Every preset can be named, is what its table says, and its effective form
// loads as the same again.
func TestPresets(t *testing.T) {
	if got := load1(t, "").Summary.Compaction; !cmp.Equal(got, window.Presets["dragoman"]) {
		t.Errorf("the default is %+v, want the preset dragoman", got)
	}
	for name, want := range window.Presets {
		t.Run(name, func(t *testing.T) {
			c := load1(t, "summary: {preset: "+name+"}\n")
			if diff := cmp.Diff(want, c.Summary.Compaction); diff != "" {
				t.Errorf("the configured preset (-want +got):\n%s", diff)
			}
			// Whatever turns a trigger off, the effective form says so.
			for key, n := range map[string]window.Threshold{"tokens_percent": want.Trigger.TokensPercent, "messages": want.Trigger.Messages} {
				line := fmt.Sprintf("    %s: %d\n", key, n)
				if n == 0 {
					line = "    " + key + ": none\n"
				}
				if !strings.Contains(c.Effective(), line) {
					t.Errorf("Effective lacks %q:\n%s", line, c.Effective())
				}
			}
			again := load1(t, c.Effective())
			_, first, _ := strings.Cut(c.Effective(), "\n") // behind the line with the file
			_, second, _ := strings.Cut(again.Effective(), "\n")
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("its effective form has another one (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.Summary, again.Summary, cmp.AllowUnexported(c.Summary.Model.APIKey)); diff != "" {
				t.Errorf("its effective form loads as (-want +got):\n%s", diff)
			}
		})
	}
}

// What is written wins over the preset, also where it stands before it.
func TestPresetWithOverrides(t *testing.T) {
	c := load1(t, `
summary:
  keep: {n: 6}
  temperature: 0
  trigger: {messages: 30}
  max_chars: 500
  preset: molf
  model: {base_url: "http://127.0.0.1:1/v1", name: small, api_key: "${KEY}"}
`, "KEY=canary-key")
	zero := 0.0
	want := window.Presets["molf"]
	want.Keep.N = 6
	want.Trigger.Messages = 30
	want.MaxChars = 500
	want.Temperature = &zero
	if diff := cmp.Diff(want, c.Summary.Compaction); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got := c.Effective()
	for _, part := range []string{"preset: molf", "tokens_percent: 80", "messages: 30", "unit: turns", "n: 6", "temperature: 0", "api_key: <secret>", "name: small"} {
		if !strings.Contains(got, part) {
			t.Errorf("Effective lacks %s:\n%s", part, got)
		}
	}
	if strings.Contains(got, "canary") {
		t.Error("Effective shows the key")
	}
}

// A preset's trigger can be taken away by a word. The effective form says so
// and loads as the same again.
func TestPresetWithoutATrigger(t *testing.T) {
	for key, change := range map[string]func(*window.Trigger){
		"tokens_percent": func(t *window.Trigger) { t.TokensPercent = 0 },
		"messages":       func(t *window.Trigger) { t.Messages = 0 },
	} {
		c := load1(t, "summary: {trigger: {"+key+": none}}\n")
		want := window.Presets["dragoman"]
		change(&want.Trigger)
		if diff := cmp.Diff(want, c.Summary.Compaction); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", key, diff)
		}
		if !strings.Contains(c.Effective(), key+": none\n") {
			t.Errorf("Effective lacks %s: none:\n%s", key, c.Effective())
		}
		if diff := cmp.Diff(want, load1(t, c.Effective()).Summary.Compaction); diff != "" {
			t.Errorf("its effective form loads as (-want +got):\n%s", diff)
		}
	}
	load1(t, "summary: {when: off, trigger: {messages: none, tokens_percent: none}}\n")
	// What is kept has nothing to be measured by any more.
	load1(t, "summary: {trigger: {messages: none}, keep: {n: 200}}\n")
}

// load1 loads text, which must be right.
func load1(t *testing.T, text string, env ...string) *config.Config {
	t.Helper()
	c, err := load(t, text, env...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A preset says how many messages are shown at most; the effective form has it.
func TestMaxMessages(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "summary: {preset: terrarium}\n": 20, "summary: {preset: terrarium, keep: {max_messages: 30}}\n": 30,
		"summary: {preset: terrarium, keep: {max_messages: 0}}\n": 0, "summary: {keep: {max_messages: 40}}\n": 40,
		"summary: {keep: {max_messages: 16}}\n": 16, "summary: {preset: molf, keep: {max_messages: 12}}\n": 12,
		"summary: {keep: {max_messages: 6, n: 1, unit: turns}}\n": 6, "summary: {keep: {max_messages: 6, n: 2}}\n": 6,
		// The ceiling starts summaries too.
		"summary: {preset: terrarium, trigger: {messages: none}}\n":          20,
		"summary: {preset: terrarium, when: ask, keep: {max_messages: 0}}\n": 0,
	} {
		c := load1(t, text)
		if got := c.Summary.Keep.MaxMessages; got != want {
			t.Errorf("%sMaxMessages = %d, want %d", text, got, want)
		}
		if again := load1(t, c.Effective()); again.Summary.Keep != c.Summary.Keep || !strings.Contains(c.Effective(), fmt.Sprintf("max_messages: %d\n", want)) {
			t.Errorf("%sEffective does not say so:\n%s", text, c.Effective())
		}
	}
	for text, want := range map[string]string{
		"summary: {keep: {max_messages: 12}}\n":               "summary.keep.n: keeps at least 12 messages, too close to summary.keep.max_messages",
		"summary: {keep: {max_messages: 15}}\n":               "write at most 11, or a max_messages of at least 16",
		"summary: {preset: molf, keep: {max_messages: 8}}\n":  "summary.keep.n: keeps at least 8 messages",
		"summary: {preset: molf, keep: {max_messages: 11}}\n": "write at most 3, or a max_messages of at least 12",
		"summary: {keep: {max_messages: 5}}\n":                "summary.keep.max_messages: 5 is out of range",
		"summary: {keep: {max_messages: -1}}\n":               "summary.keep.max_messages: -1 is out of range",
		"summary: {preset: terrarium, when: ask}\n":           "summary.keep.max_messages: summarises without asking the person",

		"summary: {preset: terrarium, keep: {max_messages: 0}, trigger: {messages: none}}\n": "summary.trigger: nothing starts a summary",
	} {
		_, err := load(t, text)
		if got := fmt.Sprint(problems(t, err)); !strings.Contains(got, want) {
			t.Errorf("%sproblems = %s, want %s", text, got, want)
		}
	}
}

// A trigger that is reached and then does not count is hardly meant.
func TestMinMessagesAboveTheTrigger(t *testing.T) {
	for text, warned := range map[string]bool{
		"summary: {trigger: {messages: 80, min_messages: 500}}\n":   true,
		"summary: {trigger: {min_messages: 81}}\n":                  true, // the preset has 80
		"summary: {trigger: {messages: 80, min_messages: 80}}\n":    false,
		"summary: {trigger: {messages: none, min_messages: 500}}\n": false,
		"summary: {preset: molf, trigger: {min_messages: 500}}\n":   false,
		"summary: {when: every_turn, trigger: {min_messages: 500}}": false,
	} {
		got := fmt.Sprint(load1(t, text).Warnings())
		if strings.Contains(got, "summary.trigger.min_messages") != warned || strings.Contains(got, "summary.trigger.messages") != warned {
			t.Errorf("%swarnings = %s, want one about both keys: %v", text, got, warned)
		}
	}
}
