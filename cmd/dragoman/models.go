package main

import (
	"context"
	"slices"

	"dragoman/internal/config"
	"dragoman/internal/httpapi"
)

// sayModel warns if a conversation's new model may not exist. It does not ask the
// model's server, which may be down.
func (e *env) sayModel(ctx context.Context, c *cli, a *httpapi.Client, name string) {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return // the setting is stored, and the daemon will report the configuration's error
	}
	running := ""
	if s, err := httpapi.ReadStatus.Call(ctx, a, httpapi.None{}); err == nil && s.Running {
		running = s.Model
	}
	known := slices.ContainsFunc(cfg.Model.Others, func(o config.Other) bool { return o.Name == name })
	switch {
	case cfg.Model.Type == "demo" || running == "demo" && cfg.Model.Type == "auto":
		e.say("The built-in demo has no other models and answers anyway. The setting takes effect when a server is configured (model.base_url).")
	case !known && name != cfg.Model.Name && name != running:
		e.say("The configuration does not name %s, so the server may not have it. If so, messages here are answered with an error, and %s says why.",
			oneLine(name), e.command("status"))
	}
}
