package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/channels/whatsapp"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// adapters are the channels that the configuration enables, and the parts of them
// that others need by name.
type adapters struct {
	bindings []gateway.Binding
	web      *live.Hub // nil if disabled
	terminal *live.Hub // nil if disabled
	linked   map[string]channels.Linker
	files    live.Files // for files that people send on the page
	peers    sessions.Peers
}

// buildChannels makes every enabled channel, only those of a type if that is not
// empty. Nothing connects yet.
func buildChannels(cfg *config.Config, feed live.Feed, files live.Files, peers sessions.Peers, log *slog.Logger, only string) (*adapters, error) {
	a := &adapters{linked: map[string]channels.Linker{}, files: files, peers: peers}
	var errs []error
	for _, name := range cfg.Active() {
		c := cfg.Channels[name]
		if only != "" && c.Type != only {
			continue
		}
		ch, err := a.build(name, c, cfg, feed, log)
		if err != nil {
			errs = append(errs, fmt.Errorf("app: channel %s: %w", name, err))
			continue
		}
		if linker, ok := ch.(channels.Linker); ok {
			a.linked[name] = linker
		}
		a.bindings = append(a.bindings, gateway.Binding{
			Channel: ch, Policy: people.Policy{Allow: c.Allow, Pairing: c.Pairing, Groups: people.Groups(c.Groups)},
			System: c.System, Model: c.Model, Reset: gateway.ResetMode(c.Reset),
			Everywhere: c.Local(),
		})
	}
	return a, errors.Join(errs...)
}

// build makes one channel. Types that need more than every channel gets have a case.
func (a *adapters) build(name string, c config.Channel, cfg *config.Config, feed live.Feed, log *slog.Logger) (channels.Channel, error) {
	switch s := c.Settings.(type) {
	case *whatsapp.Settings:
		return buildWhatsApp(name, s, cfg, a.peers != nil, log)
	case *live.Settings:
		hub, err := a.buildLive(name, live.Options{
			Room: live.PageRoom, Files: a.files, MaxFile: int64(cfg.Media.MaxBytes), Thoughts: cfg.Model.ShowReasoning == "folded",
		}, cfg, feed, log)
		a.web = hub
		return hub, err
	case *terminal.Settings:
		hub, err := a.buildLive(name, live.Options{Room: terminal.Room}, cfg, feed, log)
		a.terminal = hub
		return hub, err
	case channels.Maker:
		return s.Make(channels.Setup{
			Name: name, Everything: c.Groups == config.GroupsAll, Shared: a.peers != nil,
			ReadFile: os.ReadFile, Proxy: http.ProxyFromEnvironment, Logger: log,
		})
	}
	return nil, errNotMade
}

// errNotMade is a mistake of ours: see the test of Types.
var errNotMade = errors.New("the settings of its type are no channels.Maker, and internal/app has no case for it")

func (a *adapters) buildLive(name string, o live.Options, cfg *config.Config, feed live.Feed, log *slog.Logger) (*live.Hub, error) {
	o.Name = name
	o.Feed = feed
	o.Visitor = visitor
	o.MaxText = int(cfg.Queue.MaxMessageBytes)
	o.Broadcast = a.others(name)
	o.Logger = log
	return live.New(o)
}

// feedOf converts the store's feed for the live channels, which do not know the
// store.
func feedOf(read func(context.Context, channels.Key, int64, int) ([]sessions.FeedItem, error)) live.Feed {
	return func(ctx context.Context, k channels.Key, before int64, limit int) ([]live.Item, error) {
		list, err := read(ctx, k, before, limit)
		items := make([]live.Item, 0, len(list))
		for _, it := range list {
			item := live.Item{
				Seq: it.Seq, ID: it.ID, From: it.From, Name: it.Name, Text: it.Text,
				At: it.At, State: string(it.State), Waiting: it.Waiting, Failed: it.Kind == channels.KindApology, Wants: it.Kind == channels.KindForm,
			}
			if it.Kind == channels.KindQuestion {
				item.Asks = gateway.QuestionOf(it.ID)
			}
			if it.Again {
				item.Text = sessions.AgainMark + it.Text
			}
			for _, a := range it.Attachments {
				item.Files = append(item.Files, live.File{Name: a.Name, Type: a.Type, Bytes: a.Bytes, Ref: a.Ref})
			}
			items = append(items, item)
		}
		return items, err
	}
}
