package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/plain"
	"dragoman/internal/stream"
)

// reloads reloads when the operator asks, here or on another node, until ctx ends.
func (d *Daemon) reloads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.opts.Hangup:
			d.reloadNow(ctx)
			d.reloadOthers(ctx)
		case <-d.reloadAsked:
			d.reloadNow(ctx)
		}
	}
}

// reloadNow reloads and tells the service manager.
func (d *Daemon) reloadNow(ctx context.Context) {
	notify("RELOADING=1")
	d.reload(ctx)
	d.events.Publish(stream.Event{Event: stream.SettingsChange})
	d.events.Publish(stream.Event{Event: stream.JobChange})
	notify("READY=1")
}

// reloadWithin is the limit for asking the other nodes to reload.
const reloadWithin = 10 * time.Second

// reloadOthers asks the other nodes, each of which has a configuration of its own.
func (d *Daemon) reloadOthers(ctx context.Context) {
	if d.peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	if err := everybody(ctx, d.peers, reloadMethod, nil); err != nil {
		d.log.Warn("other nodes could not be asked to reload", "err", err)
	}
}

// reload applies the settings that need no restart: allow lists, prompts and models
// of channels, personas, rules for tools, limits, summaries, the log level, jobs and hooks. A configuration with
// problems changes nothing.
func (d *Daemon) reload(ctx context.Context) {
	if d.opts.Reload == nil {
		return
	}
	cfg, err := d.opts.Reload()
	if err != nil {
		d.log.Error("reload refused; nothing was changed", "err", err)
		d.refused.Store(&api.RefusedReload{At: time.Now(), Why: whyRefused(err)})
		return
	}
	d.refused.Store(nil)
	d.setLevel(cfg)
	now := *d.cfg // the settings of the start, with those that were reloaded
	now.WarnAs(cfg)
	now.Channels = maps.Clone(d.cfg.Channels)
	for _, name := range d.cfg.Active() {
		ch := now.Channels[name]
		is := cfg.Channels[name]
		gone := !slices.Contains(cfg.Active(), name)
		if gone {
			ch.Allow, ch.Pairing = nil, false
		} else {
			ch.Allow = is.Allow
			ch.SystemPrompt = is.SystemPrompt
			ch.Prompts = is.Prompts
			ch.Models = is.Models
		}
		d.gateway.Change(name, func(b *gateway.Binding) {
			b.Allow = ch.Allow
			b.System = ch.System
			b.Model = ch.Model
			b.Shut = gone // nobody may talk on a channel that was removed
		})
		now.Channels[name] = ch
	}
	now.Agents, now.Bind = cfg.Agents, cfg.Bind
	now.Agent.Tools, now.Agent.ToolsIn = cfg.Agent.Tools, cfg.Agent.ToolsIn
	d.personas.Replace(planOf(cfg))
	rules := *cfg
	rules.MCP = d.cfg.MCP // whose servers are those of the start
	d.toolRules.Store(newToolRules(&rules))
	if err := d.beats.replace(cfg); err != nil {
		d.log.Error("reload: the jobs were not changed", "err", err)
	}
	err = d.gateway.SetRules(ctx, d.rules(cfg))
	if err != nil {
		d.log.Warn("reload: parked turns go on at their own time", "err", err)
	}
	now.Limits = cfg.Limits
	d.hooks.Replace(hooksOf(cfg))
	d.incoming.Replace(incomingOf(cfg))
	if err := d.agent.SetCompaction(cfg.Summary.Compaction); err != nil {
		d.log.Error("reload: the settings of summaries were not changed", "err", err)
	} else {
		now.Summary, now.Summary.Model = cfg.Summary, d.cfg.Summary.Model
	}
	d.current.Store(&now)
	d.gateway.OfferCommands()
	d.gateway.Revive()
	d.log.Info("reloaded: allow lists, prompts and models of channels, personas, rules for tools, limits, summaries, jobs, hooks, incoming webhooks and log level")
	if node, shares := d.peers.(interface{ Configured(hash string) }); shares {
		node.Configured(now.Fingerprint())
	}
	was := *d.cfg
	was.Summary = now.Summary
	rest := config.Changed(&was, cfg, "log.level", "limits", "agents", "bind", "agent.tools", "agent.tools_in.*", "heartbeat", "hooks", "incoming_webhooks", "channels.*.allow", "channels.*.system_prompt", "channels.*.prompts", "channels.*.models")
	if d.lacksServers(cfg) {
		rest = append(rest, "agent.tools")
	}
	d.restart.Store(&rest)
	if len(rest) > 0 {
		d.log.Warn("these settings changed and need a restart", "settings", strings.Join(rest, ", "))
	}
}

// whyRefused has a line for each problem of a configuration.
func whyRefused(err error) []string {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return []string{plain.Text(err)}
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}

// setLevel applies log.level.
func (d *Daemon) setLevel(cfg *config.Config) {
	if d.opts.Level == nil {
		return
	}
	if err := d.opts.Level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		d.log.Error("unknown log level", "err", err)
	}
}
