package archtest

// The patterns of a [Rule] are paths below the module's root. "*" stands for
// one element, a last "/**" for the folder itself and everything below it.

// Rule says what the packages that match Package may import of ours.
type Rule struct {
	Package string
	// Imports are allowed everywhere in the package.
	Imports []string
	// Tests are allowed in its _test files as well.
	Tests []string
	// ForTests: what is in the package must be in no binary that is shipped,
	// so that only _test files and packages of this kind may import it,
	// whatever Imports allow others.
	ForTests bool
	// TestsBehind is a build tag: the package's files that no build without it
	// holds may import what is for tests. No shipped binary is built with it.
	TestsBehind string
}

// domain are the four roots that the plumbing may know.
var domain = []string{"channels", "sessions", "agent", "heartbeat"}

// everywhere may be imported by any package: they know nothing of the house.
var everywhere = []string{"internal/lazily", "internal/respond"}

// everywhereInTests may be imported by the tests of any package: the suites
// that implementations have to pass, the servers and scripted models they run
// against, and a store for what uses one.
var everywhereInTests = []string{
	"internal/testkit", "channels/channeltest/**", "channels/live/livetest", "sessions/storetest", "sessions/rowstest", "agent/agenttest/**", "agent/mcp/mcptest", "sessions/sqlite/sqlitetest",
}

// Table is the house: every package and its arrows. The first rule that
// matches counts, so the particular stands before the general. A package that
// none matches has no place.
var Table = []Rule{
	// Its tests look at foreign words as networks do.
	{Package: "channels", Tests: []string{"channels/markup"}},
	{Package: "channels/channeltest/**", ForTests: true, Imports: []string{"channels", "channels/channeltest/**", "internal/testkit"}},
	{Package: "channels/live", Imports: []string{"channels"}},
	{Package: "channels/live/livetest", ForTests: true, Imports: []string{"channels", "channels/live"}},
	{Package: "channels/terminal", Imports: []string{"channels", "channels/live"}},
	// How Markdown is read and cut, for the networks that have markup.
	{Package: "channels/markup"},
	// A channel owns its settings, and setting has what these are made of.
	{Package: "channels/*", Imports: []string{"channels", "channels/markup", "internal/setting"}},

	{Package: "sessions", Imports: []string{"channels"}},
	// What the stores share, and the suite that all of them pass.
	{Package: "sessions/spool"},
	{Package: "sessions/rules", Imports: []string{"sessions", "channels"}},
	{Package: "sessions/dispatch", Imports: []string{"sessions", "channels", "sessions/rows", "sessions/rules"}},
	{Package: "sessions/storetest", ForTests: true, Imports: []string{"sessions", "channels", "sessions/rows", "sessions/engine", "internal/testkit"}},
	{Package: "sessions/rowstest", ForTests: true, Imports: []string{"sessions", "channels", "sessions/rows", "sessions/rules", "sessions/rowstest/reference"}},
	{Package: "sessions/rowstest/reference", ForTests: true, Imports: []string{"sessions", "channels", "sessions/rows", "sessions/rules", "sessions/dispatch"}, Tests: []string{"sessions/engine"}},
	{Package: "sessions/sqlite/sqlitetest", ForTests: true, Imports: []string{"sessions/engine", "sessions/sqlite"}},
	{Package: "sessions/exchange", Imports: []string{"sessions", "channels", "sessions/rules", "sessions/spool"}},
	// The kernel below the stores, and the policy above it.
	{Package: "sessions/rows", Imports: []string{"sessions", "channels"}},
	{Package: "sessions/engine", Imports: []string{"sessions", "channels", "sessions/rows", "sessions/rules", "sessions/spool"}},
	// The file store is documents over the rows of sqlite.
	{Package: "sessions/file", Imports: []string{"sessions", "channels", "internal/durable", "sessions/rules", "sessions/rows", "sessions/engine", "sessions/sqlite"}},
	{Package: "sessions/postgres", Imports: []string{"sessions", "channels", "sessions/rules", "sessions/dispatch", "sessions/rows", "sessions/engine"}, Tests: []string{"internal/testkit/pgtest"}},
	// What is erased with a person. Who is one person it asks.
	{Package: "sessions/erasure", Imports: []string{"sessions", "channels", "internal/durable", "internal/people"}},
	{Package: "sessions/*", Imports: []string{"sessions", "channels", "internal/durable", "sessions/rules", "sessions/spool", "sessions/dispatch", "sessions/rows", "sessions/engine"}},

	{Package: "agent", Imports: []string{"agent/recap", "agent/window", "agent/output", "sessions", "channels"}},
	{Package: "agent/recap", Imports: []string{"agent/output", "agent/window", "sessions", "channels"}},
	{Package: "agent/output", Imports: []string{"agent/window", "sessions"}},
	{Package: "agent/window", Imports: []string{"sessions"}, Tests: []string{"channels"}},
	{Package: "agent/agenttest/**", ForTests: true, Imports: []string{"agent", "agent/window", "sessions", "channels", "agent/agenttest/**", "internal/testkit"}},
	// Logins at servers of tools, which know nothing of the tools.
	{Package: "agent/mcp/oauth", Imports: []string{"sessions"}},
	{Package: "agent/mcp", Imports: []string{"agent", "agent/mcp/oauth", "agent/window", "internal/secretword", "sessions"}, Tests: []string{"agent/toolbox/toolboxtest"}},
	// Servers of MCP that misbehave, and good ones. They know nothing of ours.
	{Package: "agent/mcp/mcptest/**", ForTests: true, Imports: []string{"agent/mcp/mcptest"}},
	// A model server: its codecs share wire, models knows what servers have, and
	// provider puts them together.
	{Package: "agent/models", Imports: []string{"agent", "agent/wire"}},
	{Package: "agent/openai", Imports: []string{"agent", "agent/wire", "sessions", "channels"}, Tests: []string{"agent/window"}},
	{Package: "agent/anthropic", Imports: []string{"agent", "agent/wire", "sessions", "channels"}, Tests: []string{"agent/window"}},
	{Package: "agent/provider", Imports: []string{"agent", "agent/window", "agent/wire", "agent/models", "agent/openai", "agent/anthropic", "sessions", "channels"}},
	// Its tests read streams with a real codec.
	{Package: "agent/wire", Imports: []string{"agent", "sessions"}, Tests: []string{"agent/openai"}},
	// It knows tools by what package agent says of them, wherever they come from.
	{Package: "agent/toolbox", Imports: []string{"agent", "agent/window", "sessions"}, Tests: []string{"agent/agenttest", "agent/toolbox/toolboxtest", "channels"}},
	{Package: "agent/toolbox/toolboxtest", ForTests: true, Imports: []string{"agent", "agent/agenttest", "agent/window", "channels", "sessions"}},
	// Instructions that the operator keeps in folders, as a source of tools.
	{Package: "agent/skills", Imports: []string{"agent", "agent/toolbox", "agent/window", "sessions"}, Tests: []string{"agent/toolbox/toolboxtest"}},
	// Whose memory is meant is decided in people; its tests have the real rule.
	{Package: "agent/tools", Imports: []string{"agent", "heartbeat", "sessions", "channels", "internal/webpage", "internal/websearch"}, Tests: []string{"agent/toolbox", "agent/toolbox/toolboxtest", "internal/people", "internal/reminders"}},
	{Package: "agent/*", Imports: []string{"agent", "agent/window", "sessions", "channels"}},

	// Its tests prove that a store fits the Ledger that it declares.
	{Package: "heartbeat", Imports: []string{"channels"}, Tests: []string{"sessions"}},

	{Package: "internal/testkit", ForTests: true},
	{Package: "internal/testkit/pgtest", ForTests: true, Imports: []string{"internal/testkit"}},
	{Package: "internal/testkit/chromium", ForTests: true, Imports: []string{"internal/testkit"}},
	{Package: "internal/archtest", ForTests: true},
	{Package: "internal/durable"},
	{Package: "internal/lazily"},
	// Which names are those of secrets.
	{Package: "internal/secretword"},
	// What structs of settings are made of, wherever they are.
	{Package: "internal/setting", Imports: []string{"internal/secretword"}},
	// The form of answers and refusals, which channels/live and its client speak too.
	{Package: "internal/respond"},
	{Package: "internal/database", Tests: []string{"internal/testkit/pgtest"}},
	{Package: "internal/media", Imports: []string{"channels"}, Tests: []string{"internal/testkit/pgtest"}},
	{Package: "internal/stream", Imports: domain},
	// What a turn spends its time on, for a collector. It knows no type of ours.
	{Package: "internal/trace"},
	// Signatures and templates of messages between servers, and the server for those of others.
	{Package: "internal/webhook"},
	{Package: "internal/incoming", Imports: []string{"channels", "internal/respond", "internal/webhook"}},
	{Package: "internal/hooks", Imports: join(domain, "internal/stream", "internal/webhook")},
	{Package: "internal/alerts", Imports: []string{"channels"}},
	{Package: "internal/linking", Imports: []string{"channels"}},
	// Errors as people read them.
	{Package: "internal/plain", Imports: []string{"sessions"}},
	// What people and servers send, as text.
	{Package: "internal/webpage"},
	{Package: "internal/sandbox"},
	{Package: "internal/hearing"},
	{Package: "internal/drawing"},
	{Package: "internal/speaking", Imports: []string{"channels", "channels/markup"}},
	{Package: "internal/websearch", Imports: []string{"internal/webpage"}},
	{Package: "internal/documents", Imports: []string{"internal/webpage"}, Tests: []string{"internal/sandbox"}},
	{Package: "internal/backup", Imports: []string{"sessions", "channels"}},
	// The figures of the last hour, which hears them from the metrics.
	// The newest records of the log. Its tests log secrets.
	{Package: "internal/logtail", Tests: []string{"internal/setting"}},
	{Package: "internal/health", Imports: []string{"sessions"}},
	{Package: "internal/metrics", Imports: domain, Tests: []string{"internal/gateway"}},
	// It reads the table of presets and the names of events, which are plain data,
	// and has the heartbeat check schedules. It knows no type of channel; its tests read
	// the settings of all.
	{Package: "internal/config", Imports: []string{"channels", "heartbeat", "agent/window", "internal/admission", "internal/stream", "internal/setting", "internal/webhook", "internal/websearch"}, Tests: []string{"channels/*", "internal/app"}},
	// Who asks, and what they may do.
	{Package: "internal/people", Imports: domain},
	// What a turn must pass before it asks the model.
	{Package: "internal/admission", Imports: domain},
	{Package: "internal/usage", Imports: domain},
	// How much may be used.
	{Package: "internal/budget", Imports: join(domain, "internal/admission"), Tests: []string{"internal/testkit/pgtest", "sessions/*"}},
	{Package: "internal/reminders", Imports: domain},
	{Package: "internal/background", Imports: []string{"channels", "sessions"}},
	// Which persona answers where, and the files of their prompts.
	{Package: "internal/personas", Imports: domain},
	// What needs a yes, and who said it.
	{Package: "internal/actions", Imports: domain},
	{Package: "internal/forms", Imports: domain},
	{Package: "internal/gateway", Imports: join(domain, "internal/actions", "internal/forms", "internal/admission", "internal/people", "agent/recap", "agent/window", "internal/stream", "internal/metrics", "internal/trace"), Tests: []string{"agent/tools", "internal/media", "internal/alerts", "internal/budget", "internal/personas", "internal/reminders", "internal/testkit/pgtest", "sessions/postgres", "sessions/engine"}},
	// The description of the API, which it serves.
	{Package: "docs"},
	{Package: "internal/api", Imports: join(domain, "docs", "internal/actions", "internal/usage", "internal/web", "internal/people", "internal/stream", "internal/metrics", "internal/plain", "internal/logtail", "sessions/erasure", "sessions/exchange")},
	// OpenAI's API over the agent, and what it keeps for repeats.
	{Package: "internal/openai", Imports: join(domain, "agent/window", "internal/people", "internal/stream")},
	// Other agents, by the verbs of the API.
	{Package: "internal/mcpserver", Imports: []string{"channels", "internal/api", "internal/plain"}, Tests: []string{"internal/people", "sessions"}},
	// The front door knows who comes in, and nothing of what is behind it.
	{Package: "internal/web", Imports: join(domain, "internal/people", "internal/stream", "internal/plain")},
	// The page's files, and pictures of codes. The channel behind it is in its tests.
	{Package: "internal/console", Imports: []string{"internal/people", "internal/web"}, Tests: []string{"channels/markup", "internal/testkit/chromium"}},

	// These know the whole house: the one that wires it, and those that run
	// it as a whole to break or to measure it.
	{Package: "internal/app/**", Imports: []string{"**"}, TestsBehind: "crashpoints"},
	{Package: "internal/crash*/**", Imports: []string{"**"}, ForTests: true},
	{Package: "internal/bench*/**", Imports: []string{"**"}, ForTests: true},
	{Package: "internal/story/**", Imports: []string{"**"}, ForTests: true},
	{Package: "internal/livetest/**", Imports: []string{"**"}, ForTests: true},

	// The models that a configuration names, with what is known of them.
	{Package: "internal/llm", Imports: []string{"agent", "agent/demo", "agent/models", "agent/provider", "agent/wire", "sessions", "internal/config", "internal/media", "internal/metrics", "internal/trace"}},

	// What a configuration keeps, and copies of all of it.
	{Package: "internal/storage", Imports: []string{"channels", "channels/whatsapp", "sessions/**", "internal/backup", "internal/config", "internal/database", "internal/durable", "internal/api", "internal/web", "internal/llm", "internal/plain", "internal/media"}},

	// The verbs talk to a running daemon through the client in api and
	// print what the domain's types hold.
	{Package: "cmd/dragoman", Imports: []string{"agent/skills", "internal/app", "internal/backup", "internal/config", "internal/durable", "internal/api", "internal/linking", "internal/llm", "internal/mcpserver", "internal/plain", "internal/people", "internal/storage", "channels", "sessions", "sessions/erasure", "sessions/exchange"}, Tests: []string{"internal/testkit/pgtest", "internal/usage"}},
}

func join(some []string, more ...string) []string {
	return append(append([]string{}, some...), more...)
}
