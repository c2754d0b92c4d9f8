package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/drawing"
	"dragoman/internal/sandbox"
)

// pictureWork is what a child that opens pictures is called.
const pictureWork = "picture"

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "drawing", State: api.FeatureOff, Says: "the model makes no pictures: set drawing.url and drawing.model"}
	c := cfg.Drawing
	if c.URL == "" {
		return []api.Feature{f}
	}
	f.State = api.FeatureOn
	f.Says = "pictures are drawn by " + c.Model + at(c.URL)
	if d != nil {
		f = d.outages.drawing.seen(f, "the last picture was not drawn")
	}
	return []api.Feature{f}
})

// drawer draws for the tool make_picture.
type drawer struct {
	parcels parcels
	painter *drawing.Painter
	c       config.Drawing
	log     *slog.Logger
	outage  *outage
}

var _ tools.Drawing = (*drawer)(nil)

// keepTime is what a call may take beside the drawing.
const keepTime = 30 * time.Second

// MostTime implements the tools' Drawing.
func (d *drawer) MostTime() time.Duration { return d.c.Timeout.D() + keepTime }

// MostPictures implements the tools' Drawing.
func (d *drawer) MostPictures() int { return d.c.PerAnswer }

// endings are those of the pictures that are kept, by type.
var endings = map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}

// Draw implements the tools' Drawing.
func (d *drawer) Draw(ctx context.Context, c agent.Call, prompt, name string) (channels.Attachment, error) {
	a := channels.Attachment{Kind: channels.AttachmentImage}
	if err := d.parcels.refuses(c); err != nil {
		return a, err
	}
	for kind, ending := range endings { // it may be there since before a crash
		a.Name = name + ending
		a.Type = kind
		if kept, found := d.parcels.kept(ctx, c, a); found {
			c.Pay(d.c.Model, d.c.Price)
			return kept, nil
		}
	}
	picture, err := d.painter.Draw(ctx, prompt)
	if picture.Paid {
		c.Pay(d.c.Model, d.c.Price)
	}
	d.note(ctx, err)
	if err != nil {
		return a, err
	}
	a.Name = name + endings[picture.Type]
	a.Type = picture.Type
	a.Bytes = int64(len(picture.Content))
	return d.parcels.Outgoing(ctx, c, a, bytes.NewReader(picture.Content))
}

// note keeps how a drawing ended, for the operator.
func (d *drawer) note(ctx context.Context, err error) {
	if errors.Is(err, drawing.ErrRules) {
		return // nothing to mend
	}
	d.outage.note(ctx, err)
	if err != nil && ctx.Err() == nil {
		d.log.Warn("a picture was not drawn", "why", err.Error())
	}
}

// open has a child read what the server gave.
func (d *drawer) open(ctx context.Context, answer []byte) ([]byte, error) {
	picture, err := sandbox.Run(ctx, pictureWork, bytes.NewReader(answer), drawing.MostBytes)
	if said, is := errors.AsType[sandbox.Said](err); is {
		return nil, drawing.Flaw(said)
	}
	if errors.Is(err, sandbox.ErrDied) {
		d.log.Warn("a picture could not be opened", "err", err)
		return nil, drawing.Flaw("gave a picture that needs more memory or time than one may, or breaks its reader")
	}
	return picture, err
}

// fetch reads a picture whose address the server gave.
func (d *drawer) fetch(ctx context.Context, address string, most int64) ([]byte, error) {
	content, err := tools.Download(ctx, address, most)
	switch {
	case err == nil || ctx.Err() != nil:
		return content, err
	case errors.Is(err, tools.ErrNotPublic):
		d.log.Warn("the address of a picture is not read", "err", err)
		return nil, drawing.Flaw("gave an address that is not on the public internet, and such are not read; let it answer with b64_json")
	}
	d.log.Warn("the address of a picture could not be read", "err", err)
	return nil, drawing.Flaw("gave an address from which no picture could be read; let it answer with b64_json")
}

// newDrawer makes the configured drawer, or nil.
func (d *Daemon) newDrawer() (*drawer, error) {
	c := d.cfg.Drawing
	if c.URL == "" {
		return nil, nil
	}
	one := &drawer{parcels: d.parcels(), c: c, log: d.log, outage: &d.outages.drawing}
	size := c.Size
	if size == config.AnySize {
		size = ""
	}
	painter, err := drawing.New(drawing.Options{
		URL: c.URL, Key: c.APIKey.Reveal(), Model: c.Model, Size: size, Timeout: c.Timeout.D(), Open: one.open, Fetch: one.fetch,
	})
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	one.painter = painter
	return one, nil
}

// drawing is the configured drawer for tools, or nil.
func (d *Daemon) drawing() tools.Drawing {
	if d.drawer == nil {
		return nil // and no interface of a nil pointer
	}
	return d.drawer
}
