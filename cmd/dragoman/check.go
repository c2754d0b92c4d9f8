package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/sessions"
)

// checkCmd is "dragoman check": it finds the problems of a configuration before a
// daemon does.
type checkCmd struct {
	Effective bool `help:"Print the whole configuration with defaults, secrets hidden."`
	Online    bool `help:"Also test the model's server: the key, the name, the address."`
	JSON      bool `help:"Print problems and warnings as JSON."`
	// Quiet and NoSecrets are for the service's reload.
	Quiet     bool `short:"q" help:"Print nothing but problems."`
	NoSecrets bool `help:"Pass over missing secrets and do not look at the store: the daemon that runs has both."`
}

func (k *checkCmd) Run(e *env, c *cli) error {
	load := e.load
	if k.NoSecrets {
		load = e.loadWithoutSecrets
	}
	cfg, err := load(c.Config)
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	var warnings []config.Problem
	var unusable error
	var features []api.Feature
	hint := "" // about tokens
	if cfg != nil {
		warnings = cfg.Warnings()
		if !k.NoSecrets {
			unusable = storage.Check(e.ctx, cfg)
			if unusable == nil {
				hint, unusable = e.checkTokens(cfg)
			}
			features = app.Features(cfg)
		}
	}
	if k.Online && k.JSON {
		return &usageError{"--online has no JSON; for JSON, use: " + e.command("models --json")}
	}
	if k.JSON {
		if jerr := e.json(struct {
			Problems []config.Problem `json:"problems"`
			Warnings []config.Problem `json:"warnings"`
			Store    string           `json:"store,omitempty"` // why it cannot be used
			Features []api.Feature    `json:"features"`
		}{append([]config.Problem{}, problems...), append([]config.Problem{}, warnings...), plainly(unusable), append([]api.Feature{}, features...)}); jerr != nil {
			return jerr
		}
		if err != nil {
			return &usageError{"the configuration has problems"}
		}
		return unusable
	}
	if err != nil {
		return err
	}
	if k.Quiet {
		return unusable
	}
	if k.Effective {
		_, _ = fmt.Fprint(e.out, cfg.Effective())
		return nil
	}
	if unusable == nil {
		e.say("%s: no problems.", cfg.Source())
	}
	for _, w := range warnings {
		e.say("warning: %s", sessions.Printable(w.String()))
	}
	if hint != "" {
		e.say("warning: %s", hint)
	}
	e.sayDamage(cfg)
	if !cfg.HTTP.Token.IsZero() {
		e.say("http.token goes on working, with the scope operate. A token for each program and person is better, because it can expire and be revoked alone: %s", e.command("token create NAME --scope chat"))
	}
	e.sayOpenAI(cfg)
	e.sayChats(cfg)
	e.sayFeatures(features)
	if k.Online {
		if err := e.checkOnline(cfg); unusable == nil {
			unusable = err
		}
	}
	return unusable
}

// sayChats says who may talk, and as what Dragoman answers where.
func (e *env) sayChats(cfg *config.Config) {
	e.say("Who may talk:")
	for _, line := range cfg.Policy() {
		e.say("  %s", line)
	}
	if bound := cfg.BoundAgents(); len(bound) > 0 {
		e.say("Personas:")
		for _, line := range bound {
			e.say("  %s", sessions.Printable(line))
		}
	}
	if ruled := cfg.ToolRules(); len(ruled) > 0 {
		e.say("Tools (what one line denies, no other gives; else the last counts that names the tool):")
		for _, line := range ruled {
			e.say("  %s", sessions.Printable(line))
		}
	}
	if routed := cfg.Routed(); len(routed) > 0 {
		e.say("Messages to other chats:")
		for _, line := range routed {
			e.say("  %s", sessions.Printable(line))
		}
	}
	if prompted := cfg.Prompted(); len(prompted) > 0 {
		e.say("Added to the system prompt:")
		for _, line := range prompted {
			e.say("  %s", sessions.Printable(line))
		}
	}
}

// sayFeatures says what is on here, and why the rest is not.
func (e *env) sayFeatures(list []api.Feature) {
	if len(list) == 0 {
		return // nobody looked
	}
	e.say("What is on:")
	for _, f := range list {
		e.say("  %s: %s", f.Name, featureWords(f))
	}
}

// featureWords are a state and why it is so.
func featureWords(f api.Feature) string {
	if f.Since.IsZero() {
		return fmt.Sprintf("%s, %s", f.State, sessions.Printable(f.Says))
	}
	at := f.Since.Local()
	day := ""
	if time.Since(at) > 12*time.Hour { // 14:03 could be yesterday's
		day = at.Format("2 January ")
	}
	return fmt.Sprintf("%s since %s%s: %s", f.State, day, at.Format("15:04"), sessions.Printable(f.Says))
}

// checkTokens says that other machines can reach the page and nobody has a token for it.
// Tokens are in the store. Opening one can change it, so only a daemon that runs is asked;
// if none runs, and there is a store, hint says how to find out.
func (e *env) checkTokens(cfg *config.Config) (hint string, err error) {
	if !cfg.HTTP.NeedsNamedToken() {
		return "", nil
	}
	if !storage.Served(e.ctx, cfg.StateDir) {
		name := storage.StoreName(cfg)
		_, err := os.Stat(filepath.Join(cfg.StateDir, name))
		if name == "" || !errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("other machines can reach http.listen (%s), so somebody needs a token; this shows whether there is one: %s", cfg.HTTP.Listen, e.command("token list")), nil
		}
		return "", e.noToken(cfg)
	}
	client := api.Dial(storage.Socket(cfg.StateDir))
	defer client.Close()
	made, err := api.ListTokens.Call(e.ctx, client, api.None{})
	if err != nil || slices.ContainsFunc(made.Data, func(t api.Token) bool { return !t.Page }) {
		return "", err
	}
	return "", e.noToken(cfg)
}

// noToken refuses an address at which nobody could come in.
func (e *env) noToken(cfg *config.Config) error {
	return &usageError{fmt.Sprintf("http.listen: other machines can reach %s, and there is no token: make one with %s, set http.token, or listen on 127.0.0.1",
		cfg.HTTP.Listen, e.command("token create NAME --scope chat"))}
}

// sayOpenAI says where programs find OpenAI's API, if it is on.
func (e *env) sayOpenAI(cfg *config.Config) {
	if cfg.HTTP.OpenAI && cfg.HTTP.Listen != "off" {
		e.say("OpenAI's API: http://%s/v1, for programs with a token (http.openai).", cfg.HTTP.Listen)
	}
}

// sayDamage warns of damaged files that the store has set aside.
func (e *env) sayDamage(cfg *config.Config) {
	for _, text := range storage.DamageWarnings(cfg) {
		e.say("warning: %s", sessions.Printable(text))
	}
}

func (e *env) json(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
