package gateway

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
)

// Media keeps the files that come with messages. *media.Store is one.
type Media interface {
	// Keep makes sure that attachment i of m is on disk, with fetch if it is
	// not, and returns it as it goes to the transcript: with File, or with
	// Missing. It returns an error only if ctx ended. fetch is nil where the
	// network gives out no files.
	Keep(ctx context.Context, m channels.Inbound, i int, fetch func(context.Context, io.Writer) error) (channels.Attachment, error)
}

const (
	// fetchLimit bounds how long the files of one turn may hold up its answer.
	fetchLimit = 2 * time.Minute
	// fetchers is how many files are fetched side by side.
	fetchers = 4
)

// fetchAll fetches the files of the messages that the turn answers. A file
// that cannot be had never stops it: the model is told why it is not there.
func (r *run) fetchAll(ctx context.Context) error {
	all := make([]*channels.Inbound, 0, len(r.rows))
	for i := range r.rows {
		all = append(all, &r.rows[i].Inbound)
	}
	return r.g.fetch(ctx, all...)
}

// fetch replaces the attachments of all by what became of them. It returns an
// error only if ctx ended.
func (g *Gateway) fetch(ctx context.Context, all ...*channels.Inbound) error {
	if g.opts.Media == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var wg sync.WaitGroup
	turnstile := make(chan struct{}, fetchers) // frees up as fetches end, which they do when limited does
	for _, m := range all {
		if len(m.Attachments) == 0 {
			continue
		}
		asked := *m
		m.Attachments = slices.Clone(m.Attachments) // others hold the list too
		for i := range asked.Attachments {
			turnstile <- struct{}{}
			wg.Go(func() {
				defer func() { <-turnstile }()
				m.Attachments[i] = g.fetchOne(limited, asked, i)
			})
		}
	}
	wg.Wait()
	return ctx.Err()
}

// fetchOne is attachment i of m, fetched if that can be done.
func (g *Gateway) fetchOne(ctx context.Context, m channels.Inbound, i int) channels.Attachment {
	var fetch func(context.Context, io.Writer) error
	if b := g.bindings[m.Key.Channel()]; b != nil {
		if f, ok := b.Channel.(channels.Fetcher); ok {
			fetch = func(ctx context.Context, w io.Writer) (err error) {
				defer recoverTo(&err, "fetch on "+m.Key.Channel())
				return f.Fetch(ctx, m.Attachments[i], w)
			}
		}
	}
	a, err := g.opts.Media.Keep(ctx, m, i, fetch)
	if err != nil {
		a = m.Attachments[i]
		a.Missing = "there was no time to fetch it"
	}
	return a
}

// attachments is what is taken in of the files that an adapter names.
func attachments(all []channels.Attachment) []channels.Attachment {
	if len(all) == 0 {
		return nil
	}
	clean := slices.Clone(all[:min(len(all), channels.MaxAttachments)])
	for i := range clean {
		a := &clean[i]
		a.Name, a.Type = clipText(strings.ToValidUTF8(a.Name, "\uFFFD"), 255), clipText(strings.ToValidUTF8(a.Type, ""), 100)
		a.Missing = clipText(strings.ToValidUTF8(a.Missing, ""), 200)
		a.Bytes = max(a.Bytes, 0)
		a.File = "" // ours to say
	}
	return clean
}
