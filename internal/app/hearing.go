package app

import (
	"context"
	"errors"
	"fmt"

	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/hearing"
)

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "hearing", State: api.FeatureOff, Says: "voice messages are kept as files that the model cannot hear: set hearing.url"}
	if c := cfg.Hearing; c.URL != "" {
		f.State = api.FeatureOn
		f.Says = "voice messages are written down by " + c.Model + at(c.URL)
	}
	if d != nil {
		f = d.outages.hearing.seen(f, "the last voice message was not written down")
	}
	return []api.Feature{f}
})

// listener writes down voice messages that are kept as files.
type listener struct {
	files  tools.Attachments
	ear    *hearing.Listener
	outage *outage
}

// Words implements [gateway.Listener].
func (l listener) Words(ctx context.Context, k channels.Key, a channels.Attachment) (string, error) {
	words, err := l.ear.Words(ctx, tools.NewAttachmentReader(l.files, k, a.File), a.Type)
	switch {
	case errors.Is(err, hearing.ErrSilence):
		l.outage.note(ctx, nil)
	case !errors.Is(err, hearing.ErrTooLong): // else the server was not asked
		l.outage.note(ctx, err)
	}
	return words, err
}

// listening is the configured listener, or nil.
func (d *Daemon) listening() (gateway.Listener, error) {
	c := d.cfg.Hearing
	if c.URL == "" {
		return nil, nil
	}
	ear, err := hearing.New(hearing.Options{URL: c.URL, Key: c.APIKey.Reveal(), Model: c.Model, Language: c.Language})
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	return listener{d.files, ear, &d.outages.hearing}, nil
}
