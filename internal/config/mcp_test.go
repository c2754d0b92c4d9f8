package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMCPServers(t *testing.T) {
	const good = "command: [node, /opt/mcp/index.js]"
	for text, problem := range map[string]string{
		good: "",
		good + ", env: {API_KEY: x}, tools: {'*': ask, echo: allow}, effects: {echo: read}":                                                              "",
		"url: 'https://tools.example/mcp', token: abc, headers: {X-Team: a}":                                                                             "",
		"url: 'http://127.0.0.1:9000/mcp', protocol: 2025-11-25":                                                                                         "",
		"url: 'https://a.example', oauth: {client_id: a, client_secret: b, scopes: [x], issuer: 'https://b.example', redirect: 'http://localhost:1/cb'}": "",
		"url: 'https://a.example', oauth: {scopes: [x]}":                                                                                                 "client_id",
		good + ", oauth: {client_id: a}":                                                                                                                 "only for a url",
		"url: 'https://a.example', token: b, oauth: {client_id: a}":                                                                                      "so is what oauth gets",
		"url: 'https://a.example', headers: {authorization: b}, oauth: {client_id: a}":                                                                   "and so does oauth",
		"url: 'https://a.example', oauth: {client_id: a, scopes: ['x y']}":                                                                               "scope with a space",
		"url: 'https://a.example', oauth: {client_id: a, issuer: 'http://b.example'}":                                                                    "unencrypted",
		"url: 'https://a.example', oauth: {client_id: a, redirect: 'https://b.example/cb'}":                                                              "no address of this machine",
		"url: 'https://a.example', oauth: {client_id: a, redirect: 'http://127.0.0.1/cb'}":                                                               "no address of this machine",
		"url: 'https://a.example', oauth: {client_id: a, redirect: 'http://10.0.0.1:1/cb'}":                                                              "no address of this machine",
		"command: [npx, '@a/server@1.2.3']":                                                                                                              "",
		"command: [npx, --package, '@a/server@1.2.3']":                                                                                                   "",
		"command: [docker, run, 'tools:1.2']":                                                                                                            "",
		"enabled: false":                                                                                                                                 "has neither a command nor a url",
		good + ", url: 'https://a.example'":                                                                                                              "has both a command and a url",
		good + ", token: abc":                                                                                                                            "only a url needs",
		good + ", protocol: '1999'":                                                                                                                      "is not a known value",
		good + ", tools: {echo: maybe}":                                                                                                                  "is not a known value",
		good + ", effects: {echo: none}":                                                                                                                 "is not a known value",
		good + ", env: {'A B': x}":                                                                                                                       "is not the name of a variable",
		"url: 'http://tools.example'":                                                                                                                    "unencrypted",
		"url: 'https://a.example', env: {A: b}":                                                                                                          "only for a command",
		"url: 'https://a.example', token: abc, headers: {authorization: x}":                                                                              "which headers has too",
		"command: [npx, -y, '@a/server@1.2.3']":                                                                                                          "without a look",
		"command: [/usr/bin/npx, --yes, '@a/server@1.2.3']":                                                                                              "without a look",
		"command: [npx, '@a/server']":                                                                                                                    "without the number of its version",
		"command: [npm, exec, '@a/server']":                                                                                                              "without the number of its version",
		"command: [uvx, server]":                                                                                                                         "without the number of its version",
		"command: [uvx, server==1.2]":                                                                                                                    "",
		"command: [npx, '@a/server@latest']":                                                                                                             "latest version",
		"command: [docker, run, 'tools:latest']":                                                                                                         "latest version",
		"command: [docker, run, -i, --rm, tools]":                                                                                                        "without the number of its version",
		"command: [/usr/bin/docker, run, -it, -e, A, 'tools:stable']":                                                                                    "without the number of its version",
		"command: [docker, --context, x, run, -ie, A, --name=b, --net, none, a/tools, x@1.2]":                                                            "without the number of its version",
		"command: [podman, run, -eA=b, --replace, --tls-verify=false, 'localhost:5000/tools']":                                                           "without the number of its version",
		"command: [docker, run, -p, '80:80', -v/a:/b, 'localhost:5000/tools:v1.2', x]":                                                                   "",
		"command: [docker, run, 'tools@sha256:" + strings.Repeat("0a", 32) + "']":                                                                        "",
		"command: [docker, exec, -i, tools, server]":                                                                                                     "",
		"command: ['']": "is empty",
	} {
		_, err := load(t, "mcp: {servers: {files: {"+text+"}}}")
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("{%s}: %v, want %q", text, err, problem)
		}
	}
	for _, name := range []string{"Files", "a_b", "-", strings.Repeat("x", 25)} {
		_, err := load(t, "mcp: {servers: {"+name+": {"+good+"}}}")
		if err == nil || !strings.Contains(err.Error(), "is not the name of a server of tools") {
			t.Errorf("the name %s: %v", name, err)
		}
	}
	c, err := load(t, "mcp: {servers: {b: {"+good+", trust_hints: true}, a: {url: 'https://a.example', tools: {x: allow, y: deny}}, c: {"+good+", enabled: false}}}")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, name := range c.EnabledMCP() {
		said += name + ": " + c.MCP.Servers[name].Where() + c.MCP.Servers[name].Asks(name) + "\n"
	}
	const want = "a: https://a.example; without a question: x; once it has run, say dragoman mcp accept a, or people are asked more often\nb: the program node /opt/mcp/index.js; it is believed which tools only read\n"
	if said != want {
		t.Errorf("the servers are %q, want %q", said, want)
	}
	if _, err := load(t, c.Effective()); err != nil {
		t.Errorf("the effective configuration does not load: %v", err)
	}
}

// A secret among the arguments of a program is nowhere to be read, and check says where it belongs.
func TestOpenSecretsOfPrograms(t *testing.T) {
	const secret = "ghp_0123456789abcdefghij"
	c, err := load(t, `mcp: {servers: {a: {command: [/opt/a, "--token=${T}", --key, hunter2, /srv/data]}, b: {url: "https://b.example/s/0123456789abcdefgh/mcp"}, c: {command: [/opt/c, --port, "80"]}}}
hooks: [{on: [turn_done], command: [/bin/true, --token, `+secret+`]}, {on: [turn_done], url: "https://hooks.example/services/`+secret+`"}]`, "T="+secret)
	if err != nil {
		t.Fatal(err)
	}
	var warned, shown strings.Builder
	for _, w := range c.Warnings() {
		warned.WriteString(w.String() + "\n")
	}
	settings, err := c.Shown()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		shown.WriteString(s.Value + "\n")
	}
	for _, name := range c.EnabledMCP() {
		shown.WriteString(c.MCP.Servers[name].Where() + "\n")
	}
	shown.WriteString(c.Effective())
	for _, text := range []string{shown.String(), warned.String(), fmt.Sprint(c.MCP, c.Hooks)} {
		for _, s := range []string{secret, "hunter2", "0123456789abcdefgh"} {
			if strings.Contains(text, s) {
				t.Errorf("%s is shown:\n%s", s, text)
			}
		}
	}
	if !strings.Contains(shown.String(), "the program /opt/a --token=<hidden> --key <hidden> /srv/data\nhttps://b.example/s/<hidden>/mcp\n") {
		t.Errorf("the servers are shown as %s", shown.String())
	}
	for path, is := range map[string]bool{"mcp.servers.a.command: has what looks like a secret": true, "hooks[0].command: has what looks": true, "servers.c": false} {
		if strings.Contains(warned.String(), path) != is {
			t.Errorf("%s: warned is %v in:\n%s", path, !is, warned.String())
		}
	}
	for _, s := range []string{secret, "hunter2", "0123456789abcdefgh"} {
		if !slices.Contains(c.Secrets(), s) {
			t.Errorf("the log does not hide %s: %q", s, c.Secrets())
		}
	}
}
