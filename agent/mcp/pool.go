package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dragoman/agent"
)

// Pool has the servers of one daemon. Make it with [New]. It is safe for concurrent use.
type Pool struct {
	o     Options
	pins  *pins
	links []*link // by name
	http  *http.Transport

	born string          // identifies this process
	ctx  context.Context // of everything that the pool starts
	end  context.CancelFunc
	wait sync.WaitGroup

	mu   sync.Mutex
	made bool // home was made here
	// parked are calls whose questions wait for people, by their ids.
	parked map[string]*underway
	stamp  string // of what tools was made from
	tools  []agent.Tool
}

// New returns a pool that starts nothing. notes keeps what was accepted.
func New(servers []Server, notes Notes, o Options) *Pool {
	o = o.withDefaults()
	p := &Pool{o: o, pins: &pins{notes: notes, now: o.Now, known: map[string]*pinned{}}}
	if o.HTTP == nil {
		p.http = newTransport()
		p.o.HTTP = p.http
	}
	p.born = rand.Text()
	p.ctx, p.end = context.WithCancel(context.Background())
	for _, s := range servers {
		l := &link{Server: s, pool: p, calls: map[string]*patience{}}
		l.login = p.loginOf(&l.Server, notes)
		p.links = append(p.links, l)
	}
	slices.SortFunc(p.links, func(x, y *link) int { return cmp.Compare(x.Name, y.Name) })
	return p
}

func (o Options) withDefaults() Options {
	o.Wait = cmp.Or(o.Wait, 2*time.Second)
	o.Start = cmp.Or(o.Start, 30*time.Second)
	o.Call = cmp.Or(o.Call, time.Minute)
	o.LongCall = cmp.Or(o.LongCall, 10*time.Minute)
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// home is HOME of the program of a server.
func (p *Pool) home(server string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.o.Home == "" {
		made, err := os.MkdirTemp("", "dragoman-mcp-")
		if err != nil {
			return "", fmt.Errorf("make its folder: %w", reasonOf(err))
		}
		p.o.Home = made
		p.made = true
	}
	dir := filepath.Join(p.o.Home, server)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make its folder: %w", reasonOf(err))
	}
	return dir, nil
}

// ErrUnknown is the error for a server that is not configured.
var ErrUnknown = errors.New("mcp: no server of that name is configured")

func (p *Pool) link(server string) (*link, error) {
	for _, l := range p.links {
		if l.Name == server {
			return l, nil
		}
	}
	return nil, ErrUnknown
}

// Close ends all servers, and waits for what the pool has started, at most 10 s. It may be
// called twice.
func (p *Pool) Close() error {
	var all sync.WaitGroup
	for _, l := range p.links {
		all.Go(l.close)
	}
	p.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all.Wait()
		p.wait.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(endTime):
		return errors.New("mcp: the connection to a server does not end")
	}
	if p.http != nil {
		p.http.CloseIdleConnections()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made {
		p.made = false
		return os.RemoveAll(p.o.Home)
	}
	return nil
}
