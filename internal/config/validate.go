package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
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
	v.bad(path, v.show(path, value)+" is not known here", want)
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
		v.bad("workspace", "the state directory lies inside of it, so that the model's tools could reach the database", "name another folder")
	}
	v.oneOf("store.type", c.Store.Type, "sqlite", "file", "memory")
	if c.Store.Type == "memory" {
		v.warn("store.type", "memory forgets everything when the daemon ends", "write sqlite or file to keep it")
	}
}

// minTokenChars keeps a token out of reach of guessing.
const minTokenChars = 16

func (v *validator) http() {
	h := v.c.HTTP
	if !h.Token.Empty() && len(h.Token.Reveal()) < minTokenChars {
		v.bad("http.token", fmt.Sprintf("is shorter than %d characters", minTokenChars), "make one with: openssl rand -hex 32")
	}
	if h.Listen == "off" {
		return
	}
	host, port, err := net.SplitHostPort(h.Listen)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || n < 0 || n > 65535 {
		v.bad("http.listen", v.show("http.listen", h.Listen)+" is no address", "write host:port, like 127.0.0.1:8787, or off")
		return
	}
	switch ip, err := netip.ParseAddr(host); {
	case host == "localhost", err == nil && ip.IsLoopback():
	case err != nil && host != "":
		v.bad("http.listen", v.show("http.listen", h.Listen)+" has no IP address", "write the address of an interface, like 127.0.0.1:8787")
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

func (v *validator) model() {
	m := v.c.Model
	v.oneOf("model.type", m.Type, "auto", "openai", "demo")
	v.oneOf("model.vision", m.Vision, "auto", "yes", "no")
	v.url("model.base_url", m.BaseURL, !m.APIKey.Empty())
	if m.Type == "openai" && m.BaseURL == "" {
		v.bad("model.base_url", "is needed for model.type openai", "write the address of the API, like http://127.0.0.1:11434/v1")
	}
	if m.Type == "demo" && (m.BaseURL != "" || !m.APIKey.Empty()) {
		v.bad("model.type", "demo uses neither base_url nor api_key, and one of them is set", "remove them, or write openai")
	}
	if m.BaseURL != "" && m.Name == "" {
		v.bad("model.name", "is needed with model.base_url", "write the model's name as that server knows it")
	}
	v.between("model.context_window", m.ContextWindow, 2048, 10_000_000)
	v.between("model.max_tokens", m.MaxTokens, 0, 1_000_000)
	if m.MaxTokens >= m.ContextWindow && m.ContextWindow >= 2048 {
		v.bad("model.max_tokens", "leaves no room in model.context_window for a question", fmt.Sprintf("write less than %d", m.ContextWindow))
	}
	if t := m.Temperature; t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2) {
		v.bad("model.temperature", "is out of range", "write 0 to 2")
	}
	v.span("model.first_byte_timeout", m.FirstByteTimeout, time.Second, time.Hour)
	v.span("model.idle_timeout", m.IdleTimeout, time.Second, time.Hour)
	v.between("model.retries", m.Retries, 0, 20)
	v.prices("model.prices", m.Prices)
	v.others(m)
}

// others checks what is said about other models than the configured one.
func (v *validator) others(m Model) {
	seen := map[string]bool{}
	for i, o := range m.Others {
		path := fmt.Sprintf("model.others[%d]", i)
		switch {
		case strings.TrimSpace(o.Name) == "":
			v.bad(path+".name", "is needed", "write the model's name as its server knows it")
		case o.Name == m.Name:
			v.bad(path+".name", "is the configured model", "write its context_window and prices under model itself")
		case seen[o.Name]:
			v.bad(path+".name", "stands here twice", "keep one")
		}
		seen[o.Name] = true
		v.window(path+".context_window", o.ContextWindow)
		v.prices(path+".prices", o.Prices)
	}
}

// window checks a context window that 0 leaves to another key.
func (v *validator) window(path string, tokens int) {
	if tokens != 0 {
		v.between(path, tokens, 2048, 10_000_000)
	}
}

func (v *validator) prices(path string, p Prices) {
	v.price(path+".input", p.Input)
	v.price(path+".output", p.Output)
	v.price(path+".cached", p.Cached)
}

// price checks what a million tokens cost.
func (v *validator) price(path string, value float64) {
	if math.IsNaN(value) || value < 0 || value > 1e6 {
		v.bad(path, "is no price", "write what a million tokens cost, like 0.25")
	}
}

// url checks an address that requests go to. A secret inside of it would end
// up in logs, so it is refused there.
func (v *validator) url(path, value string, withSecret bool) {
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		v.bad(path, "is no web address", "write one like https://host/path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		v.bad(path, "has a user, a query or a fragment", "write the plain address; keys have a setting of their own")
	case u.Scheme == "http" && withSecret && !loopbackHost(u.Hostname()):
		v.warn(path, "the key crosses the network unencrypted", "write https://")
	}
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

func (v *validator) agent() {
	a := &v.c.Agent
	v.between("agent.max_steps", a.MaxSteps, 1, 1000)
	v.between("agent.max_turns", a.MaxTurns, 1, 10_000)
	v.span("agent.tool_timeout", a.ToolTimeout, time.Second, time.Hour)
	v.span("agent.give_up_after", a.GiveUpAfter, time.Second, 7*24*time.Hour)
	if a.Tools == nil {
		a.Tools = slices.Clone(v.opts.Tools)
	}
	for i, name := range a.Tools {
		path := fmt.Sprintf("agent.tools[%d]", i)
		if !slices.Contains(v.opts.Tools, name) {
			v.oneOf(path, name, v.opts.Tools...)
		} else if slices.Index(a.Tools, name) < i {
			v.bad(path, "stands here twice", "keep one")
		}
	}
}

func (v *validator) queues() {
	q := v.c.Queue
	v.oneOf("queue.mode", q.Mode, "collect", "each", "steer", "interrupt")
	v.between("queue.max_waiting", q.MaxWaiting, 1, 100_000)
	if q.MaxMessageBytes < 1024 || q.MaxMessageBytes > 64<<20 {
		v.bad("queue.max_message_bytes", q.MaxMessageBytes.String()+" is out of range", "write 1KiB to 64MiB")
	}
	if m := v.c.Media; m.MaxBytes < 1024 || m.MaxBytes > 2<<30 {
		v.bad("media.max_bytes", m.MaxBytes.String()+" is out of range", "write 1KiB to 2GiB")
	}
	if m := v.c.Media; m.MaxTotal < 0 || m.MaxTotal > 0 && m.MaxTotal < m.MaxBytes {
		v.bad("media.max_total", m.MaxTotal.String()+" is less than one file may have", "write more than media.max_bytes, or 0 for no limit")
	}
	if m := v.c.Media; m.MaxImageBytes < 1024 || m.MaxImageBytes > 20<<20 {
		v.bad("media.max_image_bytes", m.MaxImageBytes.String()+" is out of range", "write 1KiB to 20MiB")
	}
	v.between("queue.rate_per_minute", q.RatePerMinute, 0, 100_000)
	v.span("delivery.give_up_after", v.c.Delivery.GiveUpAfter, time.Minute, 30*24*time.Hour)
	v.span("pairing.expires", v.c.Pairing.Expires, time.Minute, 7*24*time.Hour)
	v.between("pairing.max_pending", v.c.Pairing.MaxPending, 1, 100)
}

func (v *validator) heartbeat() {
	h := &v.c.Heartbeat
	if job, wanted := h.FileJob(); wanted {
		v.schedule("heartbeat", job)
	} else {
		v.span("heartbeat.every", h.Every, time.Minute, 366*24*time.Hour)
	}
	seen := map[string]bool{}
	for i := range h.Jobs {
		path, job := fmt.Sprintf("heartbeat.jobs[%d]", i), &h.Jobs[i]
		if job.TimeZone == "" {
			job.TimeZone = h.TimeZone
		}
		if job.CatchUp == "" {
			job.CatchUp = "once"
		}
		v.job(path, *job, seen[job.Name])
		seen[job.Name] = true
	}
}

func (v *validator) job(path string, job Job, taken bool) {
	_, nameErr := channels.NewKey(heartbeatName, job.Name)
	switch {
	case nameErr != nil || utf8.RuneCountInString(job.Name) > 64 || strings.ContainsFunc(job.Name, unicode.IsSpace):
		v.bad(path+".name", "a job needs a name of 1 to 64 characters without spaces", "")
	case job.Name == FileJobName:
		v.bad(path+".name", FileJobName+" is the name of the workspace file's own job", "give it another name")
	case taken:
		v.bad(path+".name", "another job has this name", "records are kept by name: give it another")
	}
	if strings.TrimSpace(job.Prompt) == "" {
		v.bad(path+".prompt", "is empty", "write what the model shall do")
	}
	v.oneOf(path+".catch_up", job.CatchUp, "once", "skip")
	if (job.Cron == "") == (job.Every == 0 && !v.written(path+".every")) {
		v.bad(path, "a job needs either every or cron", "write one of them, like every: 2h or cron: \"0 8 * * *\"")
		return
	}
	v.schedule(path, job)
}

// schedule checks what a job and HEARTBEAT.md share. What package heartbeat
// knows better is asked last, and only if nothing was found here, so that
// nothing is reported twice.
func (v *validator) schedule(path string, job Job) {
	before := len(v.problems)
	if job.Cron == "" {
		v.span(path+".every", job.Every, time.Minute, 366*24*time.Hour)
		if job.Every.D()%time.Second != 0 {
			v.bad(path+".every", "has a fraction of a second", "write whole seconds")
		}
	}
	if _, err := time.LoadLocation(job.TimeZone); err != nil || job.TimeZone == "Local" {
		at := path + ".time_zone"
		if !v.written(at) {
			at = "heartbeat.time_zone"
		}
		v.bad(at, v.show(at, job.TimeZone)+" is no time zone", "write one like Europe/Rome or UTC")
	}
	v.target(path+".target", job.Target)
	if check := v.opts.CheckJob; check != nil && len(v.problems) == before {
		for _, err := range unjoin(check(job)) {
			what := err.Error()
			if v.marks[path+".cron"].expanded || v.marks[path+".active_hours"].expanded {
				what = "its cron or active_hours, which come from a variable or a file, are not understood"
			}
			v.bad(path, what, "")
		}
	}
}

func (v *validator) target(path, target string) {
	key, err := channels.ParseKey(target)
	if err != nil {
		v.bad(path, v.show(path, target)+" names no conversation", "write channel:chat, like telegram:123456789")
		return
	}
	ch, known := v.c.Channels[key.Channel()]
	switch {
	case !known && v.written("channels."+key.Channel()):
		// The channel has a problem of its own, which is reported already.
	case !known:
		names := slices.Sorted(maps.Keys(v.c.Channels))
		v.bad(path, "there is no channel "+strings.TrimPrefix(v.show(path, key.Channel()), "this"), "configured: "+strings.Join(names, ", "))
	case !ch.Enabled:
		v.bad(path, "its channel is turned off (enabled: false)", "turn it on, or name another conversation")
	}
}

// unjoin takes apart what errors.Join put together.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

// file makes a path absolute and checks that the file can be read.
func (v *validator) fileAt(path string, value *string) {
	if *value == "" {
		return
	}
	*value = v.opts.absolute(*value, v.base)
	info, err := os.Stat(*value)
	switch {
	case err != nil:
		v.bad(path, "the file cannot be read: "+reason(err), "")
	case !info.Mode().IsRegular():
		v.bad(path, "is not a regular file", "")
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
