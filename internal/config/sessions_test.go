package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/config"
)

func TestSessionsAndHooks(t *testing.T) {
	c, err := load(t, `
sessions:
  retention_days: 30
  reset: {mode: daily, at: "04:30", time_zone: Europe/Rome}
channels:
  web: {reset: idle}
hooks:
  - {on: [turn_done], command: [/bin/sh, -c, "exit 0"], timeout: 3s}
  - {on: [session_save, delivery_dead], url: "https://example.org/in", secret: "${CANARY}"}
`, "CANARY=canary-0123")
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Sessions; s.RetentionDays != 30 || s.Reset.AtTime() != 4*time.Hour+30*time.Minute || c.Channels["web"].Reset != "idle" {
		t.Errorf("sessions are %+v", s)
	}
	if h := c.Hooks[1]; h.Secret.Reveal() != "canary-0123" || h.Timeout.D() != 10*time.Second || c.Hooks[0].Timeout.D() != 3*time.Second {
		t.Errorf("hooks are %+v", c.Hooks)
	}
	if strings.Contains(c.Effective(), "canary") {
		t.Error("Effective shows the secret of a hook")
	}
}

const signing = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// A post that nobody signs is allowed, and named.
func TestUnsignedHooksAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`url: "https://example.org"`:                                    "is not signed, so whoever",
		`url: "https://example.org", secret: canary-0123`:               "is not signed: the secret",
		`url: "https://example.org", signing_secret: "` + signing + `"`: "",
		`command: [/bin/sh]`:                                            "",
	} {
		c, err := load(t, "hooks: [{on: [turn_done], "+text+"}]")
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, w := range c.Warnings() {
			if w.Path == "hooks[0]" {
				got += w.String()
			}
		}
		if !strings.Contains(got, want) || want == "" && got != "" || strings.Contains(got, "canary") {
			t.Errorf("%s: the warning is %q, want %q in it", text, got, want)
		}
	}
}

func TestSessionsAndHooksAreChecked(t *testing.T) {
	for text, path := range map[string]string{
		`sessions: {retention_days: -1}`:                                                                                        "sessions.retention_days",
		`sessions: {reset: {mode: weekly}}`:                                                                                     "sessions.reset.mode",
		`sessions: {reset: {at: "4"}}`:                                                                                          "sessions.reset.at",
		`sessions: {reset: {at: "24:00"}}`:                                                                                      "sessions.reset.at",
		`sessions: {reset: {time_zone: Rome}}`:                                                                                  "sessions.reset.time_zone",
		`sessions: {reset: {after: 1s}}`:                                                                                        "sessions.reset.after",
		`channels: {web: {reset: hourly}}`:                                                                                      "channels.web.reset",
		`hooks: [{command: [/bin/sh]}]`:                                                                                         "hooks[0].on",
		`hooks: [{on: [turn], command: [/bin/sh]}]`:                                                                             "hooks[0].on[0]",
		`hooks: [{on: [turn_done, turn_done], command: [/bin/sh]}]`:                                                             "hooks[0].on[1]",
		`hooks: [{on: [turn_done]}]`:                                                                                            "hooks[0]",
		`hooks: [{on: [turn_done], command: [/bin/sh], url: "https://example.org"}]`:                                            "hooks[0]",
		`hooks: [{on: [turn_done], command: [sh]}]`:                                                                             "hooks[0].command",
		`hooks: [{on: [turn_done], command: [/bin/sh], secret: x}]`:                                                             "hooks[0].secret",
		`hooks: [{on: [turn_done], url: "http://example.org/"}]`:                                                                "hooks[0].url",
		`hooks: [{on: [turn_done], url: "ftp://example.org/"}]`:                                                                 "hooks[0].url",
		`hooks: [{on: [turn_done], url: "https://example.org/", signing_secret: whsec_c2hvcnQ=}]`:                               "hooks[0].signing_secret",
		`hooks: [{on: [turn_done], url: "https://example.org/", old_signing_secret: "` + signing + `"}]`:                        "hooks[0].old_signing_secret",
		`hooks: [{on: [turn_done], command: [/bin/sh], signing_secret: "` + signing + `"}]`:                                     "hooks[0].signing_secret",
		`hooks: [{on: [turn_done], command: [/bin/sh], name: x}]`:                                                               "hooks[0].name",
		`hooks: [{on: [turn_done], url: "https://example.org/", name: "a b"}]`:                                                  "hooks[0].name",
		`hooks: [{on: [turn_done], url: "https://a.example/", name: a}, {on: [turn_done], url: "https://b.example/", name: a}]`: "hooks[1].name",
		`hooks: [{on: [turn_done], command: [/bin/sh], timeout: 1h}]`:                                                           "hooks[0].timeout",
		`hooks: [{on: [turn_done], command: [/bin/sh]}, {on: turn_done, command: [/bin/sh]}]`:                                   "hooks[1].on",
		`hooks: [{on: [turn_done], command: [/bin/sh]}, {on: [turn_done], command: [bin/sh]}]`:                                  "hooks[1].command",
	} {
		_, err := load(t, text)
		var list config.Problems
		errors.As(err, &list)
		if !slices.ContainsFunc(list, func(p config.Problem) bool { return p.Path == path }) {
			t.Errorf("%s: the problems are %v, want one at %s", text, list, path)
		}
	}
}
