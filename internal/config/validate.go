package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"dragoman/internal/websearch"
)

// validator checks how settings fit together, which the tags of single settings
// cannot say. It also completes values that depend on others: paths become
// absolute, and empty values get their defaults.
type validator struct {
	*decoder
	c        *Config
	warnings Problems
}

func (v *validator) run() {
	v.paths()
	v.store(v.c.Store)
	v.roles()
	v.http(v.c.HTTP)
	v.model(v.c.Model)
	v.agent(&v.c.Agent)
	v.agents()
	v.toolRules()
	v.routes()
	v.summary()
	v.prices(v.c)
	v.prune()
	v.media(&v.c.Media)
	v.channels()
	v.heartbeat(&v.c.Heartbeat)
	v.hooks()
	v.incomingWebhooks()
	v.webSearch(v.c.WebSearch)
	v.mcp()
	v.plain("hearing.url", v.c.Hearing.URL, v.c.Hearing.APIKey.IsSet())
	v.plain("speaking.url", v.c.Speaking.URL, v.c.Speaking.APIKey.IsSet())
	v.drawing(v.c.Drawing)
	v.plain("traces.url", v.c.Traces.URL, len(v.c.Traces.Headers) > 0)
	if v.c.Alerts.To != "" {
		v.target("alerts.to", v.c.Alerts.To)
	}
}

// bad reports a problem at the line of path or, if the file does not have it, at
// the line of the nearest section around it.
func (v *validator) bad(path, what, want string) { v.problem(v.line(path), path, what, want) }

func (v *validator) warn(path, what, want string) {
	v.warnings = append(v.warnings, Problem{File: v.file, Line: v.line(path), Path: path, What: what, Want: want})
}

func (v *validator) line(path string) int {
	for path != "" {
		if m, ok := v.marks[path]; ok {
			return m.line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// written reports whether the file has a value at path.
func (v *validator) written(path string) bool {
	_, ok := v.marks[path]
	return ok
}

// show quotes a value, unless it came from a variable or a file.
func (d *decoder) show(path, value string) string {
	if d.marks[path].expanded || len(value) > 60 {
		return "this"
	}
	return strconv.Quote(value)
}

func (v *validator) paths() {
	c := v.c
	if strings.TrimSpace(c.StateDir) == "" {
		v.bad("state_dir", "is empty", "give it a path, or remove the line")
		return
	}
	c.StateDir = v.opts.absolute(c.StateDir, v.base)
	c.Workspace = v.opts.absolute(cmp.Or(c.Workspace, filepath.Join(c.StateDir, "workspace")), v.base)
	if rel, err := filepath.Rel(c.Workspace, c.StateDir); err == nil && !strings.HasPrefix(rel, "..") {
		v.bad("workspace", "the state directory is inside it, so the model's tools could reach the database", "name another folder")
	}
	if why := v.unsafe(c.Workspace); why != "" {
		v.bad("workspace", why, "name a separate folder")
	}
	v.skills()
}

// skills finds the folder of skills. The model must not be able to write into it.
func (v *validator) skills() {
	c := v.c
	if c.Skills.Dir == "" {
		return
	}
	c.Skills.Dir = v.opts.absolute(c.Skills.Dir, v.base)
	info, err := os.Stat(c.Skills.Dir)
	switch {
	case v.inWorkspace(c.Skills.Dir) || c.Skills.Dir == c.Workspace:
		v.bad("skills.dir", "is in the workspace, so the model's tools could rewrite the skills", "move the folder out of the workspace")
	case err != nil:
		v.warn("skills.dir", "there is no such folder, so the model is offered no skills", "make it, or remove the line")
	case !info.IsDir():
		v.bad("skills.dir", "is not a folder", "name a folder that has one folder for each skill")
	}
}

func (v *validator) roles() {
	all := v.c.Has(RoleChannels) && v.c.Has(RoleTurns) && v.c.Has(RoleJobs)
	switch kind := v.c.Store.Type; {
	case len(v.c.Roles) == 0:
		v.bad("roles", "is empty: this daemon would do nothing", "remove the line, or write one of channels, turns and jobs")
	case !all && kind != "postgres":
		v.bad("roles", "a store of type "+kind+" has one daemon, which has to do everything", "remove the line, or write store: {type: postgres}")
	}
}

func (v *validator) store(s Store) {
	if s.Type == "postgres" && !s.URL.IsSet() {
		v.bad("store.url", "is empty, but postgres needs it", "write ${file:PATH} or ${VARIABLE} with postgres://USER:PASSWORD@HOST:PORT/DATABASE in it")
	}
	if s.Type == "postgres" && crossesInClear(s.URL.Reveal()) {
		v.warn("store.url", "conversations and the password may cross the network unencrypted", "write sslmode=verify-full")
	}
}

// crossesInClear reports whether a url names a database on another machine without asking
// for TLS: PostgreSQL's default tries it and goes on without it.
func crossesInClear(text string) bool {
	u, err := url.Parse(text)
	if err != nil || slices.Contains([]string{"require", "verify-ca", "verify-full"}, u.Query().Get("sslmode")) {
		return false
	}
	for _, host := range strings.Split(u.Host, ",") {
		name := host
		if h, _, err := net.SplitHostPort(host); err == nil {
			name = h
		}
		ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if name != "" && name != "localhost" && (err != nil || !ip.IsLoopback()) {
			return true
		}
	}
	return false
}

// unsafe says why the model's tools must not reach the folder at path, wherever
// links lead from it; "" if they may.
func (v *validator) unsafe(path string) string {
	for _, at := range []string{path, RealPath(path)} {
		if at == "/" || at == v.opts.Home || at == RealPath(v.opts.Home) {
			return "holds all your files, and the model's tools could read and write them"
		}
		for _, system := range []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr"} {
			if at == system || strings.HasPrefix(at, system+"/") {
				return "is in " + system + ", which belongs to the system"
			}
		}
	}
	return ""
}

// RealPath resolves the links in path, as far as path exists.
func RealPath(path string) string {
	if got, err := filepath.EvalSymlinks(path); err == nil {
		return got
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(RealPath(dir), filepath.Base(path))
	}
	return path
}

// tokenAlone refuses a page token that is also another secret: whoever learns one
// would have the other.
func (v *validator) tokenAlone(token Secret) {
	others := map[string]Secret{"model.api_key": v.c.Model.APIKey}
	for name, ch := range v.c.Channels {
		for _, f := range fieldsOf(reflect.ValueOf(ch)) {
			if f.tag.Get("apart") == "yes" {
				others["channels."+name+"."+f.name] = f.value.Interface().(Secret)
			}
		}
	}
	for _, path := range sortedKeys(others) {
		if !token.IsZero() && others[path].Reveal() == token.Reveal() {
			v.bad("http.token", "is the same as "+path, "make a separate one with: openssl rand -hex 32")
		}
	}
}

func (v *validator) http(h HTTP) {
	v.tokenAlone(h.Token)
	v.namedByProxy(h)
	for i, network := range h.Proxies() {
		if isWorldly(network) {
			v.warn(fmt.Sprintf("http.trusted_proxies[%d]", i), "trusts addresses of people anywhere, who could then claim any address of their own", "write the address of the proxy alone, like 127.0.0.1")
		}
	}
	wrong, _ := listenFlaw(h.Listen)
	if wrong == "" && h.Reachable() {
		v.warn("http.listen", "the page and its token cross the network unencrypted", "put a TLS proxy in front and listen on 127.0.0.1")
	}
}

// The widest networks that somebody may own: 10.0.0.0/8 and fc00::/7.
const (
	widest4 = 8
	widest6 = 7
)

// isWorldly reports whether a network is so wide that it has other people's addresses.
func isWorldly(network netip.Prefix) bool {
	if network.Addr().Is4() {
		return network.Bits() < widest4
	}
	return network.Bits() < widest6
}

func (v *validator) model(m Model) {
	v.plain("model.base_url", m.BaseURL, m.APIKey.IsSet() || len(m.ExtraHeaders) > 0)
	if m.Type == "openai" && m.BaseURL == "" {
		v.bad("model.base_url", "is needed for model.type openai", "write the address of the API, like http://127.0.0.1:11434/v1")
	}
	if m.Type == "demo" && (m.BaseURL != "" || m.APIKey.IsSet()) {
		v.bad("model.type", "demo uses neither base_url nor api_key, but one of them is set", "remove them, or write openai")
	}
	if m.BaseURL != "" && m.Name == "" {
		v.bad("model.name", "is needed with model.base_url", "write the model's name as that server knows it")
	}
	if m.MaxTokens >= m.ContextWindow && m.ContextWindow >= 2048 {
		v.bad("model.max_tokens", "leaves no room in model.context_window for a question", fmt.Sprintf("write less than %d", m.ContextWindow))
	}
	for i, o := range m.Others {
		path := fmt.Sprintf("model.others[%d].name", i)
		switch {
		case strings.TrimSpace(o.Name) == "":
			v.bad(path, "is needed", "write the model's name as its server knows it")
		case o.Name == m.Name:
			v.bad(path, "is the configured model", "write its context_window and prices under model itself")
		}
	}
	for i, name := range m.Fallback {
		if name == m.Name {
			v.bad(fmt.Sprintf("model.fallback[%d]", i), "is the configured model", "write the name of another model of the same server")
		}
	}
}

// plain warns if everybody on the network could read a key.
func (v *validator) plain(path, address string, withSecret bool) {
	if withSecret && unencrypted(address) {
		v.warn(path, "the key crosses the network unencrypted", "write https://")
	}
}

func (v *validator) drawing(d Drawing) {
	switch {
	case d.URL == "" && (d.Model != "" || d.APIKey.IsSet()):
		v.bad("drawing.url", "is needed", "write where the server is, up to and with /v1")
	case d.URL != "" && d.Model == "":
		v.bad("drawing.model", "is needed", "write the model's name as that server knows it, like gpt-image-1")
	}
	v.plain("drawing.url", d.URL, d.APIKey.IsSet())
}

func (v *validator) webSearch(s WebSearch) {
	switch {
	case s.Engine == "" && (s.URL != "" || s.APIKey.IsSet()):
		v.bad("web_search.engine", "is needed", "write one of "+strings.Join(websearch.Names(), ", "))
	case s.Engine == "":
	case websearch.NeedsURL(s.Engine) && s.URL == "":
		v.bad("web_search.url", "is needed", "write where your "+s.Engine+" is, like http://127.0.0.1:8888")
	case websearch.NeedsKey(s.Engine) && !s.APIKey.IsSet():
		v.bad("web_search.api_key", "is needed", "write the key of "+s.Engine+`, or "${file:…}" with it`)
	}
	v.plain("web_search.url", s.URL, s.APIKey.IsSet())
}

// UnknownWindow is the assumed context window of an unknown model, in tokens.
const UnknownWindow = 32768

// window is model.context_window, or an assumption until the server was asked.
func (m Model) window() int { return cmp.Or(m.ContextWindow, UnknownWindow) }

func (v *validator) agent(a *Agent) {
	if i := slices.IndexFunc(placeholders, func(p string) bool { return strings.Contains(a.SystemPrompt, p) }); i >= 0 {
		v.warn("agent.system_prompt", "has "+placeholders[i]+", which works only in the prompts of channels", "write that part into system_prompt or prompts of a channel")
	}
	v.agentModel("agent.delegate.model", a.Delegate.Model)
	if isZone(a.TimeZone) {
		h, r := &v.c.Heartbeat, &v.c.Sessions.Reset
		h.TimeZone, r.TimeZone = cmp.Or(h.TimeZone, a.TimeZone), cmp.Or(r.TimeZone, a.TimeZone)
	}
}

// media checks where files are kept, and their limits.
func (v *validator) media(m *Media) {
	if m.Type == "" {
		m.Type = MediaLocal
		if v.c.Store.Type == "postgres" {
			m.Type = MediaPostgres
		}
	}
	switch {
	case m.Type != MediaLocal && v.c.Store.Type != "postgres":
		v.bad("media.type", m.Type+" is for several nodes, and takes store.type postgres", "write local")
	case m.Type == MediaFolder && !filepath.IsAbs(m.Path):
		v.bad("media.path", "is no whole path", "begin with /")
	case m.Type == MediaFolder:
		m.Path = filepath.Clean(m.Path)
		if why := v.unsafe(m.Path); why != "" {
			v.bad("media.path", why, "name a folder of its own")
		}
	case m.Type == MediaS3 && m.URL == "":
		v.bad("media.url", "is empty, and s3 needs it", "write the address of the bucket, like https://s3.example.org/dragoman")
	}
	if m.URL != "" && (m.AccessKey == "" || !m.SecretKey.IsSet()) {
		v.bad("media.secret_key", "the bucket needs access_key and secret_key", "write both")
	}
	if m.MaxTotal > 0 && m.MaxTotal < m.MaxBytes {
		v.bad("media.max_total", m.MaxTotal.String()+" is less than one file may have", "write more than media.max_bytes, or 0 for no limit")
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
