package main

import (
	"fmt"
	"strings"
	"time"

	"dragoman/internal/httpapi"
)

type nodesCmd struct {
	jsonFlag
}

func (*nodesCmd) Help() string {
	return "Nodes are daemons that share a PostgreSQL database. HOLDS is what only one of them has at a time, such as the connection of a channel; CHATS is how many conversations it works on now."
}

func (k *nodesCmd) Run(e *env, c *cli) error {
	return list(e, c, k.JSON, httpapi.ListNodes, httpapi.None{}, func(all httpapi.Nodes) {
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

func (e *env) nodes(list []httpapi.Node) {
	t := &table{head: []string{"NODE", "VERSION", "ROLES", "STARTED", "SEEN", "CHATS", "HOLDS"}, right: []int{5}, less: []int{2, 1, 3}}
	for _, n := range list {
		name := n.Name()
		if n.Self {
			name += " (this one)"
		}
		t.add(name, n.Version, words(n.Roles), e.when(n.Since), e.seen(n), fmt.Sprint(n.Chats), e.leases(n))
	}
	t.print(e)
}

func (e *env) seen(n httpapi.Node) string {
	return e.when(e.now().Add(-time.Duration(n.LagS * float64(time.Second))))
}

// leases lists what a node holds and since when. Channels are listed by name.
func (e *env) leases(n httpapi.Node) string {
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
