// Package config reads Dragoman's configuration: defaults, then one strict
// YAML file, then validation.
//
// The promise: [Load] either returns a configuration in which every value was
// checked, or a [Problems] error that lists all that is wrong at once, each
// with its path, its line and what to write instead. A key that nothing reads
// is a problem, because a setting that is silently ignored is worse than none.
// No error, warning or rendering shows a [Secret], nor any text that came out
// of a variable or a file. Nothing here panics on bad input, and nothing is
// written.
//
// Load reads files and the environment through its [Options] and starts no
// goroutines.
package config

// Values of Config.WorkspaceMode.
const (
	WorkspaceShared  = "shared"
	WorkspacePerChat = "per_chat"
)

// Config is everything that can be set. Each field's "doc" tag is the sentence
// that docs/configuration.md and the reference show.
type Config struct {
	StateDir       string             `yaml:"state_dir" doc:"Where everything that must survive a restart lies. With a configuration in /etc/dragoman the default is /var/lib/dragoman."`
	Workspace      string             `yaml:"workspace" doc:"The only folder that the file tools reach. Default: workspace inside state_dir."`
	WorkspaceMode  string             `yaml:"workspace_mode" doc:"shared: all conversations see the whole workspace. per_chat: each has a folder of its own in it, chats/NAME; jobs and the operator see all."`
	WorkspaceQuota Size               `yaml:"workspace_quota" doc:"How much the files of the workspace, or with per_chat those of each conversation, may take together. 0: no bound."`
	Store          Store              `yaml:"store"`
	HTTP           HTTP               `yaml:"http"`
	Log            Log                `yaml:"log"`
	Model          Model              `yaml:"model"`
	Agent          Agent              `yaml:"agent"`
	Summary        Summary            `yaml:"summary"`
	Prune          Prune              `yaml:"prune"`
	Queue          Queue              `yaml:"queue"`
	Media          Media              `yaml:"media"`
	Delivery       Delivery           `yaml:"delivery"`
	Pairing        Pairing            `yaml:"pairing"`
	Channels       map[string]Channel `yaml:"channels"`
	Heartbeat      Heartbeat          `yaml:"heartbeat"`
	Sessions       Sessions           `yaml:"sessions"`
	Hooks          []Hook             `yaml:"hooks"`
	Alerts         Alerts             `yaml:"alerts"`

	warnings []Problem
	absent   Problems
	source   Source
}

// Store says where conversations and queues are kept.
type Store struct {
	Type string `yaml:"type" doc:"sqlite keeps everything in one file in state_dir; file keeps each conversation in a JSON document in state_dir/sessions; memory forgets it at the end."`
}

// HTTP is the chat page, health and metrics.
type HTTP struct {
	Listen string `yaml:"listen" doc:"Address of the chat page, /healthz, /readyz and /metrics, or off. Anything but loopback needs a token."`
	Token  Secret `yaml:"token" doc:"What a browser or a scraper must show, at least 16 characters. Empty on loopback: same-origin requests only."`
	// TrustedProxies are checked to be addresses or networks.
	TrustedProxies []string `yaml:"trusted_proxies" example:"[127.0.0.1]" doc:"Addresses or networks of proxies in front of the page. What they say of a visitor's address (X-Forwarded-For) and of TLS (X-Forwarded-Proto) is believed."`
	PublicURL      string   `yaml:"public_url" example:"https://chat.example.org" doc:"Where people open the page, if a proxy gives it another name. With https:// its cookie is sent over TLS only."`
}

// Log says what the daemon writes to standard error.
type Log struct {
	Level  string `yaml:"level" doc:"debug, info, warn or error."`
	Format string `yaml:"format" doc:"text or json."`
}

// Model says which model answers and how long to wait for it.
type Model struct {
	Type             string   `yaml:"type" doc:"openai speaks to base_url; demo is built in and needs no network; auto takes base_url if set, else the server that api_key or name belongs to, else OPENAI_BASE_URL or a provider's key in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …), else an Ollama, else demo."`
	BaseURL          string   `yaml:"base_url" doc:"The server's API, up to and with /v1. It may have a query (?api-version=…); keys belong into api_key and extra_headers."`
	API              string   `yaml:"api" doc:"How the server is spoken to: chat (chat completions), responses (OpenAI's and xAI's), messages (Anthropic's), or auto, which goes by the server and the model and learns from refusals."`
	APIKey           Secret   `yaml:"api_key" empty:"ok" doc:"Its key. Local servers need none."`
	Name             string   `yaml:"name" doc:"The model's name on that server."`
	ContextWindow    int      `yaml:"context_window" doc:"How many tokens the model takes in, its answer included. 0: as its server says, or a table of known models; 32768 where neither does."`
	Encoding         string   `yaml:"encoding" example:"o200k_base" doc:"Its tokens are counted exactly: o200k_base (GPT-4o and later) or cl100k_base (GPT-4). Unset: estimated, and corrected by what the server reports."`
	MaxTokens        int      `yaml:"max_tokens" doc:"Most tokens of one answer; 0 leaves it to the server."`
	Temperature      *float64 `yaml:"temperature" example:"0.7" doc:"0 to 2; unset leaves it to the server."`
	Reasoning        string   `yaml:"reasoning" doc:"How much the model is to think: none, minimal, low, medium, high, xhigh or max, or auto, which leaves it to the server. A conversation can have its own (sessions set KEY reasoning=…)."`
	ShowReasoning    string   `yaml:"show_reasoning" doc:"folded shows on the page the thoughts that the model's server sends, folded away above the answer, until the page is loaded again; they are stored nowhere, and no other channel shows them. off shows them nowhere."`
	TextTools        string   `yaml:"text_tools" doc:"auto runs calls of tools that a model wrote as text because its server has no parser for them; off shows them as they are."`
	Fallback         []string `yaml:"fallback" example:"[other]" doc:"Other models of the same server, in order, that answer while the configured one cannot."`
	ExtraBody        Body     `yaml:"extra_body" example:"{top_p: 0.9}" doc:"Fields that every request gets, also in place of Dragoman's own; null leaves one out."`
	ExtraHeaders     Headers  `yaml:"extra_headers" example:"{x-portkey-provider: openai}" doc:"HTTP headers that every request gets. Their values are secrets."`
	FirstByteTimeout Duration `yaml:"first_byte_timeout" doc:"How long to wait for the first piece of an answer. A local model may have to load first."`
	IdleTimeout      Duration `yaml:"idle_timeout" doc:"How long a stream may be silent before it counts as broken."`
	CallTimeout      Duration `yaml:"call_timeout" doc:"How long one call may take as a whole."`
	Vision           string   `yaml:"vision" doc:"Whether the model is shown pictures: yes, no, or auto, which asks an Ollama and elsewhere goes by the model's name."`
	Retries          int      `yaml:"retries" doc:"How often a failed call is tried again within one turn."`
	Prices           Prices   `yaml:"prices"`
	Others           []Other  `yaml:"others"`
}

// Other is a model beside the configured one: conversations and the section
// summary name it.
type Other struct {
	Name          string `yaml:"name" example:"small" doc:"The name of another model, as conversations (sessions set --model) and summary.model name it."`
	ContextWindow int    `yaml:"context_window" doc:"How many tokens it takes in, its answer included. 0: as model.context_window."`
	Prices        Prices `yaml:"prices"`
}

// Prices are what a model costs.
type Prices struct {
	Input  float64 `yaml:"input" doc:"Price of a million tokens that the model reads, in any currency. 0: costs are not counted."`
	Output float64 `yaml:"output" doc:"Price of a million tokens that it writes."`
	Cached float64 `yaml:"cached" doc:"Price of a million tokens that it reads from its provider's cache. 0: as input."`
}

// Agent bounds the loop of model and tools.
type Agent struct {
	MaxSteps     int      `yaml:"max_steps" doc:"Most model calls in one turn."`
	MaxTurns     int      `yaml:"max_turns" doc:"Most conversations that are answered at the same time."`
	SystemPrompt string   `yaml:"system_prompt" doc:"Replaces the built-in system prompt. Keep it constant: a stable prompt is cached by providers."`
	ToolTimeout  Duration `yaml:"tool_timeout" doc:"Longest run of one tool call."`
	GiveUpAfter  Duration `yaml:"give_up_after" doc:"How long a turn that cannot reach its model is tried again before it is given up. The person is told when the model has been silent for a minute, or sooner if the next try would come later than that, and at the end. A longer pause that the server names is cut to what is left of it."`
	Tools        []string `yaml:"tools" doc:"The tools that the model may use. Unset: all of them; []: none."`
}

// Queue says what happens to messages that come while an answer is written.
type Queue struct {
	Mode            string `yaml:"mode" doc:"collect answers them together in the next turn, each one by one, steer hands them to the running turn, interrupt starts over with them."`
	MaxWaiting      int    `yaml:"max_waiting" doc:"Most waiting messages of one chat; then people are told so."`
	MaxMessageBytes Size   `yaml:"max_message_bytes" doc:"Longest message taken in; a longer one is answered with a refusal."`
	RatePerMinute   int    `yaml:"rate_per_minute" doc:"Most messages of one person in a minute; 0 turns the limit off."`
}

// Media bounds the files that come with messages.
type Media struct {
	MaxBytes      Size `yaml:"max_bytes" doc:"Largest file that is fetched and kept; a larger one is only named to the model."`
	MaxTotal      Size `yaml:"max_total" doc:"How much all kept files may take together; then further ones are only named to the model. None is removed to make room. 0: no limit."`
	MaxImageBytes Size `yaml:"max_image_bytes" doc:"Largest picture that a model with eyes is shown."`
}

// Delivery says how long an answer is tried to be delivered.
type Delivery struct {
	GiveUpAfter Duration `yaml:"give_up_after" doc:"An answer that could not be delivered for so long is put aside as dead (see dragoman queue)."`
}

// Pairing bounds the requests of people who ask to be let in.
type Pairing struct {
	Expires    Duration `yaml:"expires" doc:"How long a pairing code is good for."`
	MaxPending int      `yaml:"max_pending" doc:"Most open requests of one channel. Other strangers are told to ask the operator."`
}

// Heartbeat is what runs by the clock.
type Heartbeat struct {
	Target      string   `yaml:"target" example:"telegram:123456789" doc:"Where the outcome of HEARTBEAT.md in the workspace goes. Empty: the file is not run."`
	Every       Duration `yaml:"every" doc:"How often HEARTBEAT.md is run."`
	TimeZone    string   `yaml:"time_zone" example:"Europe/Rome" doc:"Time zone of HEARTBEAT.md and of jobs that name none. Empty: the machine's."`
	ActiveHours string   `yaml:"active_hours" example:"08:00-22:00" doc:"HEARTBEAT.md runs only then. Empty: always."`
	Jobs        []Job    `yaml:"jobs"`
}

// Job is one scheduled prompt.
type Job struct {
	Name        string   `yaml:"name" example:"morning" doc:"Names the job in records; 1 to 64 characters, unique."`
	Every       Duration `yaml:"every" example:"2h" doc:"Run in this interval. Give every or cron."`
	Cron        string   `yaml:"cron" example:"0 8 * * *" doc:"Run at these times: minute hour day month weekday."`
	TimeZone    string   `yaml:"time_zone" example:"Europe/Rome" doc:"Time zone of cron and active_hours."`
	ActiveHours string   `yaml:"active_hours" example:"08:00-22:00" doc:"Outside of these hours the job is skipped."`
	Target      string   `yaml:"target" example:"telegram:123456789" doc:"The conversation that gets the outcome."`
	Prompt      string   `yaml:"prompt" example:"What is on today?" doc:"What the model is asked. HEARTBEAT_OK as the answer is silence."`
	CatchUp     string   `yaml:"catch_up" example:"once" doc:"What becomes of times missed in downtime: once runs the newest late, skip records all as missed. Default: once."`
}

// FileJob is the job that runs HEARTBEAT.md, and whether it is wanted. Its
// Prompt is empty: it is the file's content at the time.
func (h Heartbeat) FileJob() (Job, bool) {
	return Job{
		Name: FileJobName, Every: h.Every, TimeZone: h.TimeZone, ActiveHours: h.ActiveHours, Target: h.Target,
	}, h.Target != ""
}

// FileJobName is the name of the job that runs HEARTBEAT.md. Jobs in the
// configuration may not take it.
const FileJobName = "HEARTBEAT.md"

// Warnings are things that are allowed and probably not meant.
func (c *Config) Warnings() []Problem { return c.warnings }

// Absent is what [Options.NoSecrets] let pass, as Load would have said it; nil
// if nothing is absent.
func (c *Config) Absent() error {
	if len(c.absent) == 0 {
		return nil
	}
	return c.absent
}

// Source is where c came from.
func (c *Config) Source() Source { return c.source }
