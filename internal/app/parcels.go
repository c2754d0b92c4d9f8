package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/media"
)

// parcels keeps the files that tools send with an answer. They are files of the
// conversation, so they go with it, and a delivery names one.
type parcels struct {
	files *media.Store
	most  int64
	// takes reports whether files can be shown in k.
	takes func(k channels.Key) bool
}

// Outgoing implements the tools' Outgoing. The name of a file follows from its call, so a
// call that runs again after a crash keeps nothing new.
func (p parcels) Outgoing(ctx context.Context, c agent.Call, a channels.Attachment, content io.Reader) (channels.Attachment, error) {
	if err := p.refuses(c); err != nil {
		return a, err
	}
	return p.keep(ctx, c.Key, idOf(c), a, content)
}

// refuses says why the chat of c gets no files; nil if it gets them.
func (p parcels) refuses(c agent.Call) error {
	if c.Key.IsZero() || !p.takes(c.Key) {
		return errors.New("this chat takes no files; put what matters into your answer")
	}
	return nil
}

// idOf identifies the file of a call.
func idOf(c agent.Call) string { return "call " + c.Turn + " " + c.ID }

// kept is the file of a that c has kept in an earlier run, if there is one.
func (p parcels) kept(ctx context.Context, c agent.Call, a channels.Attachment) (channels.Attachment, bool) {
	ours := channels.Inbound{Key: c.Key, ID: idOf(c), Attachments: []channels.Attachment{a}}
	a, err := p.files.Keep(ctx, ours, 0, nil)
	return a, err == nil && a.File != ""
}

// Most implements the tools' Outgoing.
func (p parcels) Most() int64 { return p.most }

// keep keeps a file for k under an id.
func (p parcels) keep(ctx context.Context, k channels.Key, id string, a channels.Attachment, content io.Reader) (channels.Attachment, error) {
	ours := channels.Inbound{Key: k, ID: id, Attachments: []channels.Attachment{a}}
	kept, err := p.files.Keep(ctx, ours, 0, func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
	if err == nil && kept.Missing != "" {
		err = fmt.Errorf("the file cannot be sent: %s", kept.Missing)
	}
	return kept, err
}

// parcels makes them.
func (d *Daemon) parcels() parcels {
	return parcels{d.files, min(gateway.MostSent, d.maxFile()), d.takesFiles}
}

func (d *Daemon) maxFile() int64 {
	if most := int64(d.cfg.Media.MaxBytes); most > 0 {
		return most
	}
	return gateway.MostSent
}

// takesFiles reports whether the channel of k sends files, or shows what is kept.
func (d *Daemon) takesFiles(k channels.Key) bool {
	return slices.ContainsFunc(d.channels.bindings, func(b gateway.Binding) bool {
		_, sends := b.Channel.(channels.Filer)
		_, shows := b.Channel.(channels.Mirror)
		return b.Channel.Name() == k.Channel() && (sends || shows)
	})
}
