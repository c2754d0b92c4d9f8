package config

import (
	"net/url"
	"slices"
	"strings"

	"dragoman/internal/setting"
)

// MCPLogin is the login at a server of tools that wants OAuth, as a client that was registered
// there beforehand.
type MCPLogin struct {
	ClientID     string   `yaml:"client_id,omitempty" is:"line" empty:"ok" doc:"For a url that wants OAuth: the id of the client that you have registered there. Then say dragoman mcp login NAME. docs/mcp-servers.md says what to register."`
	ClientSecret Secret   `yaml:"client_secret,omitempty" is:"key" empty:"ok" doc:"Its secret, if it has one."`
	Scopes       []string `yaml:"scopes,flow,omitempty" doc:"What to ask for. Empty: what the server names."`
	Issuer       string   `yaml:"issuer,omitempty" is:"private url" empty:"ok" doc:"The authorization server, if it is none that the url names, or not on the public internet: then no other is used. Empty: the one that the url names."`
	Redirect     string   `yaml:"redirect,omitempty" default:"http://127.0.0.1:8419/callback" doc:"Where the browser is sent back, as it was registered: an address of this machine with a port."`
}

// mcpLogin checks the login at a server of tools.
func (v *validator) mcpLogin(server string, s MCPServer) {
	o := s.OAuth
	at := server + ".oauth"
	if o.ClientID == "" {
		if o.ClientSecret.IsSet() || len(o.Scopes) > 0 || o.Issuer != "" {
			v.bad(at+".client_id", "is missing", "write the id of the client that you have registered")
		}
		return
	}
	if s.URL == "" {
		v.bad(at, "is only for a url", "remove it")
	}
	for header := range s.Headers {
		if strings.EqualFold(header, "Authorization") {
			v.bad(server+".headers", "has Authorization, and so does oauth", "write one of them")
		}
	}
	if s.Token.IsSet() {
		v.bad(server+".token", "is sent as Authorization, and so is what oauth gets", "write one of them")
	}
	if slices.ContainsFunc(o.Scopes, func(one string) bool { return one == "" || strings.ContainsAny(one, " \t\r\n\"\\") }) {
		v.bad(at+".scopes", "has a scope with a space, or an empty one", "write a list: [read, write]")
	}
	u, err := url.Parse(o.Redirect)
	if err != nil || u.Scheme != "http" || !setting.Loopback(u.Hostname()) || u.Port() == "" || u.Port() == "0" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		v.bad(at+".redirect", "is no address of this machine with a port", "write it as you have registered it, like http://127.0.0.1:8419/callback")
	}
}
