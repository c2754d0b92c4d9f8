package config_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/app"
	"dragoman/internal/config"

	"github.com/google/go-cmp/cmp"
)

// problems returns "line path: what; want" of every problem.
func problems(t *testing.T, err error) []string {
	t.Helper()
	var ps config.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("Load = %v, want Problems", err)
	}
	var got []string
	for _, p := range ps {
		got = append(got, fmt.Sprintf("%d %s", p.Line, config.Problem{Path: p.Path, What: p.What, Want: p.Want}))
	}
	return got
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(t, `agnet: {max_steps: 3}
max_steps: 4
agent: {max_steps: ten, tools: [red_file, time, time]}
agent: {}
queue: {mode: colect, max_message_bytes: lots}
http: {listen: "0.0.0.0:8787"}
model:
  idle_timeout: 60
  api_key: [a, b]
  temperature: hot
channels:
  telegram: {allowed: [1], token: "1:abcdefgh", allow: ["@alice", -100123, 1087968824]}
  Bad Name: {type: irc}
  semaphore: {}
  net: {type: smoke}
  irc: {server: "irc.example.org", nick: 7up, allow: ["alice", "mask:a!*@*"], channels: [go], sasl: {mechanism: external}}
heartbeat:
  jobs:
    - {name: a, target: "discord:1", prompt: x, every: 1h}
    - {name: a, prompt: x, target: nowhere, cron: "* * * * *", every: 1h, time_zone: Mars/Base}
`)
	want := []string{
		`1 agnet: unknown key; did you mean "agent"?`,
		`2 max_steps: unknown key; it belongs to agent`,
		`3 agent.max_steps: "ten" is not a whole number; write a whole number, like 10`,
		`3 agent.tools[0]: "red_file" is not a known value; did you mean "read_file"? write read_file or time`,
		`3 agent.tools[2]: appears twice; keep one`,
		`4 agent: this key appears twice, first in line 3; keep one`,
		`5 queue.mode: "colect" is not a known value; did you mean "collect"? write collect, each, steer or interrupt`,
		`5 queue.max_message_bytes: "lots" is not a size; write a size, like 4096 or 256KiB`,
		`8 model.idle_timeout: "60" is not a time span; write a time span, like 30s, 10m or 24h`,
		`9 model.api_key: expected text`,
		`10 model.temperature: "hot" is not a number; write a number, like 0.7`,
		`12 channels.telegram.allowed: unknown key; did you mean "allow"?`,
		`12 channels.telegram.allow[0]: "@alice" is a username; its owner can change it, and then somebody else can take it; write the numeric id (when the person sends /start to the bot, dragoman logs it), or set pairing: true`,
		`12 channels.telegram.allow[1]: "-100123" is a group; write chat:-100123`,
		`12 channels.telegram.allow[2]: "1087968824" means every anonymous administrator of every group; allow the group instead, like chat:-1001234567890`,
		`13 channels.(a key with unusual characters): a channel's name has 1 to 32 characters of a-z, 0-9, _ and -`,
		`14 channels.semaphore: has no type; add type: ` + typeNames(),
		`15 channels.net.type: is not a type that this version knows; write ` + typeNames(),
		`16 channels.irc.server: "irc.example.org" is not an address; write host:port, like irc.example.org:6697`,
		`16 channels.irc.nick: "7up" is not a valid nick; write letters, digits and -_[]{}|, not beginning with a digit`,
		`16 channels.irc.channels[0]: "go" is not a channel; write its name with #, in quotes: "#go"`,
		`16 channels.irc.allow[0]: "alice" is not an identity that an IRC network vouches for; write account:name (services), mask:nick!user@host, bridge:nick/name, chat:#channel, or "*"`,
		`16 channels.irc.allow[1]: "mask:a!*@*" is not a full mask: a nick alone proves nothing, and wildcards let in anybody who matches; write mask:nick!user@host without * and ?, or better account:name`,
		`16 channels.irc.sasl.mechanism: external needs a certificate; set client_cert`,
		`19 heartbeat.jobs[0].target: there is no channel "discord"; configured: cli, irc, telegram, web`,
		`20 heartbeat.jobs[1].time_zone: "Mars/Base" is not a time zone; write one like Europe/Rome or UTC`,
		`20 heartbeat.jobs[1].name: appears twice; keep one, or give it another name`,
		`20 heartbeat.jobs[1].target: "nowhere" is not a conversation; write channel:chat, like telegram:123456789`,
		`20 heartbeat.jobs[1]: both every and cron say when; write one of them, like every: 2h or cron: "0 8 * * *"`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A key with two neighbours swapped, a letter too many, too few or another is found, also
// where another key is as near by single letters.
func TestTyposFindTheirKey(t *testing.T) {
	for _, word := range []string{"agent", "alerts", "channels", "heartbeat", "http", "media", "model", "node", "queue", "store", "traces", "workspace"} {
		var typos []string
		for i := range len(word) {
			if i+1 < len(word) && word[i] != word[i+1] {
				typos = append(typos, word[:i]+word[i+1:i+2]+word[i:i+1]+word[i+2:])
			}
			typos = append(typos, word[:i]+word[i+1:], word[:i]+word[i:i+1]+word[i:])
		}
		for _, typo := range typos {
			if typo == word {
				continue
			}
			_, err := load(t, typo+": {}")
			if got, want := strings.Join(problems(t, err), "; "), fmt.Sprintf("1 %s: unknown key; did you mean %q?", typo, word); got != want {
				t.Errorf("%s: %q, want %q", typo, got, want)
			}
		}
	}
}

// typeNames are the types of channels as a sentence has them.
func typeNames() string {
	var names []string
	for _, kind := range app.Types() {
		names = append(names, kind.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func TestOneProblem(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"tab", "agent:\n\tmax_steps: 3\n", "2 there is a tab in the indentation; indent with spaces"},
		{"two documents", "http: {}\n---\nhttp: {}\n", "2 a second YAML document begins here; keep one, without --- between parts"},
		{"not UTF-8", "http: {}\nagent: \xff\n", "2 this is not UTF-8 text; save the file as UTF-8"},
		{"not indented", "channels:\n  web:\n  preview: off\n", "3 channels.preview: is not a channel with settings; if it is a channel's setting, indent it under the name of that channel"},
		{"a channel not indented", "channels:\nirc:\n  nick: x\n", "2 irc: unknown key; it is a channel: indent it under channels"},
		{"a list", "- a\n", "1 expected keys here, like key: value"},
		{"a word", "hello\n", "1 expected keys here, like key: value"},
		{"unquoted star", "http: {token: *hunter2}\n", "0 YAML reads a value that begins with * as a reference, and this one refers to nothing; put the value in quotes"},
		{"colon", "http: listen: x\n", "1 a colon is in the wrong place; put values that contain \": \" in quotes, and check the indentation"},
		{"merge key", "http: &a {}\nlog: {<<: *a}\n", "2 log: merge keys (<<) are not supported here; write the keys out"},
		{"tag", "http: {listen: !!str off}\n", "1 http.listen: YAML tags (!name) are not supported here; remove the tag"},
		{"empty token", "http: {token: \"\"}\n", "1 http.token: is empty; give it a value, or remove the line"},
		{"no token", "http: {token: }\n", "1 http.token: has no value; give it one, or remove the line"},
		{"fallback to itself", "model: {base_url: 'http://127.0.0.1:1/v1', name: x, fallback: [y, x]}\n", "1 model.fallback[1]: is the configured model; write the name of another model of the same server"},
		{"short token", "http: {token: short}\n", "1 http.token: is shorter than 16 characters; make one with: openssl rand -hex 32"},
		{"null list", "agent: {tools: }\n", "1 agent.tools: has no value; write [] for an empty list, or remove the line"},
		{"missing variable", "http: {token: \"${NOPE}\"}\n", "1 http.token: the variable NOPE is not set; set it, or write ${NOPE:-default}"},
		{"no credential", "http: {token: \"${file:/run/credentials/no.service/page}\"}\n", "1 http.token: the file /run/credentials/no.service/page cannot be read: no such file or directory; it exists while the service runs, if the service has LoadCredential=page:FILE"},
		{"missing file", "http: {token: \"${file:/no/such}\"}\n", "1 http.token: the file /no/such cannot be read: no such file or directory"},
		{"directory", "http: {token: \"${file:/tmp}\"}\n", "1 http.token: the file /tmp is not a regular file"},
		{"open brace", "http: {token: \"a${B\"}\n", "1 http.token: ${ without its }; write $${ for a plain ${"},
		{"bad variable", "http: {token: \"${a b}\"}\n", "1 http.token: ${…} wants the name of a variable, or file:/path; write $${ for a plain ${"},
		{"host name", "http: {listen: \"example.org:80\"}\n", "1 http.listen: \"example.org:80\" has no IP address; write the address of an interface, like 127.0.0.1:8787"},
		{"port", "http: {listen: \"127.0.0.1:99999\"}\n", "1 http.listen: \"127.0.0.1:99999\" is not an address; write host:port, like 127.0.0.1:8787, or off"},
		{"webhook without a secret", "channels: {telegram: {type: telegram, token: \"1000:TEST-TOKEN\", allow: [7], webhook: {url: \"https://bot.example.org\"}}}\n", "1 channels.telegram.webhook.secret: is needed: without it, anybody could write in anybody's name; make one with: openssl rand -hex 32"},
		{"webhook with a short secret", "channels: {telegram: {type: telegram, token: \"1000:TEST-TOKEN\", allow: [7], webhook: {url: \"https://bot.example.org\", secret: short}}}\n", "1 channels.telegram.webhook.secret: is no secret for Telegram; write 16 to 256 letters, digits, _ and -, like what this prints: openssl rand -hex 32"},
		{"webhook without TLS", "channels: {telegram: {type: telegram, token: \"1000:TEST-TOKEN\", allow: [7], webhook: {url: \"http://bot.example.org\", secret: sixteen-letters-0}}}\n", "1 channels.telegram.webhook.url: is not https, and Telegram calls nothing else; put a proxy with TLS in front, and write its address"},
		{"webhook at another port", "channels: {telegram: {type: telegram, token: \"1000:TEST-TOKEN\", allow: [7], webhook: {url: \"https://bot.example.org:8787\", secret: sixteen-letters-0}}}\n", "1 channels.telegram.webhook.url: has a port that Telegram does not call; use 443, 80, 88 or 8443"},
		{"webhook without its address", "channels: {telegram: {type: telegram, token: \"1000:TEST-TOKEN\", allow: [7], webhook: {secret: sixteen-letters-0}}}\n", "1 channels.telegram.webhook.secret: works only with webhook.url; write the public address of http.listen there, or remove the secret"},
		{"webhook without a port", "channels: {telegram: {type: telegram, token: \"1000:TEST-TOKEN\", allow: [7], webhook: {url: \"https://bot.example.org\", secret: sixteen-letters-0}}}\nhttp: {listen: off}\n", "1 channels.telegram: is called by its network at http.listen, which is off; write an address there, like 127.0.0.1:8787"},
		{"window", "model: {context_window: 12}\n", "1 model.context_window: 12 is out of range; write 0, or 2048 to 10000000"},
		{"max_tokens", "model: {context_window: 4096, max_tokens: 4096}\n", "1 model.max_tokens: leaves no room in model.context_window for a question; write less than 4096"},
		{"NaN", "model: {temperature: .nan}\n", "1 model.temperature: \".nan\" is not a number; write a number, like 0.7"},
		{"NaN spelled", "model: {temperature: NaN}\n", "1 model.temperature: NaN is out of range; write 0 to 2"},
		{"key in the URL", "model: {name: x, base_url: \"https://h/v1?key=abc\"}\n", "1 model.base_url: has a key in its query, where logs would show it; remove it; model.api_key and model.extra_headers are for keys"},
		{"user in the URL", "model: {name: x, base_url: \"https://u:p@h/v1?v=1\"}\n", "1 model.base_url: has a user, a query or a fragment; write the plain address; there are other settings for keys"},
		{"api", "model: {api: soap}\n", "1 model.api: \"soap\" is not a known value; write auto, chat, responses or messages"},
		{"reasoning", "model: {reasoning: hard}\n", "1 model.reasoning: \"hard\" is not a known value; write auto, none, minimal, low, medium, high, xhigh or max"},
		{"our own field", "model: {extra_body: {messages: []}}\n", "1 model.extra_body.messages: is set by Dragoman itself; remove it"},
		{"no header", "model: {extra_headers: {\"a b\": c}}\n", "1 model.extra_headers.(a key with unusual characters): is not a valid header name; write letters, digits and dashes"},
		{"header's value", "model: {extra_headers: {a: \"ä\"}}\n", "1 model.extra_headers.a: has a character that is not allowed in a header; use plain characters only"},
		{"drawing without a model", "drawing: {url: \"http://127.0.0.1:1/v1\"}\n", "1 drawing.model: is needed; write the model's name as that server knows it, like gpt-image-1"},
		{"drawing by nobody", "drawing: {model: m}\n", "1 drawing.url: is needed; write where the server is, up to and with /v1"},
		{"a picture without a size", "drawing: {url: \"http://127.0.0.1:1/v1\", model: m, size: large}\n", "1 drawing.size: \"large\" is no size of a picture; write width and height like 1024x1024, or auto"},
		{"search without its place", "web_search: {engine: searxng}\n", "1 web_search.url: is needed; write where your searxng is, like http://127.0.0.1:8888"},
		{"search without a key", "web_search: {engine: brave}\n", "1 web_search.api_key: is needed; write the key of brave, or \"${file:…}\" with it"},
		{"search of nobody", "web_search: {url: \"http://127.0.0.1:1\"}\n", "1 web_search.engine: is needed; write one of brave, searxng, tavily"},
		{"fallback twice", "model: {name: a, fallback: [b, b]}\n", "1 model.fallback[1]: appears twice; keep one"},
		{"file URL", "model: {name: x, base_url: \"file:///etc/passwd\"}\n", "1 model.base_url: is not a web address; write one like https://host/path"},
		{"no model name", "model: {base_url: \"http://127.0.0.1:1/v1\"}\n", "1 model.name: is needed with model.base_url; write the model's name as that server knows it"},
		{"negative price", "model: {prices: {input: -1}}\n", "1 model.prices.input: -1 is out of range; write 0 to 1000000"},
		{"price NaN", "model: {prices: {cached: NaN}}\n", "1 model.prices.cached: NaN is out of range; write 0 to 1000000"},
		{"other without a name", "model: {others: [{context_window: 4096}]}\n", "1 model.others[0].name: is needed; write the model's name as its server knows it"},
		{"other twice", "model: {others: [{name: a}, {name: a}]}\n", "1 model.others[1].name: appears twice; keep one, or give it another name"},
		{"other is the one", "model: {name: a, others: [{name: a}]}\n", "1 model.others[0].name: is the configured model; write its context_window and prices under model itself"},
		{"other's window", "model: {others: [{name: a, context_window: 12}]}\n", "1 model.others[0].context_window: 12 is out of range; write 0, or 2048 to 10000000"},
		{"other's price", "model: {others: [{name: a, prices: {output: -1}}]}\n", "1 model.others[0].prices.output: -1 is out of range; write 0 to 1000000"},
		{"window of the summary's model", "summary: {model: {name: a, context_window: 12}}\n", "1 summary.model.context_window: 12 is out of range; write 0, or 2048 to 10000000"},
		{"window of no model", "summary: {model: {context_window: 4096}}\n", "1 summary.model.context_window: works only with summary.model.name, which is not set; name the model, or remove it"},
		{"case 35: threshold 0", "summary: {trigger: {tokens_percent: 0}}\n", "1 summary.trigger.tokens_percent: 0 could mean every turn or never; write none to do without it, or summary.when: every_turn, or a number"},
		{"case 35: messages 0", "summary: {trigger: {messages: 0}}\n", "1 summary.trigger.messages: 0 could mean every turn or never; write none to do without it, or summary.when: every_turn, or a number"},
		{"case 35: threshold 1.5", "summary: {trigger: {tokens_percent: 1.5}}\n", "1 summary.trigger.tokens_percent: \"1.5\" is not a whole number; write a whole number, like 10, or none"},
		{"case 35: threshold NaN", "summary: {trigger: {tokens_percent: NaN}}\n", "1 summary.trigger.tokens_percent: \"NaN\" is not a whole number; write a whole number, like 10, or none"},
		{"case 35: threshold 150", "summary: {trigger: {tokens_percent: 150}}\n", "1 summary.trigger.tokens_percent: 150 is out of range; write none, or 1 to 99"},
		{"case 35: keep 0", "summary: {keep: {n: 0}}\n", "1 summary.keep.n: 0 is out of range; write 1 to 10000000"},
		{"case 35: unknown preset", "summary: {preset: pikoclaw}\n", "1 summary.preset: \"pikoclaw\" is not a known value; did you mean \"picoclaw\"? write dragoman, goose-aggressive, goose-balanced, goose-conservative, molf, picoclaw, sentinel or terrarium"},
		{"keep all", "summary: {preset: picoclaw, keep: {n: 20}}\n", "1 summary.keep.n: keeps at least 20 messages of summary.trigger.messages (20), so nothing is left to summarise; write less than 20, or a larger trigger"},
		{"keep all turns", "summary: {preset: picoclaw, keep: {unit: turns, n: 10}}\n", "1 summary.keep.n: keeps at least 20 messages of summary.trigger.messages (20), so nothing is left to summarise; write less than 10, or a larger trigger"},
		{"keep half of the window", "summary: {keep: {unit: tokens, n: 16384}}\n", "1 summary.keep.n: is half of model.context_window or more, so too little is left to summarise; write less than 16384"},
		{"empty when", "summary: {when: \"\"}\n", "1 summary.when: \"\" is not a known value; write auto, every_turn, ask or off"},
		{"empty preset", "prune: {preset: \"\"}\n", "1 prune.preset: \"\" is not a known value; write dragoman, openclaw, sentinel or sparing"},
		{"channel without a name", "channels: {irc: {enabled: false, channels: [{key: x}]}}\n", "1 channels.irc.channels[0].name: is needed; write the channel, with its #"},
		{"unknown when", "summary: {when: never}\n", "1 summary.when: \"never\" is not a known value; write auto, every_turn, ask or off"},
		{"tiny summary", "summary: {max_chars: 10}\n", "1 summary.max_chars: 10 is out of range; write 0, or 200 to 10000000"},
		{"summary temperature", "summary: {temperature: 3}\n", "1 summary.temperature: 3 is out of range; write 0 to 2"},
		{"summary model without name", "summary: {model: {base_url: \"http://127.0.0.1:1/v1\"}}\n", "1 summary.model.name: is needed with summary.model.base_url; write the model's name as that server knows it"},
		{"summary key without server", "summary: {model: {api_key: abc}}\n", "1 summary.model.api_key: works only with summary.model.base_url, which is not set; write the address of its server, or remove the key"},
		{"no trigger left", "summary: {trigger: {messages: none, tokens_percent: none}}\n", "1 summary.trigger: nothing starts a summary; give it tokens_percent or messages, or write summary.when: off"},
		{"no trigger left of one", "summary: {preset: sentinel, trigger: {tokens_percent: none}}\n", "1 summary.trigger: nothing starts a summary; give it tokens_percent or messages, or write summary.when: off"},
		{"no threshold is less than none", "summary: {trigger: {messages: -1}}\n", "1 summary.trigger.messages: -1 is out of range; write none, or 2 to 1000000"},
		{"none is no number elsewhere", "summary: {trigger: {min_messages: none}}\n", "1 summary.trigger.min_messages: \"none\" is not a whole number; write a whole number, like 10"},
		{"summary key of old", "summary: {messages: 10}\n", "1 summary.messages: unknown key; it belongs to summary.trigger"},
		{"workspace around the state", "state_dir: /a/b\nworkspace: /a\n", "2 workspace: the state directory is inside it, so the model's tools could reach the database; name another folder"},
		{"star and people", "channels: {telegram: {token: \"1:abcdefgh\", allow: [\"*\", 5]}}\n", "1 channels.telegram.allow: \"*\" lets everybody in, so the other entries have no effect; keep either \"*\" or the others"},
		{"star and pairing", "channels: {telegram: {token: \"1:abcdefgh\", allow: [\"*\"], pairing: true}}\n", "1 channels.telegram.pairing: allow has \"*\", so nobody would ever be asked for a code; remove \"*\", or pairing"},
		{"the setting of a token's file", "channels: {telegram: {enabled: false, token_file: x}}\n", "1 channels.telegram.token_file: unknown key; did you mean \"token\"?"},
		{"no bot token", "channels: {telegram: {allow: [5]}}\n", "1 channels.telegram.token: is needed; get one from @BotFather, and write token: \"${file:/path}\""},
		{"no server", "channels: {irc: {allow: [\"account:ann\"]}}\n", "1 channels.irc.server: is needed; write host:port, like irc.example.org:6697"},
		{"off with an odd token", "channels: {telegram: {enabled: false, token: hello}}\n", "1 channels.telegram.token: does not look like a bot token; copy it whole from @BotFather: digits, a colon, letters and digits"},
		{"user name", "channels: {irc: {enabled: false, user: a@b}}\n", "1 channels.irc.user: has a character that cannot be in a user name; write letters and digits"},
		{"two lines", "channels: {irc: {enabled: false, sasl: {mechanism: plain, user: \"a\\nb\"}}}\n", "1 channels.irc.sasl.user: has a line break; write one line"},
		{"off with an odd server", "channels: {irc: {enabled: false, server: here}}\n", "1 channels.irc.server: \"here\" is not an address; write host:port, like irc.example.org:6697"},
		{"odd bot token", "channels: {telegram: {token: hello, allow: [5]}}\n", "1 channels.telegram.token: does not look like a bot token; copy it whole from @BotFather: digits, a colon, letters and digits"},
		{"two pages", "channels: {a: {type: web}, b: {type: web}}\n", "1 channels.b: there is one channel of this type already: a; remove one, or turn it off with enabled: false"},
		{"one bot twice", "channels: {a: {type: telegram, token: \"1:abcdefgh\", allow: [1]}, b: {type: telegram, token: \"1:abcdefgh\", allow: [1]}}\n", "1 channels.b: has the same token as a, and two pollers of one bot stop each other; remove one, or turn it off with enabled: false"},
		{"name of another type", "channels: {web: {type: telegram, token: \"1:abcdefgh\"}}\n", "1 channels.web: the name web is reserved for channels of type web, but this one has type telegram; give it another name"},
		{"a key of another type", "channels: {web: {nick: x}}\n", "1 channels.web.nick: unknown key; it belongs to channels.<irc>"},
		{"target turned off", "channels: {web: {enabled: false}}\nheartbeat: {target: \"web:default\"}\n", "2 heartbeat.target: its channel is turned off (enabled: false); turn it on, or name another conversation"},
		{"a channel called heartbeat", "channels: {heartbeat: {type: web}}\n", "1 channels.heartbeat: this name is reserved for the jobs; give the channel another name"},
		{"yes", "channels: {web: {enabled: yes}}\n", "1 channels.web.enabled: \"yes\" is not true or false; write true or false"},
		{"control character", "http: {token: \"0123456789abcdef\\n\"}\n", "1 http.token: has a line break or a control character inside; keep the secret on one line"},
		{"huge number", "agent: {max_steps: 99999999999999999999}\n", "1 agent.max_steps: \"99999999999999999999\" is not a whole number; write a whole number, like 10"},
		{"fraction", "heartbeat: {target: \"web:default\", every: 90.5s}\n", "1 heartbeat.every: has a fraction of a second; write whole seconds"},
		{"memory", "store: {type: memory}\n", "1 store.type: \"memory\" is not a known value; write sqlite, and for a store that forgets also a state_dir in a tmpfs, like /dev/shm/dragoman"},
		{"catch up", "heartbeat: {jobs: [{name: a, every: 1h, target: \"web:default\", prompt: x, catch_up: true}]}\n", "1 heartbeat.jobs[0].catch_up: \"true\" is not a known value; write once or skip"},
		{"local zone", "heartbeat: {target: \"web:default\", time_zone: Local}\n", "1 heartbeat.time_zone: \"Local\" is not a time zone; write one like Europe/Rome or UTC"},
		{"bad agent's zone", "agent: {time_zone: Mars/Base}\n", "1 agent.time_zone: \"Mars/Base\" is not a time zone; write one like Europe/Rome or UTC"},
		{"placeholder", "channels: {web: {system_prompt: 'You are in {room}.'}}\n", "1 channels.web.system_prompt: has an unknown placeholder, {room}; the placeholders are {channel}, {chat}, {network}, {nick}, and {{name}} is a plain {name}"},
		{"placeholder of a room", "channels: {irc: {enabled: false, prompts: {group: x,\n '#go': 'Speak {chanel}.'}}}\n", "2 channels.irc.prompts.#go: has an unknown placeholder, {chanel}; the placeholders are {channel}, {chat}, {network}, {nick}, and {{name}} is a plain {name}"},
		{"prompt for a name", "channels: {telegram: {enabled: false, prompts: {Family: x}}}\n", "1 channels.telegram.prompts.Family: is not a chat of Telegram; write private, group, or a chat's id like \"#go\" or \"-1001234567890\", which may have a *"},
		{"prompt as in allow", "channels: {irc: {enabled: false, prompts: {'chat:#go': x}}}\n", "1 channels.irc.prompts.(a key with unusual characters): has chat: in front of the chat's id; write \"#go\""},
		{"prompt of nothing", "channels: {irc: {enabled: false, prompts: {'#go': ''}}}\n", "1 channels.irc.prompts.#go: is empty; write a prompt, or remove the line"},
		{"prompts in a list", "channels: {web: {prompts: [x]}}\n", "1 channels.web.prompts: expected keys here, like key: value"},
		{"bad zone", "heartbeat: {target: \"web:default\", time_zone: Mars/Base}\n", "1 heartbeat.time_zone: \"Mars/Base\" is not a time zone; write one like Europe/Rome or UTC"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text)
			if diff := cmp.Diff([]string{tt.want}, problems(t, err)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Each type of channel knows what its ids look like: an entry that stands for
// nobody is no protection.
func TestEveryTypeChecksItsIDs(t *testing.T) {
	for _, kind := range app.Types() {
		_, err := load(t, fmt.Sprintf("channels: {x: {type: %s, allow: [\"\"]}}", kind.Name))
		if got := strings.Join(problems(t, err), "\n"); !strings.Contains(got, "channels.x.allow[0]: ") {
			t.Errorf("%s: an empty id is let through:\n%s", kind.Name, got)
		}
	}
}

func TestTooLargeAndTooMany(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("agent: {tools: &t [" + strings.Repeat("time, ", 1000) + "]}\nchannels:\n")
	for i := range 2000 {
		fmt.Fprintf(&bomb, "  c%d: {type: web, allow: *t}\n", i)
	}
	for name, text := range map[string]string{
		"12 MB":          "# " + strings.Repeat("x", 12<<20),
		"aliases":        bomb.String(),
		"alias of self":  "agent: &a {tools: [*a]}\n",
		"deep brackets":  strings.Repeat("[", 20000),
		"deep flow maps": strings.Repeat("{a: ", 20000),
		"many keys":      strings.Repeat("x: 1\n", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := load(t, text)
			var ps config.Problems
			if !errors.As(err, &ps) {
				t.Fatalf("Load = %v, want Problems", err)
			}
			if name == "aliases" && !strings.Contains(err.Error(), "its aliases (*name) make it too large") {
				t.Errorf("Load = %.200s, want the aliases to be refused", err.Error())
			}
			if n := len(err.Error()); n > 30_000 {
				t.Errorf("the error has %d bytes", n)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	write(t, path, `http: {listen: "0.0.0.0:1", token: 0123456789abcdef}
model: {base_url: "http://192.0.2.1/v1", api_key: k, name: x}
channels:
  a: {type: telegram, token: "1:abcdefgh"}
  b: {type: telegram, token: "2:abcdefgh", allow: ["*"]}
  c: {type: irc, server: "h:6667", tls: false, password: x, allow: ["account:a"]}
`)
	c, _, err := config.Load(options(t, path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings() {
		got = append(got, fmt.Sprintf("%d %s", w.Line, w.Path))
	}
	want := []string{"1 http.listen", "2 model.base_url", "4 channels.a.allow", "5 channels.b.allow", "6 channels.c.tls"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A budget in money says which models have no price; one in tokens needs none.
func TestModelsWithoutPrices(t *testing.T) {
	for text, want := range map[string][]string{
		"limits: {budgets: {person: {day: 2}}}\nmodel: {name: x, fallback: [y, z], others: [{name: y, prices: {input: 1}}, {name: w}]}\nsummary: {model: {name: v}}": {
			"model.prices", "model.others[1].prices", "model.fallback[1]", "summary.model.name",
		},
		"limits: {budgets: {person: {day: 2}}}\nmodel: {name: x, prices: {input: 1, output: 2}}": nil,
		"limits: {budgets: {unit: tokens, person: {day: 2}}}\nmodel: {name: x}":                  nil,
		"model: {name: x}": nil,
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		write(t, path, text)
		c, _, err := config.Load(options(t, path))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range c.Warnings() {
			got = append(got, w.Path)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: warnings about %v, want %v", text, got, want)
		}
	}
}

// Keys that other programs have at the top are answered with what to write here.
func TestKeysOfOtherPrograms(t *testing.T) {
	for text, want := range map[string]string{
		"mcpServers: {}":       "1 mcpServers: unknown key; write mcp: {servers: {NAME: {command: [PROGRAM, ARGUMENT]}}}, or url in the place of command",
		"tools: [time]":        "1 tools: unknown key; choose tools with agent: {tools: [time, web_fetch]}",
		"system_prompt: hello": "1 system_prompt: unknown key; write agent: {system_prompt: …}",
		"providers: {}":        "1 providers: unknown key; there is one server: model: {base_url: …, api_key: …, name: …}",
		"hook: []":             `1 hook: unknown key; did you mean "hooks"?`,
	} {
		_, err := load(t, text)
		if got := problems(t, err); len(got) != 1 || got[0] != want {
			t.Errorf("%s: the problem is %q, want %q", text, got, want)
		}
	}
}

// All that is wrong with a job is said, and nothing twice.
func TestSchedulesAreChecked(t *testing.T) {
	_, err := load(t, `heartbeat:
  jobs:
  - {name: a, cron: x, active_hours: "8", target: "web:default", prompt: p}
  - {name: b, cron: y, prompt: " ", catch_up: never}
  - {name: c, cron: "${CRON}", target: "web:default", prompt: p}
`, "CRON=canary")
	const form = " (want minute hour day month weekday, like 0 8 * * 1-5; Sunday is 0 or 7)"
	want := []string{
		`3 heartbeat.jobs[0]: active hours "8": want two times of day, like 08:00-22:00`,
		`3 heartbeat.jobs[0]: cron "x": expected exactly 5 fields, found 1: [x]` + form,
		`4 heartbeat.jobs[1].catch_up: "never" is not a known value; write once or skip`,
		`4 heartbeat.jobs[1].target: "" is not a conversation; write channel:chat, like telegram:123456789`, `4 heartbeat.jobs[1]: cron "y": expected exactly 5 fields, found 1: [y]` + form,
		`4 heartbeat.jobs[1]: the prompt is empty; write what the model should do`,
		"5 heartbeat.jobs[2]: its name, cron or active_hours (from a variable or a file) cannot be understood",
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Error(diff)
	}
}
