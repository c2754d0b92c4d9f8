package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The words of a summariser's template are not those of the configuration:
// its placeholders are no variables, and they survive check --effective.
func TestSummaryPrompts(t *testing.T) {
	const text = `
summary:
  format: json
  prompt: "Keep ${WHAT}."
  user_prompt: |
    Known: ${previousSummary}
    Since: ${sessionMessages} $${x} $$
  schema: |
    {"type": "object", "properties": {"a": {"pattern": "^a$$"}}, "$defs": {}}
`
	c := load1(t, text, "WHAT=prices", "sessionMessages=canary")
	got := c.Summary.Compaction
	if want := "Keep prices."; got.Prompt != want {
		t.Errorf("Prompt = %q, want %q", got.Prompt, want)
	}
	if want := "Known: ${previousSummary}\nSince: ${sessionMessages} $${x} $$\n"; got.UserPrompt != want {
		t.Errorf("UserPrompt = %q, want %q", got.UserPrompt, want)
	}
	if want := `{"type": "object", "properties": {"a": {"pattern": "^a$$"}}, "$defs": {}}` + "\n"; got.Schema != want {
		t.Errorf("Schema = %q, want %q", got.Schema, want)
	}
	if diff := cmp.Diff(got, load1(t, c.Effective()).Summary.Compaction); diff != "" {
		t.Errorf("the effective form loads as (-want +got):\n%s", diff)
	}
}

// Both may stand in files, whose content is taken as it is.
func TestSummaryPromptsFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	prompt := write("prompt.txt", "Since: ${sessionMessages}\n")
	schema := write("schema.json", `{"type": "object", "$comment": "${x}"}`)
	c := load1(t, "summary: {format: json, user_prompt: \"${file:"+prompt+"}\", schema: \"${file:"+schema+"}\"}\n")
	if got, want := c.Summary.UserPrompt, "Since: ${sessionMessages}"; got != want {
		t.Errorf("UserPrompt = %q, want %q", got, want)
	}
	if got, want := c.Summary.Schema, `{"type": "object", "$comment": "${x}"}`; got != want {
		t.Errorf("Schema = %q, want %q", got, want)
	}
}

func TestSummaryPromptProblems(t *testing.T) {
	for text, want := range map[string]string{
		"user_prompt: Sum up.":                                 "summary.user_prompt: lacks ${sessionMessages}, so the model would not see what to summarise; write it where the messages should go",
		`user_prompt: "${sessionMessages} ${name}"`:            "summary.user_prompt: has an unknown placeholder, ${name}; the placeholders are ${sessionMessages} and ${previousSummary}, and $${ is a plain ${",
		`user_prompt: "${sessionMessages"`:                     "summary.user_prompt: has a ${ without its };",
		`user_prompt: "${file:/nowhere/at/all}"`:               "summary.user_prompt: the file /nowhere/at/all",
		`user_prompt: "${file:a} ${sessionMessages}"`:          "summary.user_prompt: has an unknown placeholder, ${file:a};",
		"format: json\n  schema: 'type: object'":               "summary.schema: is not JSON (in its line 1); write a JSON Schema, like",
		`format: json` + "\n  schema: '{\"type\": \"strin\"}'": "summary.schema: is not a schema of an object; write one with \"type\": \"object\"",
		`format: json` + "\n  schema: '{\"required\": true}'":  "summary.schema: is not a valid JSON Schema: a bool is not a required; see json-schema.org",
		"schema: '{}'": `summary.schema: works only with format json, but summary.format is "sections"; write format: json, or remove the schema`,
	} {
		_, err := load(t, "summary:\n  "+text+"\n")
		got := strings.Join(problems(t, err), "\n")
		if !strings.Contains(got, " "+want) {
			t.Errorf("%.80s: problems = %q, want %q", text, got, want)
		}
	}
}

// Each chat gets the prompts of its channel, its kind and its id, with its names
// filled in.
func TestPromptsOfChats(t *testing.T) {
	const text = `
channels:
  libera:
    type: irc
    server: irc.example.org:6697
    nick: helper
    allow: ["*"]
    system_prompt: "You are {nick} on {network}. JSON is {\"a\": {}}, and {{nick}} is plain."
    prompts:
      private: You talk to one person.
      group: You are in {channel} ({chat}).
      "#go*": Only Go.
      "#Go-Nuts": Be funny.
  telegram: {token: "1:abcdefgh", allow: [5], prompts: {"-100*": "{network} {channel} {nick}"}}
`
	c := load1(t, text)
	const all = `You are helper on irc.example.org. JSON is {"a": {}}, and {nick} is plain.`
	for _, test := range []struct {
		channel, chat string
		private       bool
		want          []string
	}{
		{"libera", "alice", true, []string{all, "You talk to one person."}},
		{"libera", "#c", false, []string{all, "You are in #c (#c)."}},
		{"libera", "#go-nuts", false, []string{all, "You are in #go-nuts (#go-nuts).", "Only Go.", "Be funny."}},
		{"telegram", "-100123:7", false, []string{"Telegram -100123:7 Dragoman"}},
		{"telegram", "5", true, nil},
		{"web", "default", true, nil},
	} {
		if got, want := c.Channels[test.channel].System(test.chat, test.private), strings.Join(test.want, "\n\n"); got != want {
			t.Errorf("%s:%s gets %q, want %q", test.channel, test.chat, got, want)
		}
	}
	if diff := cmp.Diff([]string{
		"libera, every chat: " + all,
		"libera, private chats: You talk to one person.",
		"libera, groups: You are in {channel} ({chat}).",
		"libera, #go*: Only Go.",
		"libera, #Go-Nuts: Be funny.",
		"telegram, -100*: Telegram {channel} Dragoman",
	}, c.Prompted()); diff != "" {
		t.Errorf("Prompted (-want +got):\n%s", diff)
	}
	again := load1(t, strings.ReplaceAll(c.Effective(), "<secret>", "1:abcdefgh"))
	if diff := cmp.Diff(c.Channels["libera"].Prompts, again.Channels["libera"].Prompts); diff != "" {
		t.Errorf("the effective form loads as (-want +got):\n%s", diff)
	}
}

// Where placeholders are not filled in, that is said.
func TestPlaceholdersOfTheAgentsPrompt(t *testing.T) {
	c := load1(t, "agent: {system_prompt: 'You are in {channel}.'}\n")
	if w := c.Warnings(); len(w) != 1 || w[0].Path != "agent.system_prompt" {
		t.Errorf("warnings %v, want one of agent.system_prompt", w)
	}
}

func TestModelsOfChats(t *testing.T) {
	const server = "model: {base_url: http://127.0.0.1:1/v1, name: a}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"a kind":   {server + "channels: {web: {models: {group: b}}}", `channels.web.models.group: is not a chat`},
		"nothing":  {server + "channels: {web: {models: {tea: ' '}}}", "is empty; write the model's name"},
		"Telegram": {server + "channels: {telegram: {token: '1000:TESTTESTTESTTESTTESTTESTTESTTESTTEST', models: {ann: b}}}", "is not a chat"},
	} {
		if _, err := load(t, tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Load = %v, want %q", name, err, tt.want)
		}
	}
	c, err := load(t, server+`channels: {web: {models: {"*": small, "te*": mid, "tea": " large "}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for chat, want := range map[string]string{"tea": "large", "Tent": "mid", "coffee": "small"} {
		if got := c.Channels["web"].Model(chat); got != want {
			t.Errorf("Model(%q) = %q, want %q", chat, got, want)
		}
	}
}
