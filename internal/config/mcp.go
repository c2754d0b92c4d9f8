package config

import (
	"path/filepath"
	"slices"
	"strings"

	"dragoman/internal/lazily"
)

// MCP says what other agents may do that speak the Model Context Protocol, and whose tools
// the model may use.
type MCP struct {
	Serve bool `yaml:"serve" default:"true" doc:"Let other agents list, read and search conversations at /mcp of the page's address, by the Model Context Protocol, with the scope of their token. false: only dragoman mcp serve does, for programs of this machine."`
	Send  bool `yaml:"send" default:"false" doc:"true also lets them write into conversations, as the person of their token."`
	// Servers have tools for the model.
	Servers map[string]MCPServer `yaml:"servers,omitempty" names:"mcp server"`
}

// MCPServer is a server whose tools the model may use, by the Model Context Protocol.
type MCPServer struct {
	Command    Program           `yaml:"command,flow,omitempty" repeat:"ok" doc:"A program and its arguments, started without a shell. It has the rights of the daemon's user, or under dragoman-mcp.socket another user's, and no variable of the daemon but PATH. Set either command or url. docs/mcp-servers.md has examples."`
	Env        map[string]Secret `yaml:"env,omitempty" names:"variable" doc:"Variables for the program, for example its key. They are treated as secrets."`
	URL        Address           `yaml:"url,omitempty" is:"private url" empty:"ok" doc:"Where the server is: https, or http on this machine."`
	Token      Secret            `yaml:"token,omitempty" is:"key" empty:"ok" doc:"Sent to url, as Authorization: Bearer."`
	Headers    map[string]Secret `yaml:"headers,omitempty" names:"header name" is:"header" empty:"ok" doc:"HTTP headers for url. Their values are treated as secrets."`
	Protocol   string            `yaml:"protocol,omitempty" oneof:"2025-11-25 2025-06-18 2025-03-26" empty:"ok" doc:"The revision of the protocol to begin with, for an older server that does not answer to the newest. Empty: the newest, and what the server says."`
	Enabled    bool              `yaml:"enabled" default:"true" doc:"false: the server is not used."`
	Tools      map[string]string `yaml:"tools,omitempty" oneof:"allow ask deny" doc:"A rule for each tool, by the name that the server has for it, and for the others with \"*\". ask: a person is asked before each call. allow: only after foreign words were read. deny: the tool is not offered. Without a rule it is ask."`
	Effects    map[string]string `yaml:"effects,omitempty" oneof:"read own out run" doc:"What calls of a tool do, by its name: read changes nothing and tells nobody anything, so nobody is asked, and it is called again after a failure. Others are out: words leave."`
	TrustHints bool              `yaml:"trust_hints" default:"false" doc:"true believes a server that says of a tool that it only reads, and how it describes its tools. Unset: until you have said dragoman mcp accept, a person is asked as after foreign words."`
	OAuth      MCPLogin          `yaml:"oauth,omitempty"`
}

// EnabledMCP are the names of the servers that are used, sorted.
func (c *Config) EnabledMCP() (names []string) {
	for _, name := range sortedKeys(c.MCP.Servers) {
		if c.MCP.Servers[name].Enabled {
			names = append(names, name)
		}
	}
	return names
}

// Where is the program or the address of the server, for people, without what may be a secret.
func (s MCPServer) Where() string {
	if len(s.Command) > 0 {
		return "the program " + s.Command.String()
	}
	return s.URL.Shown()
}

// Asks says what a person is not asked about, and what is asked for once, as a part of a
// sentence after Where. name is that of the server.
func (s MCPServer) Asks(name string) (said string) {
	var allowed []string
	for _, tool := range sortedKeys(s.Tools) {
		if s.Tools[tool] == ToolAllow {
			allowed = append(allowed, tool)
		}
	}
	if len(allowed) > 0 {
		said = "; without a question: " + strings.Join(allowed, ", ")
	}
	if s.OAuth.ClientID != "" {
		said += "; it wants a login by OAuth"
	}
	if s.TrustHints {
		return said + "; it is believed which tools only read"
	}
	return said + "; once it has run, say dragoman mcp accept " + name + ", or people are asked more often"
}

// mcp checks the servers of tools.
func (v *validator) mcp() {
	for _, name := range sortedKeys(v.c.MCP.Servers) {
		s := v.c.MCP.Servers[name]
		at := "mcp.servers." + name
		switch {
		case len(s.Command) == 0 && s.URL == "":
			v.bad(at, "has neither a command nor a url", "write command: [PROGRAM, ARGUMENT], or url: https://…")
		case len(s.Command) > 0 && s.URL != "":
			v.bad(at, "has both a command and a url", "write one of them")
		case len(s.Command) > 0 && (s.Token.IsSet() || len(s.Headers) > 0):
			v.bad(at, "has a token or headers, which only a url needs", "write env, if the program needs a key")
		case s.URL != "" && len(s.Env) > 0:
			v.bad(at+".env", "is only for a command", "write token or headers")
		}
		for header := range s.Headers {
			if s.Token.IsSet() && strings.EqualFold(header, "Authorization") {
				v.bad(at+".token", "is sent as Authorization, which headers has too", "write one of them")
			}
		}
		v.mcpLogin(at, s)
		if what, want := commandFlaw(s.Command); what != "" {
			v.bad(at+".command", what, want)
		}
		v.openSecret(at+".command", s.Command, `write it in env, like env: {API_KEY: "${file:/run/credentials/key}"}, if the program reads a variable`)
	}
}

// openSecret warns of a secret among the arguments of a program.
func (v *validator) openSecret(path string, p Program, want string) {
	if len(p.Secrets()) > 0 {
		v.warn(path, "has what looks like a secret, and everybody on this machine can read the arguments of a program that runs", want)
	}
}

// fetchers are programs that fetch another one and run it.
var fetchers = []string{"npx", "bunx", "pnpx", "uvx", "pipx"}

// numbered is a package or a picture of a container with the number of a version.
var numbered = lazily.Compile(`(@|==|:)v?[0-9]`)

// commandFlaw refuses commands that run whatever somebody else has published by the time of
// the start.
func commandFlaw(command []string) (what, want string) {
	const install = "install it beforehand (npm install --prefix DIR PACKAGE@1.2.3), and write command: [node, DIR/node_modules/PACKAGE/…/index.js]"
	if len(command) == 0 {
		return "", ""
	}
	program := filepath.Base(command[0])
	args := command[1:]
	if len(args) > 0 && slices.Contains([]string{"npm exec", "npm x", "pnpm dlx", "yarn dlx", "bun x", "uv tool", "pipx run"}, program+" "+args[0]) {
		program = "npx"
		args = args[1:]
	}
	switch {
	case strings.TrimSpace(program) == "" || program == ".":
		return "is empty", "write a program"
	case slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, "@latest") || strings.HasSuffix(a, ":latest") }):
		return "starts whatever is the latest version then", "write a version with a number"
	case slices.Contains(containers, program) && isUnnumbered(args):
		return "starts an image without the number of its version", "write a tag with a number, or better the digest: NAME@sha256:…"
	case !slices.Contains(fetchers, program):
		return "", ""
	case slices.Contains(args, "-y") || slices.Contains(args, "--yes"):
		return "fetches a program and runs it without a look", install
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			if numbered.Matches(arg) {
				return "", ""
			}
			break
		}
	}
	return "fetches a program without the number of its version", install
}
