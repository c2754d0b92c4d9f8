// Package config reads Dragoman's configuration: defaults, then one strict
// YAML file, then validation.
//
// The promise: [Load] returns either a configuration in which every value was
// checked, or a [Problems] error that lists all mistakes at once, each with its
// path, its line and the correction. An unknown key is a problem, because a setting
// that is silently ignored is worse than none. No error, warning or rendering shows
// a [Secret], or any text from a variable or a file. The package does not panic on
// bad input and writes no files.
//
// Load reads files and the environment through its [Options] and starts no
// goroutines.
package config

import (
	"slices"
	"time"

	"dragoman/internal/admission"
)

// Values of Config.WorkspaceMode.
const (
	WorkspaceShared  = "shared"
	WorkspacePerChat = "per_chat"
)

// Config has all settings. The "doc" tag of a field is its sentence in
// docs/configuration.md and in the reference.
type Config struct {
	StateDir         string             `yaml:"state_dir" doc:"The folder for everything that must survive a restart. With a configuration in /etc/dragoman the default is /var/lib/dragoman."`
	Workspace        string             `yaml:"workspace" doc:"The only folder that the file tools can reach. Default: workspace inside state_dir."`
	WorkspaceMode    string             `yaml:"workspace_mode" default:"shared" oneof:"shared per_chat" doc:"shared: all conversations see the whole workspace. per_chat: each conversation sees only its own folder, chats/NAME; jobs and the operator see everything."`
	WorkspaceQuota   Size               `yaml:"workspace_quota" default:"1GiB" doc:"Maximum size of all files in the workspace together, or with per_chat of each conversation's files. 0: no limit."`
	Store            Store              `yaml:"store"`
	Roles            []string           `yaml:"roles,flow" default:"channels turns jobs" oneof:"channels turns jobs" doc:"What this daemon does, where several share a database: channels connects to the networks (each channel is connected by one daemon at a time), turns answers, jobs starts heartbeats. Only for the store type postgres."`
	Node             Node               `yaml:"node"`
	HTTP             HTTP               `yaml:"http"`
	People           People             `yaml:"people"`
	Log              Log                `yaml:"log"`
	Model            Model              `yaml:"model"`
	Agent            Agent              `yaml:"agent"`
	Agents           map[string]Persona `yaml:"agents"`
	Bind             []Bind             `yaml:"bind"`
	Approvals        Approvals          `yaml:"approvals"`
	Routes           []Route            `yaml:"routes"`
	Summary          Summary            `yaml:"summary"`
	Prune            Prune              `yaml:"prune"`
	Queue            Queue              `yaml:"queue"`
	Limits           Limits             `yaml:"limits"`
	Media            Media              `yaml:"media"`
	Delivery         Delivery           `yaml:"delivery"`
	Pairing          Pairing            `yaml:"pairing"`
	Channels         map[string]Channel `yaml:"channels"`
	Heartbeat        Heartbeat          `yaml:"heartbeat"`
	Sessions         Sessions           `yaml:"sessions"`
	Hooks            []Hook             `yaml:"hooks"`
	IncomingWebhooks []IncomingWebhook  `yaml:"incoming_webhooks"`
	Alerts           Alerts             `yaml:"alerts"`
	Traces           Traces             `yaml:"traces"`
	MCP              MCP                `yaml:"mcp"`
	WebSearch        WebSearch          `yaml:"web_search"`
	Exec             Exec               `yaml:"exec"`
	Skills           Skills             `yaml:"skills"`
	Hearing          Hearing            `yaml:"hearing"`
	Speaking         Speaking           `yaml:"speaking"`
	Drawing          Drawing            `yaml:"drawing"`

	warnings []Problem
	absent   Problems
	source   Source
}

// Node is how this daemon appears among those that share a database.
type Node struct {
	Name string `yaml:"name,omitempty" doc:"How dragoman nodes calls this daemon, where several share a database. Default: its machine, its state_dir and a part of its id."`
}

// The values of Config.Roles.
const (
	RoleChannels = "channels"
	RoleTurns    = "turns"
	RoleJobs     = "jobs"
)

// Has reports whether role is one of c.Roles.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// StoreTypes are the values of store.type. FileStores are those that keep
// everything in files in the state directory; tests of durability run with each.
var (
	FileStores = []string{"sqlite", "file"}
	StoreTypes = []string{FileStores[0], FileStores[1], "postgres"}
)

// Store says where Dragoman keeps conversations and queues.
type Store struct {
	Type     string `yaml:"type" default:"sqlite" oneof:"store types" doc:"sqlite keeps everything in one file in state_dir; file keeps each conversation in a JSON document in state_dir/sessions; postgres keeps everything in a PostgreSQL database."`
	URL      Secret `yaml:"url,omitempty" is:"postgres" empty:"ok" doc:"The database of the type postgres: postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full. Other types ignore it, and dragoman sessions migrate uses it."`
	MaxConns int    `yaml:"max_conns" default:"16" range:"5..10000" doc:"Maximum connections of this process to the database, 5 or more. Only for the type postgres."`
}

// People says who reads whose talks.
type People struct {
	ReadAlong bool `yaml:"read_along" default:"false" doc:"true lets tokens with the scope read (or more) read the private conversations of other people. The people are told in their chat before the first reading, and readings are in the audit log. The command line on the machine itself reads them in any case, and is recorded."`
}

// Log says what the daemon writes to standard error.
type Log struct {
	Level  string `yaml:"level" default:"info" oneof:"debug info warn error" doc:"debug, info, warn or error."`
	Format string `yaml:"format" default:"text" oneof:"text json" doc:"text or json."`
}

// Model says which model answers and how long to wait for it.
type Model struct {
	Type             string            `yaml:"type" default:"auto" oneof:"auto openai demo" doc:"openai uses the server at base_url; demo is built in and needs no network; auto takes base_url if set, else the server that api_key or name belongs to, else OPENAI_BASE_URL or a provider's key in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …), else an Ollama, else demo."`
	BaseURL          string            `yaml:"base_url" is:"server" empty:"ok" doc:"The server's API, up to and with /v1. It may have a query (?api-version=…). Put keys into api_key or extra_headers."`
	API              string            `yaml:"api" default:"auto" oneof:"auto chat responses messages" doc:"Which API the server speaks: chat (chat completions), responses (OpenAI and xAI), messages (Anthropic), or auto, which chooses by server and model and learns from refusals."`
	APIKey           Secret            `yaml:"api_key,omitempty" is:"key" empty:"ok" doc:"Its key. Local servers need none."`
	CAFile           string            `yaml:"ca_file" is:"file" empty:"ok" doc:"PEM file with the authorities to trust for base_url instead of the system's, for a server with a certificate of your own. SSL_CERT_FILE in the environment does the same for all connections."`
	Name             string            `yaml:"name" doc:"The model's name on that server."`
	ContextWindow    int               `yaml:"context_window" range:"0,2048..10000000" doc:"The model's context window in tokens, answer included. 0: Dragoman asks the server, then looks in a table of known models, then assumes 32768."`
	Encoding         string            `yaml:"encoding,omitempty" oneof:"cl100k_base o200k_base" empty:"ok" doc:"The model's tokenizer, for exact counts: o200k_base (GPT-4o and later) or cl100k_base (GPT-4). Unset: tokens are estimated, and corrected by what the server reports."`
	MaxTokens        int               `yaml:"max_tokens" range:"0..1000000" doc:"Maximum tokens in one answer; 0 leaves it to the server."`
	Temperature      *float64          `yaml:"temperature,omitempty" range:"0..2" doc:"0 to 2; unset leaves it to the server."`
	Reasoning        string            `yaml:"reasoning" default:"auto" oneof:"efforts" doc:"How much the model should think: none, minimal, low, medium, high, xhigh or max, or auto, which leaves it to the server. A conversation can have its own (sessions set KEY reasoning=…)."`
	ShowReasoning    string            `yaml:"show_reasoning" default:"off" oneof:"off folded" doc:"folded shows the model's thoughts on the page, folded above the answer, until the page is reloaded. They are not stored, and other channels never show them. off hides them everywhere."`
	TextTools        string            `yaml:"text_tools" default:"auto" oneof:"auto off" doc:"auto runs tool calls that the model wrote as text because its server has no parser for them; off shows them as text."`
	Fallback         []string          `yaml:"fallback,flow,omitempty" is:"name" doc:"Other models on the same server, in order, that answer while the configured one cannot."`
	ExtraBody        Body              `yaml:"extra_body,omitempty" names:"request field" doc:"Fields added to every request. They override Dragoman's own; null removes one."`
	ExtraHeaders     map[string]Secret `yaml:"extra_headers,omitempty" names:"header name" is:"header" empty:"ok" doc:"HTTP headers added to every request. Their values are treated as secrets."`
	FirstByteTimeout Duration          `yaml:"first_byte_timeout" default:"2m" range:"1s..1h" doc:"How long the server may be silent before the first piece of an answer. A local model may have to load first. Signs of life (pings, comments, the start of a thought) prolong the wait, until agent.give_up_after or call_timeout."`
	IdleTimeout      Duration          `yaml:"idle_timeout" default:"1m" range:"1s..1h" doc:"How long a stream may be silent before Dragoman treats it as broken. Signs of life prolong the wait, as above."`
	CallTimeout      Duration          `yaml:"call_timeout" default:"30m" range:"1s..24h" doc:"Maximum duration of one call."`
	Vision           string            `yaml:"vision" default:"auto" oneof:"auto yes no" doc:"Whether the model is shown pictures: yes, no, or auto, which asks an Ollama and goes by the model's name elsewhere."`
	Retries          int               `yaml:"retries" default:"3" range:"0..20" doc:"How often Dragoman repeats a failed call within one turn."`
	Prices           Prices            `yaml:"prices"`
	Others           []Other           `yaml:"others"`
}

// Other is another model, which conversations and the section "summary" can name.
type Other struct {
	Name          string `yaml:"name,omitempty" once:"yes" doc:"The name of another model, as used by conversations (sessions set KEY model=…) and by summary.model."`
	ContextWindow int    `yaml:"context_window" range:"0,2048..10000000" doc:"Its context window in tokens, answer included. 0: the same as model.context_window."`
	Prices        Prices `yaml:"prices"`
}

// Prices are those of a model.
type Prices struct {
	Input  float64 `yaml:"input" range:"0..1000000" doc:"Price of a million input tokens, in any currency. Without any price, the cost is what the provider says (OpenRouter does)."`
	Output float64 `yaml:"output" range:"0..1000000" doc:"Price of a million output tokens."`
	Cached float64 `yaml:"cached" range:"0..1000000" doc:"Price of a million input tokens from the provider's cache. 0: the same as input."`
}

// Agent has the limits of the loop of model and tools.
type Agent struct {
	MaxSteps     int      `yaml:"max_steps" default:"10" range:"1..1000" doc:"Maximum model calls in one turn."`
	MaxTurns     int      `yaml:"max_turns" range:"0..10000" doc:"Maximum conversations answered at the same time. 0: as many as an eighth of the memory holds (128 KiB each), between 64 and 1000; with a model on this machine 64. The log says how many."`
	SystemPrompt string   `yaml:"system_prompt" doc:"Replaces the built-in system prompt. Keep it constant: providers cache a stable prompt."`
	TimeZone     string   `yaml:"time_zone,omitempty" is:"zone" empty:"ok" doc:"The model sees with each message of a person when it was written, in this time zone. Empty: the machine's."`
	PromptFacts  int      `yaml:"prompt_facts" range:"0..50" doc:"How many facts about a person are put into the prompt of their private chat, up to 4 KiB: the pinned ones first, then those that were looked up last, then the newest. 0: the model looks them up with recall. They are shown before the newest message, so each message pays for them, and a new fact costs the provider's prompt cache nothing."`
	ToolTimeout  Duration `yaml:"tool_timeout" default:"1m" range:"1s..1h" doc:"Maximum duration of one tool call."`
	GiveUpAfter  Duration `yaml:"give_up_after" default:"10m" range:"1s..168h" doc:"How long Dragoman keeps trying when it cannot reach the model. The person is told after a minute without the model (or sooner, if the next attempt is further away than that) and again when Dragoman gives up. If the server asks for a longer pause, it is shortened to the time that is left."`
	Tools        ToolList `yaml:"tools,flow,omitempty" is:"tool" doc:"The tools that the model may use, as a list of names. Unset: all of them; []: none. Or a table of names with allow, ask or deny, like {web_fetch: ask}: all tools but the denied ones are offered, and a person is asked before each call of a tool with ask that does more than read. A name that ends with a star stands for all that begin so: files__*. docs/tools.md has more."`
	ToolsIn      ToolsIn  `yaml:"tools_in,omitempty"`
	Delegate     Delegate `yaml:"delegate"`
}

// Delegate says whether the model may hand a task to a loop of its own.
type Delegate struct {
	Enabled   bool     `yaml:"enabled" default:"false" doc:"Let the model hand parts of its work to helpers, up to three side by side: each is told one task, works with the tools it is given, and returns a result. They ask nobody, and what they use counts for who asked."`
	Model     string   `yaml:"model,omitempty" doc:"The model of helpers, one that the section model names. Empty: the one that answers."`
	MaxSteps  int      `yaml:"max_steps" default:"20" range:"1..200" doc:"Maximum model calls of one task."`
	MaxTokens int      `yaml:"max_tokens" default:"200000" range:"1000..100000000" doc:"Maximum tokens that one task may use, read and written together."`
	Timeout   Duration `yaml:"timeout" default:"5m" range:"1s..1h" doc:"Maximum duration of one task. What it has said until then is its result."`
}

// Approvals says who allows what needs a person's yes.
type Approvals struct {
	Approvers []string `yaml:"approvers,flow,omitempty" is:"person" doc:"Who may allow in shared chats what needs a yes: operator, or identities on networks, like telegram:123456. In a private chat it is the person, and whoever runs Dragoman may everywhere."`
	Approve   string   `yaml:"approve" default:"approvers" oneof:"approvers self" doc:"Who may allow it in shared chats without approvers. approvers: nobody, so the model is told that it may not. self: whoever asked."`
}

// Queue says what happens to messages that arrive during an answer.
type Queue struct {
	Mode            string `yaml:"mode" default:"collect" oneof:"collect each steer interrupt" doc:"What happens to messages that arrive during an answer. collect: they are answered together in the next turn (in a channel of IRC, those of each person). each: one by one. steer: they join the running turn. interrupt: the turn starts over with them."`
	MaxWaiting      int    `yaml:"max_waiting" default:"20" range:"1..100000" doc:"Maximum waiting messages of one chat. When it is reached, people are told."`
	MaxMessageBytes Size   `yaml:"max_message_bytes" default:"256KiB" range:"1KiB..64MiB" doc:"Maximum size of one message. A longer one is refused with a reply."`
	RatePerMinute   int    `yaml:"rate_per_minute" default:"30" range:"0..100000" doc:"Maximum messages from one person in a minute; 0 turns the limit off."`
}

// Media says where attachments are kept, and their limits.
type Media struct {
	Type          string `yaml:"type" oneof:"local folder postgres s3" empty:"ok" doc:"Where files are: local (in state_dir), folder (a folder that all nodes share), postgres (in the database of the store) or s3 (in a bucket; the database has its list). All but local need store.type postgres. Empty: postgres if that is the store's type, else local."`
	Path          string `yaml:"path,omitempty" doc:"The folder of the type folder."`
	URL           string `yaml:"url,omitempty" is:"private url" empty:"ok" doc:"The bucket of the type s3: https://HOST/BUCKET or https://BUCKET.HOST, perhaps with a prefix for the names in it. While files are there, keep it, even with another type."`
	Region        string `yaml:"region" default:"us-east-1" doc:"The region of the bucket."`
	AccessKey     string `yaml:"access_key,omitempty" doc:"The id of the key to the bucket."`
	SecretKey     Secret `yaml:"secret_key,omitempty" empty:"ok" doc:"The key to the bucket. It signs requests and is not sent."`
	MaxBytes      Size   `yaml:"max_bytes" default:"20MiB" range:"1KiB..2GiB" doc:"Maximum size of a file that Dragoman downloads. The model learns only the name of a larger one."`
	MaxTotal      Size   `yaml:"max_total" default:"5GiB" doc:"Maximum size of all files together. When it is reached, the model learns only the names of new ones; no file is removed to make room. 0: no limit."`
	MaxImageBytes Size   `yaml:"max_image_bytes" default:"5MiB" range:"1KiB..20MiB" doc:"Maximum size of a picture that is shown to the model."`
}

// The values of Media.Type.
const (
	MediaLocal    = "local"
	MediaFolder   = "folder"
	MediaPostgres = "postgres"
	MediaS3       = "s3"
)

// Limits has a section for each type of rule that turns must pass, by the type's name.
type Limits struct {
	Rules map[string]admission.Settings `yaml:",inline"`
}

// Delivery says how long Dragoman tries to deliver an answer.
type Delivery struct {
	GiveUpAfter Duration `yaml:"give_up_after" default:"24h" range:"1m..720h" doc:"After this time an undelivered answer is given up and marked dead (see dragoman queue)."`
}

// Pairing has the limits of requests by people who ask to be let in.
type Pairing struct {
	Expires    Duration `yaml:"expires" default:"1h" range:"1m..168h" doc:"How long a pairing code is valid."`
	MaxPending int      `yaml:"max_pending" default:"3" range:"1..100" doc:"Maximum open requests of one channel. Other strangers are told to ask the operator."`
}

// Sessions says how long conversations last.
type Sessions struct {
	RetentionDays int   `yaml:"retention_days" range:"0..36500" doc:"Delete a conversation this many days after its last message; 0: never. A conversation with unanswered messages or undelivered replies is kept."`
	Reset         Reset `yaml:"reset"`
}

// Reset says when a conversation starts again by itself.
type Reset struct {
	Mode     string   `yaml:"mode" default:"never" oneof:"never daily idle" doc:"When a conversation starts again by itself, as with /new: never, daily (see at) or idle (see after)."`
	At       string   `yaml:"at" default:"04:00" is:"clock" doc:"For daily: the first message after this time of day starts again."`
	TimeZone string   `yaml:"time_zone,omitempty" is:"zone" empty:"ok" doc:"Time zone of at. Empty: agent.time_zone."`
	After    Duration `yaml:"after" default:"8h" range:"1m..8784h" doc:"For idle: the first message after this long a silence starts again."`
}

// The values of Reset.Mode.
const (
	ResetNever = "never"
	ResetDaily = "daily"
	ResetIdle  = "idle"
)

// AtTime is At since midnight.
func (r Reset) AtTime() time.Duration {
	t, _ := time.Parse("15:04", r.At) // Load has checked it
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

// Hook is a program or an address of the operator's that receives events.
type Hook struct {
	Name             string   `yaml:"name,omitempty" is:"hook name" empty:"ok" doc:"By which the queue knows what is to be posted. Default: the host of the url, and six characters."`
	On               []string `yaml:"on,flow,omitempty" oneof:"events" doc:"The events it receives: session_create, session_save, session_delete, context_compacted, turn_done, delivery_dead, channel_failed, channel_back, model_down, model_back, disk_full."`
	Command          Program  `yaml:"command,flow,omitempty" repeat:"ok" doc:"A program and its arguments, started without a shell. It receives the event as JSON on standard input. Set either command or url."`
	URL              Address  `yaml:"url,omitempty" is:"private url" empty:"ok" doc:"The URL that receives the event as a JSON POST: https, or http on this machine."`
	Secret           Secret   `yaml:"secret,omitempty" empty:"ok" doc:"Sent with the post, as Authorization: Bearer."`
	SigningSecret    Secret   `yaml:"signing_secret,omitempty" is:"signing secret" empty:"ok" doc:"Signs what is posted, as Standard Webhooks 1.0 says: whsec_ and base64 of 24 to 64 random bytes."`
	OldSigningSecret Secret   `yaml:"old_signing_secret,omitempty" is:"signing secret" empty:"ok" doc:"The former signing_secret while it is changed: posts have both signatures."`
	Timeout          Duration `yaml:"timeout,omitempty" default:"10s" range:"100ms..10m" doc:"Maximum duration, after which the program is killed or the connection closed."`
}

// IncomingWebhook is what other programs call, at POST /api/v1/hooks/NAME.
type IncomingWebhook struct {
	Name      string `yaml:"name,omitempty" is:"hook name" once:"yes" doc:"The last part of its address, /api/v1/hooks/NAME. Unique."`
	Verify    string `yaml:"verify,omitempty" oneof:"bearer github standard basic" doc:"How a caller shows that it may: bearer (Authorization: Bearer SECRET), github (X-Hub-Signature-256), standard (Standard Webhooks 1.0) or basic (USER:PASSWORD)."`
	Secret    Secret `yaml:"secret,omitempty" doc:"What caller and Dragoman know: at least 16 characters; USER:PASSWORD for basic; whsec_ and base64 of 24 to 64 bytes for standard."`
	OldSecret Secret `yaml:"old_secret,omitempty" empty:"ok" doc:"The former secret while it is changed: both are good."`
	To        string `yaml:"to,omitempty" doc:"The conversation that it is for, like telegram:123456789."`
	Prompt    string `yaml:"prompt,omitempty" is:"paths" empty:"ok" doc:"A message for the model, which answers in that conversation. {{issue.title}} is a value of the call's JSON, {{body}} all of it, {{header.x-github-event}} a header. Set either prompt or message."`
	Message   string `yaml:"message,omitempty" is:"paths" empty:"ok" doc:"A message that the chat is sent as it is, without a model. Values as in prompt."`
	Owner     string `yaml:"owner" default:"operator" is:"person" doc:"Whom its turns count for: operator, or an identity on the channel of to, like telegram:123456789."`
	Repeats   string `yaml:"repeats" default:"id" oneof:"id id_or_body body" doc:"By what a repeat is known, which is answered and leads to nothing: the id of the call (X-GitHub-Delivery, webhook-id), that or else its body, or its body alone."`
	PerHour   int    `yaml:"per_hour" default:"60" range:"1..10000" doc:"How many calls an hour it takes. Repeats do not count."`
	MaxBytes  Size   `yaml:"max_bytes" default:"1MiB" range:"1KiB..32MiB" doc:"The greatest body of a call."`
}

// Alerts says who learns that something fails.
type Alerts struct {
	To    string   `yaml:"to,omitempty" doc:"The conversation that is told once when a channel, the model or the disk fails, and once when it works again; and once a day when the budget of everybody, or of a job, is nearly or wholly used up. Empty: none."`
	After Duration `yaml:"after" default:"5m" range:"1s..24h" doc:"How long something must fail before the alert is sent and the hooks receive channel_failed, model_down or disk_full."`
}

// Traces says who is told what turns spend their time on.
type Traces struct {
	URL     string            `yaml:"url" is:"url" empty:"ok" doc:"The address of an OpenTelemetry collector that takes OTLP over HTTP, like http://127.0.0.1:4318. It is sent how long the parts of each turn take, with models, tools, channels and tokens, and never a word, a person or a key. Empty: nothing is sent."`
	Headers map[string]Secret `yaml:"headers,omitempty" names:"header name" is:"header" empty:"ok" doc:"HTTP headers for the collector, for example Authorization. Their values are treated as secrets."`
}

// Warnings list what is allowed but probably a mistake.
func (c *Config) Warnings() []Problem { return c.warnings }

// WarnAs replaces the warnings of c by those of other.
func (c *Config) WarnAs(other *Config) { c.warnings = other.warnings }

// Absent is the error that Load would have returned without [Options.NoSecrets];
// nil if no secret is missing.
func (c *Config) Absent() error {
	if len(c.absent) == 0 {
		return nil
	}
	return c.absent
}

// Source says where c came from.
func (c *Config) Source() Source { return c.source }
