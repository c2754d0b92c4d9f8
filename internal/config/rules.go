package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"dragoman/agent/window"
	"dragoman/internal/lazily"
	"dragoman/internal/setting"
	"dragoman/internal/stream"
	"dragoman/internal/webhook"
	"dragoman/internal/websearch"
)

// Efforts are the values of model.reasoning and of a conversation's setting.
var Efforts = []string{"auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"}

// lists are the lists of words that the tag oneof can name.
var lists = map[string]func() []string{
	"efforts": func() []string { return Efforts },
	"events": func() (all []string) {
		for _, name := range stream.ForHooks() {
			all = append(all, string(name))
		}
		return all
	},
	"prune presets":   window.PrunePresetNames,
	"search engines":  websearch.Names,
	"store types":     func() []string { return StoreTypes },
	"summary presets": window.PresetNames,
}

// gone are former values of settings, and what to write instead.
var gone = map[string]string{
	"store.type memory": "write sqlite, and for a store that forgets also a state_dir in a tmpfs, like /dev/shm/dragoman",
}

// words are the allowed values of the setting; none means any.
func (f field) words() []string {
	tag := f.tag.Get("oneof")
	if list := lists[tag]; list != nil {
		return list()
	}
	return strings.Fields(tag)
}

// toolNames are the names that a tool may have; none means that this one, or any, is
// right.
func (d *decoder) toolNames(name string) []string {
	if d.opts.Tools == nil || d.opts.Tools.MayExist(name) {
		return nil
	}
	return d.opts.Tools.Known()
}

// form is the form called name: one of the channel's type, or one of ours.
func (d *decoder) form(name string) setting.Form {
	if own := d.forms[name]; own != nil {
		return own
	}
	return forms[name]
}

// check reports a value that breaks the tags of its setting.
func (d *decoder) check(line int, path string, v reflect.Value, f field, text string) {
	if text == "" && f.tag.Get("empty") == "ok" {
		return
	}
	shown := d.show(path, text)
	words := f.words()
	if f.tag.Get("is") == "tool" {
		words = d.toolNames(text)
	}
	if len(words) > 0 {
		if i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, text) }); i >= 0 {
			v.SetString(words[i])
		} else {
			want := "write " + oneOf(words)
			if near := nearest(strings.ToLower(text), words); near != "" && shown != "this" {
				want = fmt.Sprintf("did you mean %q? %s", near, want)
			}
			if instead := gone[path+" "+strings.ToLower(text)]; instead != "" {
				want = instead
			}
			d.problem(line, path, shown+" is not a known value", want)
		}
	}
	if f.tag.Get("is") == "file" {
		d.readable(line, path, v)
	}
	if form := d.form(f.tag.Get("is")); form != nil {
		if what, want := form(text); what != "" {
			if before, _, quotes := strings.Cut(what, " placeholder, "); quotes && d.marks[path].expanded {
				what = before + " placeholder"
			}
			d.problem(line, path, strings.Replace(what, "%s", shown, 1), want)
			return
		}
	}
	if allowed := f.tag.Get("range"); allowed != "" && !within(v, allowed) {
		if shown != "this" {
			shown = text
		}
		d.problem(line, path, shown+" is out of range", "write "+rangeText(allowed))
	}
}

func rangeText(tag string) string {
	return strings.ReplaceAll(strings.ReplaceAll(tag, ",", ", or "), "..", " to ")
}

// within reports whether a number is in one of the ranges of a tag.
func within(v reflect.Value, ranges string) bool {
	number := func(v reflect.Value) float64 {
		if v.CanFloat() {
			return v.Float()
		}
		return float64(v.Int())
	}
	bound := func(text string) float64 {
		b := reflect.New(v.Type()).Elem()
		if err := kinds[v.Type()].set(b, text); err != nil {
			panic(fmt.Sprintf("config: the range %s: %v", ranges, err))
		}
		return number(b)
	}
	for part := range strings.SplitSeq(ranges, ",") {
		low, high, both := strings.Cut(part, "..")
		if !both {
			high = low
		}
		if n := number(v); n >= bound(low) && n <= bound(high) {
			return true
		}
	}
	return false
}

// readable makes the path of a file absolute and checks that the file can be read.
func (d *decoder) readable(line int, path string, v reflect.Value) {
	name := d.opts.absolute(v.String(), d.base)
	v.SetString(name)
	switch info, err := os.Stat(name); {
	case d.off: // the channel is turned off
	case err != nil:
		d.problem(line, path, "the file cannot be read: "+reason(err)+credentialHint(name), "")
	case !info.Mode().IsRegular():
		d.problem(line, path, "is not a regular file", "")
	}
}

// forms return what is wrong with a text and what to write instead, or "". A
// message may show the text in the place of "%s".
var forms = map[string]setting.Form{
	"zone":          setting.Must(isZone, "%s is not a time zone", "write one like Europe/Rome or UTC"),
	"clock":         setting.Like(`^([01][0-9]|2[0-3]):[0-5][0-9]$`, "%s is not a time of day", `write one like "04:00"`),
	"whole seconds": setting.Must(wholeSeconds, "has a fraction of a second", "write whole seconds"),
	"threshold":     setting.Like(`[^0]`, "0 could mean every turn or never", "write none to do without it, or summary.when: every_turn, or a number"),
	"name":          setting.Like(`\S`, "is empty", "write a name"),
	"line":          setting.Like(`^[^\r\n\x00]*$`, "has a line break", "write one line"),

	"url":             urlFlaw,
	"server":          serverFlaw,
	"private url":     privateFlaw,
	"listen":          listenFlaw,
	"proxy":           setting.Must(isNetwork, "%s is neither an address nor a network", "write one like 127.0.0.1 or 10.0.0.0/8"),
	"key":             setting.Like(`^[!-~]+$`, "contains a space or another character that keys do not have", "copy it again"),
	"page token":      setting.Like(`.{16}`, "is shorter than 16 characters", "make one with: openssl rand -hex 32"), // shorter ones can be guessed
	"postgres":        setting.Like(`^postgres(ql)?://`, "does not begin with postgres://", "write it like postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full"),
	"person":          setting.Like(`^(operator|[a-z0-9_-]+:[^\s]+)$`, "%s is nobody", "write operator, or an identity on a network, like telegram:123456"),
	"identity header": identityHeaderFlaw,
	"header":          setting.Like(`^[\t -~]*$`, "has a character that is not allowed in a header", "use plain characters only"),
	"header name":     setting.Like(`^[0-9A-Za-z_-]+$`, "is not a valid header name", "write letters, digits and dashes"),
	"request field":   setting.Must(isFree, "is set by Dragoman itself", "remove it"),
	"template":        func(s string) (string, string) { _, err := window.ParseTemplate(s); return flaw(err) },
	"schema":          func(s string) (string, string) { _, err := window.ParseSchema(s); return flaw(err) },
	"prompt":          promptFlaw,
	"picture size":    setting.Like(`^(auto|[1-9][0-9]{2,3}x[1-9][0-9]{2,3})$`, "%s is no size of a picture", "write width and height like 1024x1024, or auto"),
	"hook name":       setting.Like(`^[a-z0-9][a-z0-9._-]{0,39}$`, "%s is not the name of a hook", "write 1 to 40 lower-case letters, digits, dots, dashes or underscores"),
	"mcp server":      setting.Like(`^[a-z0-9][a-z0-9-]{0,23}$`, "%s is not the name of a server of tools", "write 1 to 24 lower-case letters, digits or dashes"),
	"variable":        setting.Like(`^[A-Za-z_][A-Za-z0-9_]*$`, "is not the name of a variable", "write letters, digits and underscores"),
	"signing secret":  signingFlaw,
	"paths":           pathsFlaw,
}

// pathsFlaw refuses a template of a webhook.
func pathsFlaw(s string) (what, want string) {
	if _, err := webhook.ParseTemplate(s); err != nil {
		return "has a wrong place: " + err.Error(), "write the names of fields with dots, like {{issue.title}}"
	}
	return "", ""
}

// signingFlaw refuses what cannot sign webhooks.
func signingFlaw(s string) (what, want string) {
	if _, err := webhook.ParseKey(s); err != nil {
		return "is no signing secret: whsec_ and base64 of 24 to 64 bytes", "make one with: echo whsec_$(openssl rand -base64 32)"
	}
	return "", ""
}

// taken are headers that mean something else already, and takenBefore are how such begin.
var (
	taken = []string{
		"authorization", "cookie", "set-cookie", "host", "origin", "referer", "forwarded", "via", "connection", "keep-alive", "te", "trailer",
		"transfer-encoding", "upgrade", "expect", "range", "date", "user-agent", "last-event-id", "idempotency-key", "priority", "x-api-key",
		"x-real-ip", "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-server",
		"x-forwarded-prefix", "x-forwarded-ssl", "x-forwarded-scheme", "traceparent", "tracestate",
	}
	takenBefore = []string{"accept", "content-", "sec-", "if-", "access-control-", "proxy-", "x-dragoman"}
)

// identityHeaderFlaw refuses headers that a proxy cannot use to say who is logged in.
func identityHeaderFlaw(name string) (what, want string) {
	lower := strings.ToLower(name)
	switch {
	case strings.Contains(name, "_"):
		return "has an underscore, which many proxies remove or treat as a dash", "write it with dashes"
	case slices.Contains(taken, lower) || slices.ContainsFunc(takenBefore, func(p string) bool { return strings.HasPrefix(lower, p) }):
		return "%s has another meaning", "write the header in which the proxy says who is logged in, like Remote-User"
	}
	return setting.Like(`^[0-9A-Za-z-]+$`, "is not a valid header name", "write letters, digits and dashes")(name)
}

// isFree reports whether the operator may set a field of requests. Dragoman writes
// the others.
func isFree(field string) bool {
	return !slices.Contains([]string{"messages", "input", "model", "stream", "system", "instructions"}, field)
}

func flaw(err error) (what, want string) {
	if f := (*window.Flaw)(nil); errors.As(err, &f) {
		return f.What, f.Want
	}
	return "", ""
}

func isZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

func wholeSeconds(span string) bool {
	d, _ := time.ParseDuration(span)
	return d%time.Second == 0
}

func network(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), err
}

func isNetwork(s string) bool {
	_, err := network(s)
	return err == nil
}

func listenFlaw(s string) (what, want string) {
	host, _, ok := setting.HostPort(s)
	_, err := netip.ParseAddr(host)
	switch {
	case s == "off":
	case !ok:
		return "%s is not an address", "write host:port, like 127.0.0.1:8787, or off"
	case err != nil && host != "" && host != "localhost":
		return "%s has no IP address", "write the address of an interface, like 127.0.0.1:8787"
	}
	return "", ""
}

// urlFlaw checks an address for requests. It refuses parts that often hold a
// secret, which would end up in logs.
func urlFlaw(s string) (what, want string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "is not a web address", "write one like https://host/path"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "has a user, a query or a fragment", "write the plain address; there are other settings for keys"
	}
	return "", ""
}

// secretQuery matches names of query parameters that hold secrets.
var secretQuery = lazily.Compile(`(?i)key|token|secret|password|^sig`)

// serverFlaw checks the address of a model's server, which may have a query.
func serverFlaw(s string) (what, want string) {
	u, err := url.Parse(s)
	if err != nil {
		return urlFlaw(s)
	}
	for name := range u.Query() {
		if secretQuery.Matches(name) {
			return "has a key in its query, where logs would show it", "remove it; model.api_key and model.extra_headers are for keys"
		}
	}
	u.RawQuery = ""
	return urlFlaw(u.String())
}

// privateFlaw checks an address to which private data is sent.
func privateFlaw(s string) (what, want string) {
	what, want = urlFlaw(s)
	if what == "" && unencrypted(s) {
		return "what is sent there would cross the network unencrypted", "write https://, or http:// with 127.0.0.1"
	}
	return what, want
}

// unencrypted reports whether requests to a URL can be read on the network.
func unencrypted(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "http" && !setting.Loopback(u.Hostname())
}
