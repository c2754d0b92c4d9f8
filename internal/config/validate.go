package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validator checks what the decoder has read. It also finishes values that
// depend on others: paths become absolute, empty defaults are filled in.
type validator struct {
	*decoder
	c        *Config
	warnings Problems
}

func (v *validator) run() {
	v.paths()
	v.http()
	v.log()
	v.model()
	v.agent()
	v.summary()
	v.prune()
	v.queues()
	v.channels()
	v.heartbeat()
	v.sessions()
	v.hooks()
	v.alerts()
}

// bad reports a problem at the line where path was written, or, when it was
// not, where the nearest thing around it was.
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
func (v *validator) show(path, value string) string {
	if v.marks[path].expanded || len(value) > 60 {
		return "this"
	}
	return strconv.Quote(value)
}

func (v *validator) oneOf(path, value string, values ...string) {
	if slices.Contains(values, value) {
		return
	}
	want := oneOf(values)
	if near := nearest(strings.ToLower(value), values); near != "" && !v.marks[path].expanded {
		want = fmt.Sprintf("did you mean %q? %s", near, want)
	}
	v.bad(path, v.show(path, value)+" is not a known value", want)
}

func (v *validator) between(path string, value, low, high int) {
	if value < low || value > high {
		v.bad(path, fmt.Sprintf("%d is out of range", value), fmt.Sprintf("write %d to %d", low, high))
	}
}

func (v *validator) span(path string, value Duration, low, high time.Duration) {
	if value.D() < low || value.D() > high {
		v.bad(path, value.String()+" is out of range", fmt.Sprintf("write %s to %s", Duration(low), Duration(high)))
	}
}

func (v *validator) paths() {
	c := v.c
	if strings.TrimSpace(c.StateDir) == "" {
		v.bad("state_dir", "is empty", "give it a path, or remove the line")
		return
	}
	c.StateDir = v.opts.absolute(c.StateDir, v.base)
	if c.Workspace == "" {
		c.Workspace = filepath.Join(c.StateDir, "workspace")
	}
	c.Workspace = v.opts.absolute(c.Workspace, v.base)
	if rel, err := filepath.Rel(c.Workspace, c.StateDir); err == nil && !strings.HasPrefix(rel, "..") {
		v.bad("workspace", "the state directory is inside it, so the model's tools could reach the database", "name another folder")
	}
	if why := v.unsafe(c.Workspace); why != "" {
		v.bad("workspace", why, "name a separate folder")
	}
	v.oneOf("workspace_mode", c.WorkspaceMode, WorkspaceShared, WorkspacePerChat)
	if c.WorkspaceQuota < 0 {
		v.bad("workspace_quota", c.WorkspaceQuota.String()+" is negative", "write a size like 1GiB, or 0 for no limit")
	}
	v.store(c.Store)
	for i, role := range c.Roles {
		v.oneOf(fmt.Sprintf("roles[%d]", i), role, RoleChannels, RoleTurns, RoleJobs)
	}
	switch all := c.Has(RoleChannels) && c.Has(RoleTurns) && c.Has(RoleJobs); {
	case len(c.Roles) == 0:
		v.bad("roles", "is empty: this daemon would do nothing", "remove the line, or write one of channels, turns and jobs")
	case !all && c.Store.Type != "postgres":
		v.bad("roles", "a store of type "+c.Store.Type+" has one daemon, which has to do everything", "remove the line, or write store: {type: postgres}")
	}
}

func (v *validator) store(s Store) {
	v.oneOf("store.type", s.Type, StoreTypes...)
	if s.MaxConns < 5 {
		v.bad("store.max_conns", "is too few connections", "write 5 or more")
	}
	switch {
	case s.Type == "memory":
		v.warn("store.type", "memory forgets everything when the daemon stops", "write sqlite or file to keep it")
	case s.Type == "postgres" && !hasPostgres:
		v.bad("store.type", "this program was built without PostgreSQL (-tags nopostgres)", "use the ordinary build")
	case s.Type == "postgres" && s.URL.Empty() && !v.opts.NoSecrets:
		v.bad("store.url", "is empty, but postgres needs it", "write ${file:PATH} or ${VARIABLE} with postgres://USER:PASSWORD@HOST:PORT/DATABASE in it")
	}
	if url := s.URL.Reveal(); url != "" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		v.bad("store.url", "does not begin with postgres://", "write it like postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full")
	}
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

// RealPath follows the links in path as far as there is something.
func RealPath(path string) string {
	if got, err := filepath.EvalSymlinks(path); err == nil {
		return got
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(RealPath(dir), filepath.Base(path))
	}
	return path
}

// tokenAlone refuses a token of the page that is another secret as well: it
// crosses other wires, and whoever sees one of them has the other.
func (v *validator) tokenAlone() {
	token := v.c.HTTP.Token
	if token.Empty() {
		return
	}
	same := func(path string, other Secret) {
		if other.Reveal() == token.Reveal() {
			v.bad("http.token", "is the same as "+path, "make a separate one with: openssl rand -hex 32")
		}
	}
	same("model.api_key", v.c.Model.APIKey)
	for _, name := range sortedKeys(v.c.Channels) {
		if t := v.c.Channels[name].Telegram; t != nil {
			same("channels."+name+".token", t.Token)
		}
	}
}

// minTokenChars keeps a token out of reach of guessing.
const minTokenChars = 16

func (v *validator) http() {
	h := v.c.HTTP
	if !h.Token.Empty() && len(h.Token.Reveal()) < minTokenChars {
		v.bad("http.token", fmt.Sprintf("is shorter than %d characters", minTokenChars), "make one with: openssl rand -hex 32")
	}
	v.tokenAlone()
	v.url("http.public_url", h.PublicURL, false)
	if _, err := h.Proxies(); err != nil {
		v.bad("http.trusted_proxies", err.Error(), "write addresses like 127.0.0.1 or networks like 10.0.0.0/8")
	}
	if h.Listen == "off" {
		return
	}
	host, port, err := net.SplitHostPort(h.Listen)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || n < 0 || n > 65535 {
		v.bad("http.listen", v.show("http.listen", h.Listen)+" is not an address", "write host:port, like 127.0.0.1:8787, or off")
		return
	}
	switch ip, err := netip.ParseAddr(host); {
	case host == "localhost", err == nil && ip.IsLoopback():
	case err != nil && host != "":
		v.bad("http.listen", v.show("http.listen", h.Listen)+" has no IP address", "write the address of an interface, like 127.0.0.1:8787")
	case h.Token.Empty() && v.isAbsent("http.token"): // whoever serves the page has it
	case h.Token.Empty():
		v.bad("http.listen", "this address can be reached from other machines, and there is no http.token", "listen on 127.0.0.1, or set a token made with: openssl rand -hex 32")
	default:
		v.warn("http.listen", "the page and its token cross the network unencrypted", "put a TLS proxy in front and listen on 127.0.0.1")
	}
}

func (v *validator) log() {
	v.oneOf("log.level", v.c.Log.Level, "debug", "info", "warn", "error")
	v.oneOf("log.format", v.c.Log.Format, "text", "json")
}

func (v *validator) agent() {
	a := &v.c.Agent
	v.between("agent.max_steps", a.MaxSteps, 1, 1000)
	v.between("agent.max_turns", a.MaxTurns, 0, 10_000)
	v.between("agent.prompt_facts", a.PromptFacts, 0, 50)
	v.span("agent.tool_timeout", a.ToolTimeout, time.Second, time.Hour)
	v.span("agent.give_up_after", a.GiveUpAfter, time.Second, 7*24*time.Hour)
	if i := slices.IndexFunc(placeholders, func(p string) bool { return strings.Contains(a.SystemPrompt, p) }); i >= 0 {
		v.warn("agent.system_prompt", "has "+placeholders[i]+", which works only in the prompts of channels", "write that part into system_prompt or prompts of a channel")
	}
	if v.timeZone("agent.time_zone", a.TimeZone) {
		h, r := &v.c.Heartbeat, &v.c.Sessions.Reset
		h.TimeZone, r.TimeZone = cmp.Or(h.TimeZone, a.TimeZone), cmp.Or(r.TimeZone, a.TimeZone)
	}
	if a.Tools == nil {
		a.Tools = slices.Clone(BuiltinTools)
	}
	for i, name := range a.Tools {
		path := fmt.Sprintf("agent.tools[%d]", i)
		if !slices.Contains(BuiltinTools, name) {
			v.oneOf(path, name, BuiltinTools...)
		} else if slices.Index(a.Tools, name) < i {
			v.bad(path, "appears twice", "keep one")
		}
	}
}

// timeZone checks the name of a time zone; "" is the machine's.
func (v *validator) timeZone(path, name string) bool {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		v.bad(path, v.show(path, name)+" is not a time zone", "write one like Europe/Rome or UTC")
		return false
	}
	return true
}

func (v *validator) queues() {
	q := v.c.Queue
	v.oneOf("queue.mode", q.Mode, "collect", "each", "steer", "interrupt")
	v.between("queue.max_waiting", q.MaxWaiting, 1, 100_000)
	if q.MaxMessageBytes < 1024 || q.MaxMessageBytes > 64<<20 {
		v.bad("queue.max_message_bytes", q.MaxMessageBytes.String()+" is out of range", "write 1KiB to 64MiB")
	}
	v.media(&v.c.Media)
	v.between("queue.rate_per_minute", q.RatePerMinute, 0, 100_000)
	v.span("delivery.give_up_after", v.c.Delivery.GiveUpAfter, time.Minute, 30*24*time.Hour)
	v.span("pairing.expires", v.c.Pairing.Expires, time.Minute, 7*24*time.Hour)
	v.between("pairing.max_pending", v.c.Pairing.MaxPending, 1, 100)
}

// fileAt makes a path absolute and checks that the file can be read.
func (v *validator) fileAt(path string, value *string) {
	if *value == "" {
		return
	}
	*value = v.opts.absolute(*value, v.base)
	info, err := os.Stat(*value)
	switch {
	case err != nil:
		v.bad(path, "the file cannot be read: "+reason(err)+credentialHint(*value), "")
	case !info.Mode().IsRegular():
		v.bad(path, "is not a regular file", "")
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
