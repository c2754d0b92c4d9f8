package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/internal/event"
)

// Sessions says how long conversations last.
type Sessions struct {
	RetentionDays int   `yaml:"retention_days" doc:"Delete a conversation this many days after its last message; 0: never. A conversation with unanswered messages or undelivered replies is kept."`
	Reset         Reset `yaml:"reset"`
}

// Reset is when a conversation begins anew by itself.
type Reset struct {
	Mode     string   `yaml:"mode" doc:"When a conversation starts again by itself, as with /new: never, daily (see at) or idle (see after)."`
	At       string   `yaml:"at" doc:"For daily: the first message after this time of day starts again."`
	TimeZone string   `yaml:"time_zone" example:"Europe/Rome" doc:"Time zone of at. Empty: agent.time_zone."`
	After    Duration `yaml:"after" doc:"For idle: the first message after this long a silence starts again."`
}

// The values of Reset.Mode.
const (
	ResetNever = "never"
	ResetDaily = "daily"
	ResetIdle  = "idle"
)

// AtTime is At since midnight.
func (r Reset) AtTime() time.Duration {
	at, _ := clockTime(r.At)
	return at
}

// clockTime reads "04:00".
func clockTime(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, fmt.Errorf("%q is not a time of day", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// Hook tells a program of the operator's what happens.
type Hook struct {
	On      []string `yaml:"on" example:"[turn_done]" doc:"The events it receives: session_create, session_save, session_delete, context_compacted, turn_done, delivery_dead, channel_failed, channel_back, model_down, model_back, disk_full."`
	Command []string `yaml:"command" example:"[/usr/local/bin/note, --json]" doc:"A program and its arguments, started without a shell. It receives the event as JSON on standard input. Set either command or url."`
	URL     string   `yaml:"url" example:"https://example.org/hook" doc:"The URL that receives the event as a JSON POST: https, or http on this machine."`
	Secret  Secret   `yaml:"secret" example:"${HOOK_SECRET}" empty:"ok" doc:"Sent with the post, as Authorization: Bearer."`
	Timeout Duration `yaml:"timeout" example:"10s" doc:"Maximum duration, after which the program is killed or the connection closed. Default: 10s."`
}

// Alerts says who is told that something does not work.
type Alerts struct {
	To    string   `yaml:"to" example:"telegram:123456789" doc:"The conversation that is told once when a channel, the model or the disk fails, and once when it works again. Empty: none."`
	After Duration `yaml:"after" doc:"How long something must fail before the alert is sent and the hooks receive channel_failed, model_down or disk_full."`
}

// mostHooks bounds the goroutines that hooks take.
const mostHooks = 50

func (v *validator) sessions() {
	s := v.c.Sessions
	v.between("sessions.retention_days", s.RetentionDays, 0, 36_500)
	v.oneOf("sessions.reset.mode", s.Reset.Mode, ResetNever, ResetDaily, ResetIdle)
	if _, err := clockTime(s.Reset.At); err != nil {
		v.bad("sessions.reset.at", v.show("sessions.reset.at", s.Reset.At)+" is not a time of day", "write one like \"04:00\"")
	}
	v.timeZone("sessions.reset.time_zone", s.Reset.TimeZone)
	v.span("sessions.reset.after", s.Reset.After, time.Minute, 366*24*time.Hour)
	for _, name := range sortedKeys(v.c.Channels) {
		if mode := v.c.Channels[name].Reset; mode != "" {
			v.oneOf("channels."+name+".reset", mode, ResetNever, ResetDaily, ResetIdle)
		}
	}
}

func (v *validator) alerts() {
	if v.c.Alerts.To != "" {
		v.target("alerts.to", v.c.Alerts.To)
	}
	v.span("alerts.after", v.c.Alerts.After, time.Second, 24*time.Hour)
}

func (v *validator) hooks() {
	if len(v.c.Hooks) > mostHooks {
		v.bad("hooks", fmt.Sprintf("there are %d", len(v.c.Hooks)), fmt.Sprintf("write at most %d; one program can receive all events", mostHooks))
	}
	for i := range v.c.Hooks {
		v.hook(fmt.Sprintf("hooks[%d]", i), &v.c.Hooks[i])
	}
}

func (v *validator) hook(path string, h *Hook) {
	if !v.written(path + ".timeout") {
		h.Timeout = Duration(10 * time.Second)
	}
	v.span(path+".timeout", h.Timeout, 100*time.Millisecond, 10*time.Minute)
	var events []string
	for _, name := range event.Names() {
		events = append(events, string(name))
	}
	if len(h.On) == 0 {
		v.bad(path+".on", "lists no event", "write one or more of "+strings.Join(events, ", "))
	}
	for i, name := range h.On {
		at := fmt.Sprintf("%s.on[%d]", path, i)
		if v.oneOf(at, name, events...); slices.Index(h.On, name) < i {
			v.bad(at, "appears twice", "keep one")
		}
	}
	switch {
	case (len(h.Command) > 0) == (h.URL != ""):
		v.bad(path, "a hook needs either a command or a url", "write one of them, like command: [/usr/local/bin/note]")
	case h.URL != "":
		v.privateURL(path+".url", h.URL, "events")
	default:
		v.hookCommand(path+".command", h)
	}
}

// privateURL checks an address to which what people know goes.
func (v *validator) privateURL(path, value, what string) {
	before := len(v.problems)
	v.url(path, value, false)
	if u, err := url.Parse(value); len(v.problems) == before && err == nil && u.Scheme == "http" && !loopbackHost(u.Hostname()) {
		v.bad(path, what+" would cross the network unencrypted", "write https://, or http:// with 127.0.0.1")
	}
}

func (v *validator) hookCommand(path string, h *Hook) {
	if !h.Secret.Empty() {
		v.bad(strings.TrimSuffix(path, "command")+"secret", "a command does not use a secret", "remove it, or write a url")
	}
	if program := h.Command[0]; !filepath.IsAbs(program) {
		v.bad(path, v.show(path+"[0]", program)+" is not an absolute path", "begin with /; no shell looks for it in PATH")
		return
	}
	if h.Command[0] = filepath.Clean(h.Command[0]); !executable(h.Command[0]) {
		v.warn(path, v.show(path+"[0]", h.Command[0])+" is not a program that can be started", "")
	}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
