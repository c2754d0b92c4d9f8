package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
)

// Tools returns the tools that can be offered, sorted by name: the same slice until they
// change. Those of a server that was seen before are known without it. A server that never
// was is started, and waited for at most o.Wait: see [Pool.Missing].
func (p *Pool) Tools(ctx context.Context) []agent.Tool {
	p.meet(ctx)
	var stamp strings.Builder
	known := make([]*pinned, len(p.links))
	for i, l := range p.links {
		known[i] = l.accepted(ctx)
		fmt.Fprintf(&stamp, "%s %s\n", l.Name, l.stampOf(known[i]))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stamp == stamp.String() {
		return p.tools
	}
	p.tools = nil
	for i, l := range p.links {
		p.tools = append(p.tools, l.offer(known[i])...)
	}
	slices.SortFunc(p.tools, func(x, y agent.Tool) int { return cmp.Compare(x.Spec().Name, y.Spec().Name) })
	p.stamp = stamp.String()
	return p.tools
}

// meet starts the servers that were never seen, all at once, so that none that hangs delays
// another, and waits for them.
func (p *Pool) meet(ctx context.Context) {
	var begun []<-chan struct{}
	var most time.Duration
	for _, l := range p.links {
		if soon, left := l.meet(ctx); soon != nil {
			begun = append(begun, soon)
			most = max(most, left)
		}
	}
	limit := time.After(most)
	for _, soon := range begun {
		select {
		case <-soon:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// meet starts the server if nothing was ever accepted of it, and it is not in a pause. It
// returns what to wait for, and how long; nil if nothing is worth waiting for.
func (l *link) meet(ctx context.Context) (soon <-chan struct{}, left time.Duration) {
	if l.accepted(ctx) != nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.pool.o.Now()
	if l.closed || l.live != nil {
		return nil, 0
	}
	if l.soon == nil {
		if now.Before(l.until) {
			return nil, 0
		}
		l.begin()
	}
	left = l.pool.o.Wait - now.Sub(l.begun)
	if left <= 0 {
		return nil, 0
	}
	return l.soon, left
}

// accepted is what was accepted of the server; nil if nothing ever was, or the store does not
// say.
func (l *link) accepted(ctx context.Context) *pinned {
	have, err := l.pool.pins.of(ctx, l.Name)
	if err != nil {
		l.pool.o.Logger.Warn("what was accepted of a server of tools cannot be read", "server", l.Name, "err", err)
	}
	return have
}

// stampOf changes when the tools of the server do.
func (l *link) stampOf(known *pinned) string {
	if known == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	listed := ""
	if l.found != nil {
		listed = l.found.digest()
	}
	var accepted strings.Builder
	for _, t := range known.tools {
		fmt.Fprintf(&accepted, "%s %s %t\n", t.name, t.hash, t.Read)
	}
	return hashOf([]byte(accepted.String())) + listed
}

// offer returns the accepted tools of the server, without those that it lists no more or lists
// otherwise.
func (l *link) offer(known *pinned) (list []agent.Tool) {
	if known == nil {
		return nil
	}
	for _, t := range known.tools {
		if (l.May == nil || l.May(t.Own)) && l.changeOf(t) == "" {
			list = append(list, newTool(l, t))
		}
	}
	return list
}

// Missing are the servers whose tools are not known, so that nobody is offered them. It starts
// nothing.
func (p *Pool) Missing(ctx context.Context) (list []Missing) {
	for _, l := range p.links {
		if l.accepted(ctx) != nil {
			continue
		}
		l.mu.Lock()
		why := cmp.Or(l.why, "it is still starting")
		l.mu.Unlock()
		list = append(list, Missing{l.Name, why})
	}
	return list
}

// Status returns how the servers are, by name. It starts nothing.
func (p *Pool) Status(ctx context.Context) (list []Status) {
	for _, l := range p.links {
		s := l.status(l.accepted(ctx))
		s.Login = l.loginState(ctx)
		if s.Login != nil {
			s.Why = cmp.Or(s.Why, s.Login.Why)
		}
		list = append(list, s)
	}
	return list
}

func (l *link) status(known *pinned) Status {
	s := Status{Server: l.Name, State: StateIdle}
	if known != nil {
		s.Since = known.At
		for _, t := range l.offer(known) {
			s.Tools++
			if t.Spec().Foreign {
				s.Unread++
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Why = l.why
	switch {
	case l.live != nil:
		s.State = StateRunning
	case l.soon != nil:
		s.State = StateStarting
	case l.why != "":
		s.State = StateFailed
	}
	if l.found == nil || known == nil {
		return s
	}
	s.Odd = slices.Clone(l.found.odd)
	for _, t := range l.found.tools {
		if old, is := known.byOwn(t.own); !is || old.hash != t.hash {
			s.Waiting = append(s.Waiting, ToolName(l.Name, t.own))
		}
	}
	return s
}
