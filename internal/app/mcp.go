package app

import (
	"context"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/oauth"
	"dragoman/agent/skills"
	"dragoman/agent/toolbox"
	"dragoman/agent/tools"
	"dragoman/internal/api"
	"dragoman/internal/config"
)

// homesName is the folder with HOME of each program that is a server of tools.
const homesName = "mcp"

// openMCP makes the pool of servers of tools; there is none without one in the configuration.
// It starts none of them.
func (d *Daemon) openMCP() {
	var servers []mcp.Server
	for _, name := range d.cfg.EnabledMCP() {
		if mayHaveAny(d.cfg, name) {
			servers = append(servers, serverOf(name, d.cfg.MCP.Servers[name]))
		}
	}
	if len(servers) == 0 {
		return
	}
	d.launch = launcher()
	d.mcp = mcp.New(servers, d.store, mcp.Options{
		Version: d.opts.Version, Home: d.state.File(homesName), Launch: d.launch, Hold: d.store.Hold, Public: tools.Public, Logger: d.log,
	})
	d.onClose("the servers of tools", d.mcp.Close)
}

func serverOf(name string, c config.MCPServer) mcp.Server {
	s := mcp.Server{
		Name: name, Command: c.Command, URL: string(c.URL), Protocol: c.Protocol, TrustHints: c.TrustHints,
		Env: map[string]string{}, Headers: map[string]string{}, Effects: map[string]agent.Effect{},
		May: func(own string) bool { return ruleOf(c, own) != config.ToolDeny },
	}
	for key, value := range c.Env {
		s.Env[key] = value.Reveal()
	}
	for key, value := range c.Headers {
		s.Headers[key] = value.Reveal()
	}
	if c.Token.IsSet() {
		s.Headers["Authorization"] = "Bearer " + c.Token.Reveal()
	}
	if c.OAuth.ClientID != "" {
		s.OAuth = &oauth.Settings{
			Server: name, URL: string(c.URL), ClientID: c.OAuth.ClientID, ClientSecret: c.OAuth.ClientSecret.Reveal(),
			Scopes: c.OAuth.Scopes, Issuer: c.OAuth.Issuer, Redirect: c.OAuth.Redirect,
		}
	}
	for own, effect := range c.Effects {
		s.Effects[own] = agent.Effect(effect)
	}
	return s
}

// sources are what lends tools beside the built-in ones.
func (d *Daemon) sources() (list []toolbox.Source) {
	if d.cfg.Skills.Dir != "" {
		list = append(list, skills.Open(skills.Options{Dir: d.cfg.Skills.Dir, Pins: skillPins(d.cfg), Log: d.log}))
	}
	if d.mcp != nil {
		list = append(list, d.mcp)
	}
	return list
}

// missingTools lists the servers whose tools the model lacks, with why; "" if none.
func (d *Daemon) missingTools(ctx context.Context) string {
	if d.mcp == nil {
		return ""
	}
	var said []string
	for _, m := range d.mcp.Missing(ctx) {
		said = append(said, m.Server+" ("+m.Why+")")
	}
	return strings.Join(said, "; ")
}

var _ = feature(func(cfg *config.Config, d *Daemon) (list []api.Feature) {
	names := cfg.EnabledMCP()
	if len(names) == 0 {
		return []api.Feature{{Name: "mcp", State: api.FeatureOff, Says: "the model has no tools of servers: set mcp.servers"}}
	}
	if d == nil || d.mcp == nil {
		for _, name := range names {
			c := cfg.MCP.Servers[name]
			list = append(list, api.Feature{Name: "mcp " + name, State: api.FeatureOn, Says: c.Where() + groundOf(c, launcher()) + c.Asks(name)})
		}
		return list
	}
	for _, s := range d.mcp.Status(context.Background()) { // what was read from the store a moment ago, mostly
		list = append(list, d.serverFeature(s))
	}
	return list
})

// toolCount is so many tools, in words.
func toolCount(n int) string {
	if n == 1 {
		return "1 tool"
	}
	return fmt.Sprintf("%d tools", n)
}

// serverFeature says how a server is, and what is wrong with it.
func (d *Daemon) serverFeature(s mcp.Status) api.Feature {
	f := api.Feature{Name: "mcp " + s.Server, State: api.FeatureOn}
	said := []string{fmt.Sprintf("%s, %s", s.State, toolCount(s.Tools))}
	if s.Since.IsZero() {
		said = []string{string(s.State) + ", nothing was accepted yet"}
	}
	if s.Login != nil && s.Login.Why == "" {
		said = append(said, "logged in")
	}
	if s.Why != "" {
		f.State = api.FeatureFailing
		said = append(said, s.Why)
	}
	if len(s.Waiting) > 0 {
		f.State = api.FeatureFailing
		said = append(said, fmt.Sprintf("new or changed tools are not offered (%s): %s", strings.Join(s.Waiting, ", "), d.opts.Command("mcp accept "+s.Server)))
	}
	if s.Unread > 0 {
		said = append(said, "people are asked more often until you have read what its tools say: "+d.opts.Command("mcp accept "+s.Server))
	}
	said[0] += groundOf(d.cfg.MCP.Servers[s.Server], d.launch)
	f.Says = strings.Join(append(said, s.Odd...), "; ")
	return f
}
