package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"dragoman/agent/recap"
	"dragoman/channels/live"
	"dragoman/internal/people"
	"dragoman/internal/plain"
	"dragoman/internal/web"
	"dragoman/sessions"
)

// linkWithin bounds making a link to the page, so that a slow store delays no start.
const linkWithin = 2 * time.Second

// report prints in a few lines what runs and where its files are.
func (d *Daemon) report() {
	var b strings.Builder
	fmt.Fprintf(&b, "Dragoman %s\n", d.opts.Version)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(what, value string) { _, _ = fmt.Fprintf(w, "  %s\t%s\n", what, value) }
	if d.public != nil && d.channels.web != nil {
		line("chat page", "http://"+d.public.addr())
	}
	if d.channels.terminal != nil {
		line("terminal", d.opts.Command("chat"))
	}
	for i, sentence := range strings.SplitAfter(d.models.Text(), ". ") {
		line([]string{"model", ""}[min(i, 1)], strings.TrimSpace(sentence))
	}
	line("state", shortPath(d.state.Path, d.state.Path)+" ("+d.cfg.Store.Type+")")
	line("workspace", shortPath(d.cfg.Workspace, d.state.Path))
	for _, policy := range d.cfg.Policy() {
		name, says, _ := strings.Cut(policy, ": ")
		if d.public == nil && d.cfg.Channels[name].Type == live.Type.Name {
			says = "off: http.listen is off"
		}
		line(name, says)
	}
	for _, bound := range d.cfg.BoundAgents() {
		line("agent", bound)
	}
	for _, ruled := range d.cfg.ToolRules() {
		line("tools", ruled)
	}
	for _, routed := range d.cfg.Routed() {
		line("messages", routed)
	}
	if n := d.beats.number(); n > 0 {
		line("jobs", fmt.Sprintf("%d; see: %s", n, d.opts.Command("jobs list")))
	}
	_ = w.Flush()
	if os.Geteuid() == 0 {
		fmt.Fprintf(&b, "  warning: this runs as root, and so do the model's tools; run it as a separate user, as the service does\n")
	}
	for _, warning := range d.cfg.Warnings() {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	for _, warning := range d.models.Warnings() {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	if url := d.firstLink(); url != "" {
		fmt.Fprintf(&b, "\nOpen your page with this link, within a minute; it works once. Another one: %s\n\n  %s\n", d.opts.Command("console"), url)
	}
	_, _ = fmt.Fprintln(d.opts.Out, strings.TrimRight(b.String(), "\n"))
	d.log.Info("conversations that are answered at the same time", "max_turns", d.turns)
}

// firstLink returns a link that opens the page once, if somebody sees the report and
// nothing was ever said here; else "". It is a secret, so that no log gets it.
func (d *Daemon) firstLink() string {
	page := d.pageURL()
	if !d.opts.Terminal || page == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), linkWithin)
	defer cancel()
	said, err := d.store.Find(ctx, sessions.Query{Limit: 1})
	if err != nil || len(said) > 0 {
		return ""
	}
	secret, _, err := people.NewLinks(d.tokens).Create(ctx)
	if err != nil {
		d.log.Warn("could not make a link to the page", "err", err)
		return ""
	}
	return web.LinkURL(page, secret)
}

// shortPath writes the home directory as "~", unless it is the state directory, as
// for the service, where "~" would say nothing.
func shortPath(path, state string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" || home == state {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

func (d *Daemon) sayReady() {
	d.report()
	notify("READY=1")
	debug.FreeOSMemory() // the start has used 0.8 MB that an idle daemon does not need
}

// failedSummary says why a conversation has no new summary.
func failedSummary(f recap.Failed) string {
	others := ""
	switch {
	case f.Others == 1:
		others = ", and so did that of another conversation"
	case f.Others > 1:
		others = fmt.Sprintf(", and so did those of %d other conversations", f.Others)
	}
	return fmt.Sprintf("the summary of %s failed on %s%s: %s (nothing is lost, and a later turn tries again)", f.Key, f.At.Format("2006-01-02 15:04"), others, plain.Text(f.Why))
}

// ready returns why people get no answers now, or nil.
func (d *Daemon) ready() error {
	err := d.gateway.Ready()
	if t, away := d.models.Trouble(); away {
		err = errors.Join(err, fmt.Errorf("the model does not answer: %s", t.Why))
	}
	return err
}
