package gateway

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"dragoman/channels"
)

// Media keeps the files of messages. *media.Store is one.
type Media interface {
	// Keep makes sure that attachment i of m is on disk, and calls fetch if it is not;
	// fetch is nil if the network gives out no files. It returns the attachment for the
	// transcript, with File or with Missing, and an error only if ctx ended.
	Keep(ctx context.Context, m channels.Inbound, i int, fetch func(context.Context, io.Writer) error) (channels.Attachment, error)
}

// Kept opens files that are kept. *media.Store is one.
type Kept interface {
	// Open opens a file by its name. Errors: [fs.ErrNotExist].
	Open(file string) (io.ReadCloser, error)
}

// Listener writes down voice messages.
type Listener interface {
	// Words returns what is said in a file of k's conversation. The error, for the
	// operator, has none of it.
	Words(ctx context.Context, k channels.Key, a channels.Attachment) (string, error)
}

// Speaker makes voice messages of answers.
type Speaker interface {
	// Speak keeps text as a voice message of k's conversation, once for each turn. Without a
	// File, people have to read the text. The error, for the operator, has none of it.
	Speak(ctx context.Context, k channels.Key, turn, text string) (channels.Attachment, error)
}

const (
	// fetchLimit bounds how long its files may delay a turn.
	fetchLimit = 2 * time.Minute
	// fetchers is how many files are fetched at a time.
	fetchers = 4
)

// fetchAll fetches the files of the turn's messages. A missing file never stops
// the turn: the model is told why it is missing.
func (r *run) fetchAll(ctx context.Context) error {
	messages := make([]channels.Inbound, len(r.rows))
	all := make([]*channels.Inbound, len(r.rows))
	for i := range r.rows {
		messages[i] = r.rows[i].Inbound
		all[i] = &messages[i]
	}
	err := r.g.fetch(ctx, all...)
	r.mu.Lock() // others read the rows meanwhile
	defer r.mu.Unlock()
	for i, m := range messages {
		r.rows[i].Inbound.Attachments = m.Attachments
	}
	return err
}

// fetch fetches the attachments of all messages. It returns an error only if ctx ended.
func (g *Gateway) fetch(ctx context.Context, all ...*channels.Inbound) error {
	none := !slices.ContainsFunc(all, func(m *channels.Inbound) bool { return len(m.Attachments) > 0 })
	if g.opts.Media == nil || none {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var files errgroup.Group
	files.SetLimit(fetchers)
	for _, m := range all {
		if len(m.Attachments) == 0 {
			continue
		}
		asked := *m
		m.Attachments = slices.Clone(m.Attachments) // the list is shared
		for i := range asked.Attachments {
			files.Go(func() error {
				m.Attachments[i] = g.fetchOne(limited, asked, i)
				return nil
			})
		}
	}
	_ = files.Wait() // never fails
	for _, m := range all {
		g.showPages(limited, m)
	}
	return ctx.Err()
}

func (g *Gateway) fetchOne(ctx context.Context, m channels.Inbound, i int) channels.Attachment {
	if m.Attachments[i].File != "" {
		return m.Attachments[i] // of a message that m replaces
	}
	var fetch func(context.Context, io.Writer) error
	if f, able := channelAs[channels.Fetcher](g, m.Key); able {
		fetch = func(ctx context.Context, w io.Writer) (err error) {
			defer recoverTo(&err, "fetch on "+m.Key.Channel())
			return f.Fetch(ctx, m.Attachments[i], w)
		}
	}
	a, err := g.opts.Media.Keep(ctx, m, i, fetch)
	if err != nil {
		a = m.Attachments[i]
		a.Missing = "there was no time to fetch it"
	}
	return g.listen(ctx, m.Key, a)
}

// listen writes down what is said in a voice message. One that cannot be heard stays a
// file: the model is told of it, the operator why.
func (g *Gateway) listen(ctx context.Context, k channels.Key, a channels.Attachment) channels.Attachment {
	if g.opts.Listener == nil || a.Kind != channels.AttachmentVoice || a.File == "" {
		return a
	}
	words, err := g.opts.Listener.Words(ctx, k, a)
	if err != nil {
		g.log(k).Warn("a voice message could not be written down", "err", err)
		return a
	}
	a.Words = words
	return a
}

// withQuotedFiles adds the files of the quoted message to those of m, as far as there is
// room. A change of a message brings none: it would take them for the message's own.
func withQuotedFiles(m channels.Inbound) channels.Inbound {
	if m.Quote == nil || len(m.Quote.Attachments) == 0 {
		return m
	}
	quote := *m.Quote
	quoted := slices.Clone(quote.Attachments)
	quote.Attachments = nil
	m.Quote = &quote
	if m.Edits != "" {
		return m
	}
	for i := range quoted {
		quoted[i].Quoted = true
	}
	m.Attachments = cleanAttachments(slices.Concat(m.Attachments, quoted))
	return m
}

// cleanAttachments is the part of an adapter's list of files that is accepted.
func cleanAttachments(all []channels.Attachment) []channels.Attachment {
	if len(all) == 0 {
		return nil
	}
	clean := slices.Clone(all[:min(len(all), channels.MaxAttachments)])
	for i := range clean {
		a := &clean[i]
		a.Name, a.Type = clipText(strings.ToValidUTF8(a.Name, "\uFFFD"), 255), clipText(strings.ToValidUTF8(a.Type, ""), 100)
		a.Missing = clipText(strings.ToValidUTF8(a.Missing, ""), 200)
		a.Bytes = max(a.Bytes, 0)
		a.File = ""  // only Media names it
		a.Words = "" // and only a Listener hears them
		a.Seconds = max(a.Seconds, 0)
	}
	return clean
}
