package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Test lists the tools of a server, and starts it for that, also in a pause. What it finds counts
// for [Pool.Status] and [Pool.Tools]. Its error is why
// it does not work; the report then has what its program wrote.
func (p *Pool) Test(ctx context.Context, server string) (Report, error) {
	l, err := p.link(server)
	if err != nil {
		return Report{}, err
	}
	found, err := l.fresh(ctx)
	var r Report
	if err == nil {
		r = l.report(l.accepted(ctx), found)
	}
	if ctx.Err() == nil { // or whoever asked has left
		l.tested(ctx, found, err)
	}
	r.Dropped, r.Errors = l.tails()
	return r, err
}

// tested notes what a test found, so that the status says it, too, and what has changed is not
// offered.
func (l *link) tested(ctx context.Context, found *listing, err error) {
	if err == nil {
		var files map[string]string
		files, err = l.files()
		if err == nil {
			err = l.pool.pins.checkFiles(ctx, l.Name, files)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if found != nil {
		l.found = found
	}
	switch {
	case l.live != nil || l.soon != nil: // how that goes says more
	case err != nil:
		l.why = err.Error()
	default:
		l.calm()
	}
}

// calm forgets failures, and ends their pause. l.mu is held.
func (l *link) calm() {
	l.failures = 0
	l.until = time.Time{}
	l.why = ""
}

// fresh lists the tools over a connection of its own, so that it works in pauses, too, and
// while the program's files are not those that were accepted.
func (l *link) fresh(ctx context.Context) (*listing, error) {
	ctx, cancel := context.WithTimeout(ctx, l.pool.o.Start)
	defer cancel()
	defer context.AfterFunc(l.pool.ctx, cancel)()
	c, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	defer c.shut()
	return list(ctx, l, c)
}

func (l *link) report(known *pinned, found *listing) Report {
	r := Report{Protocol: found.protocol, Name: found.name, Said: slices.Clone(found.odd), Digest: found.digest()}
	names := namesFor(l.Name, found, known)
	for _, t := range found.tools {
		one := Listed{Name: names[t.own], Own: t.own, Now: string(t.text)}
		var d definition
		_ = json.Unmarshal(t.text, &d) // it was made from one
		one.Description = cleanText(d.Description, tailBytes)
		old, is := known.of(t.own)
		switch {
		case !is:
			one.Change = changeNew
		case old.hash != t.hash:
			one.Change = changeChanged
			one.Before = string(old.Text)
		case !old.Read:
			one.Change = changeUnread
		}
		r.Tools = append(r.Tools, one)
	}
	if known == nil {
		return r
	}
	for _, old := range known.tools {
		if _, is := found.byOwn(old.Own); !is {
			r.Tools = append(r.Tools, Listed{Name: old.name, Own: old.Own, Change: changeGone, Before: string(old.Text)})
		}
	}
	files, err := l.files()
	if err != nil || !maps.Equal(files, known.Files) {
		r.Said = append(r.Said, fmt.Sprintf("files of its program have changed since %s: %s", known.At.Format(time.DateOnly), strings.Join(changedFiles(known.Files, files), ", ")))
	}
	return r
}

// ErrOther is the error of [Pool.Accept] for a server that lists something else by now.
var ErrOther = errors.New("mcp: the server lists something else than what was shown: look again")

// Accept accepts what a server lists, if digest is that of the [Report] that somebody has
// read.
func (p *Pool) Accept(ctx context.Context, server, digest string) error {
	l, err := p.link(server)
	if err != nil {
		return err
	}
	files, err := l.files()
	if err != nil {
		return err
	}
	found, err := l.fresh(ctx)
	if err != nil {
		return err
	}
	if found.digest() != digest {
		return ErrOther
	}
	if err := p.pins.put(ctx, server, files, found, true); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = found
	l.calm()
	return nil
}
