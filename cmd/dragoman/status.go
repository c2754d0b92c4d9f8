package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/internal/api"
)

// statusCmd is "dragoman status": whether all is well, for people and, by its exit
// code, for scripts.
type statusCmd struct {
	jsonFlag
}

func (*statusCmd) Help() string {
	return "Exit codes: 0 all is well, 1 something is wrong (the store, the disk, the model, a channel, an answer that was given up, a reload that was refused), 3 no daemon is running."
}

// Run fails if something is wrong, so that scripts notice. The reason is printed
// by then.
func (k *statusCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		s, err := api.ReadStatus.Call(ctx, a, api.None{})
		if err != nil {
			return err
		}
		if k.JSON {
			err = e.json(s)
		} else {
			e.status(s)
		}
		switch {
		case err != nil:
			return err
		case !s.Running:
			return errDown
		case degraded(s) || e.broken:
			return errSaid
		}
		return nil
	})
}

// degraded reports whether something is wrong that an operator can mend. A channel
// that was never linked does not count: it is not in use yet.
func degraded(s api.Status) bool {
	if s.Problem != "" || s.DiskFull || s.ModelTrouble != nil || s.Refused != nil || s.QueueCounts != nil && s.Dead+s.Quarantined > 0 {
		return true
	}
	for _, ch := range s.Channels {
		if ch.Trouble() {
			return true
		}
	}
	return false
}

func (e *env) status(s api.Status) {
	line := func(what, value string) {
		if value != "" {
			e.say("%-10s %s", what, oneLine(value))
		}
	}
	if s.Running {
		line("daemon", fmt.Sprintf("runs, started %s (version %s, process %d)", e.when(s.Started), s.Version, s.PID))
	} else {
		line("daemon", "is not running; start it with: "+e.starting(s.Config, systemd()))
	}
	line("config", s.Config)
	if s.Refused != nil {
		text := "the last reload was refused: " + s.Refused.Why[0]
		if more := len(s.Refused.Why) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more; see: %s)", more, e.command("check"))
		}
		line("reload", fmt.Sprintf("%s (%s)", text, e.when(s.Refused.At)))
	}
	line("state", s.StateDir)
	e.nodesLine(s, line)
	line("store", s.Problem)
	line("model", s.Model)
	trouble := func(which string, t api.Trouble) {
		line("model", fmt.Sprintf("the last call%s failed %s: %s (%d in a row)", which, e.when(t.At), strings.TrimRight(t.Why, "."), t.InARow))
	}
	if t := s.ModelTrouble; t != nil {
		trouble("", *t)
	}
	for _, t := range s.OtherTroubles {
		trouble(" of "+t.Model, t.Trouble)
	}
	for _, bound := range s.Agents {
		line("agents", bound)
	}
	if s.Listen != "" {
		line("page", "http://"+s.Listen)
	}
	if s.OpenAI {
		line("openai", "http://"+s.Listen+"/v1, for programs with a token")
	}
	if s.Running {
		turns := "none running now"
		if s.Turns > 0 {
			turns = count(s.Turns, "runs", "run") + fmt.Sprintf(", the oldest for %s", time.Duration(s.OldestTurnS*float64(time.Second)).Round(time.Second))
		}
		line("turns", turns)
	}
	if d := s.QueueCounts; d != nil {
		e.depths(*d, line)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Channels)) {
		ch := s.Channels[name]
		text := string(ch.State)
		if ch.Detail != "" {
			text += ": " + e.ownHint(ch.Detail, "login", name)
		}
		line(name, text)
	}
	for _, f := range s.Features {
		line(f.Name, featureWords(f))
	}
	for _, w := range s.Warnings {
		line("warning", w)
	}
}

// nodesLine prints this node and its peers, if several share a store.
func (e *env) nodesLine(s api.Status, line func(what, value string)) {
	for _, n := range s.Nodes {
		text := fmt.Sprintf("%s (%s), holds %s, works on %s", n.Name(), words(n.Roles), e.leases(n), count(n.Chats, "chat", "chats"))
		if n.Self {
			line("node", text)
		} else {
			line("peer", fmt.Sprintf("%s; version %s, started %s, seen %s", text, n.Version, e.when(n.Since), e.seen(n)))
		}
	}
	if names := differing(s.Nodes); names != "" {
		line("warning", "the configurations of these nodes differ: "+names+"; give all the same, or reload those that have an old one")
	}
	for _, role := range []struct{ name, waits string }{{"channels", "nothing is received or sent"}, {"turns", "messages wait for an answer"}, {"jobs", "no job starts"}} {
		if len(s.Nodes) > 0 && !slices.ContainsFunc(s.Nodes, func(n api.Node) bool { return len(n.Roles) == 0 || slices.Contains(n.Roles, role.name) }) {
			line("warning", fmt.Sprintf("%s, because no running node has %q in its roles", role.waits, role.name))
		}
	}
}

func (e *env) depths(s api.QueueCounts, line func(what, value string)) {
	line("inbox", e.depth(s.Waiting, s.Oldest, "message waits for an answer", "messages wait for an answer"))
	line("outbox", e.depth(s.Answers, s.OldestSend, "answer is not delivered", "answers are not delivered"))
	if s.Dead+s.Quarantined > 0 {
		line("attention", fmt.Sprintf("%d given up, %d set aside; see: %s", s.Dead, s.Quarantined, e.command("queue list")))
	}
}

func (e *env) depth(n int, oldest time.Time, one, many string) string {
	if n == 0 {
		return "empty"
	}
	text := count(n, one, many)
	if !oldest.IsZero() {
		text += ", the oldest from " + e.when(oldest)
	}
	return text
}

// differing names the nodes by their configuration, if not all have the same. Versions that
// say nothing of it do not count.
func differing(list []api.Node) string {
	by := map[string][]string{}
	for _, n := range list {
		if n.Configuration != "" {
			by[n.Configuration] = append(by[n.Configuration], n.Name())
		}
	}
	if len(by) < 2 {
		return ""
	}
	var all []string
	for _, hash := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%s (%s)", words(by[hash]), hash))
	}
	return strings.Join(all, " and ")
}

// nodesCmd is "dragoman nodes": the daemons that share a database.
type nodesCmd struct {
	jsonFlag
}

func (*nodesCmd) Help() string {
	return "Nodes are daemons that share a PostgreSQL database. HOLDS is what only one of them has at a time, such as the connection of a channel; CHATS is how many conversations it works on now; CONFIG is a hash of its configuration, which should be the same on all."
}

func (k *nodesCmd) Run(e *env, c *cli) error {
	return list(e, c, k.JSON, api.ListNodes, api.None{}, func(all api.Nodes) {
		switch {
		case !all.Shared:
			e.say("There is one node, because the store is of type %s. Several nodes share a store of type postgres; docs/scale.md says how.", all.Store)
		case len(all.Nodes) == 0:
			e.say("No node runs on the database.")
		default:
			e.nodes(all.Nodes)
		}
	})
}

func (e *env) nodes(list []api.Node) {
	t := &table{head: []string{"NODE", "VERSION", "ROLES", "STARTED", "SEEN", "CHATS", "CONFIG", "HOLDS"}, right: []int{5}, less: []int{2, 1, 3}}
	for _, n := range list {
		name := n.Name()
		if n.Self {
			name += " (this one)"
		}
		t.add(name, n.Version, words(n.Roles), e.when(n.Since), e.seen(n), fmt.Sprint(n.Chats), cmp.Or(n.Configuration, "-"), e.leases(n))
	}
	t.print(e)
	if names := differing(list); names != "" {
		e.say("warning: the configurations of these nodes differ: %s; give all the same, or reload those that have an old one", names)
	}
}

func (e *env) seen(n api.Node) string {
	return e.when(e.now().Add(-time.Duration(n.LagS * float64(time.Second))))
}

// leases lists what a node holds and since when. Channels are listed by name.
func (e *env) leases(n api.Node) string {
	var names []string
	for _, lease := range n.Holds {
		names = append(names, fmt.Sprintf("%s (%s)", strings.TrimPrefix(lease.Name, "channel:"), e.when(lease.Since)))
	}
	return words(names)
}

func words(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}
