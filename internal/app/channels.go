package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"dragoman/channels"
	"dragoman/channels/irc"
	"dragoman/channels/live"
	"dragoman/channels/telegram"
	"dragoman/channels/terminal"
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
		a.bindings = append(a.bindings, gateway.Binding{
			Channel: ch, Policy: people.Policy{Allow: c.Allow, Pairing: c.Pairing, Groups: people.Groups(c.Groups)},
			System: c.System, Model: c.Model, Reset: gateway.ResetMode(c.Reset),
			Everywhere: c.Type == config.TypeCLI || c.Type == config.TypeWeb,
			Owner:      c.Type == config.TypeCLI || c.Type == config.TypeWeb && cfg.HTTP.Private(),
		})
	}
	return a, errors.Join(errs...)
}

func (a *adapters) build(name string, c config.Channel, cfg *config.Config, feed live.Feed, log *slog.Logger) (channels.Channel, error) {
	switch c.Type {
	case config.TypeTelegram:
		t := c.Telegram
		return telegram.New(name, telegram.Options{
			Token: t.Token.Reveal(), APIURL: t.APIURL, PollTimeout: t.PollTimeout.D(), NoPreview: !t.Preview, Shared: a.peers != nil,
			Proxy: http.ProxyFromEnvironment, Logger: log,
		})
	case config.TypeWhatsApp:
		ch, err := buildWhatsApp(name, c.WhatsApp, cfg, a.peers != nil, log)
		if err != nil {
			return nil, err
		}
		a.linked[name] = ch
		return ch, nil
	case config.TypeIRC:
		return buildIRC(name, c, a.peers != nil, log)
	case config.TypeWeb:
		hub, err := a.buildLive(name, live.Options{
			Room: live.PageRoom, Files: a.files, MaxFile: int64(cfg.Media.MaxBytes), Thoughts: cfg.Model.ShowReasoning == "folded",
		}, cfg, feed, log)
		a.web = hub
		return hub, err
	case config.TypeCLI:
		hub, err := a.buildLive(name, live.Options{Room: terminal.Room}, cfg, feed, log)
		a.terminal = hub
		return hub, err
	}
	return nil, fmt.Errorf("unknown type %q", c.Type)
}

func (a *adapters) buildLive(name string, o live.Options, cfg *config.Config, feed live.Feed, log *slog.Logger) (*live.Hub, error) {
	o.Name = name
	o.Feed = feed
	o.MaxText = int(cfg.Queue.MaxMessageBytes)
	o.Broadcast = a.others(name)
	o.Logger = log
	return live.New(o)
}

func buildIRC(name string, ch config.Channel, shared bool, log *slog.Logger) (channels.Channel, error) {
	c := ch.IRC
	tc, err := ircTLS(c)
	if err != nil {
		return nil, err
	}
	o := irc.Options{
		Server: c.Server, TLS: c.TLS, TLSConfig: tc, Password: c.Password.Reveal(),
		Nick: c.Nick, AltNicks: c.AltNicks, User: c.User, RealName: c.RealName,
		SASL: irc.SASL{
			Mechanism: strings.ToUpper(c.SASL.Mechanism), User: c.SASL.User,
			Password: c.SASL.Password.Reveal(), Required: c.SASL.Required,
		},
		NickServ: irc.NickServ{
			Nick: c.NickServ.Nick, User: c.NickServ.User, Password: c.NickServ.Password.Reveal(),
			Regain: strings.ToUpper(c.NickServ.Regain),
		},
		FloodBurst: c.Flood.Burst, FloodEvery: c.Flood.Every.D(), Shared: shared, Logger: log,
		MaxLines:   cmp.Or(c.MaxLines, -1),
		Everything: ch.Groups == config.GroupsAll, // "!new" is a command for us then; the gateway decides about the rest
	}
	for _, room := range c.Channels {
		o.Channels = append(o.Channels, strings.TrimSpace(room.Name+" "+room.Key.Reveal()))
	}
	return irc.New(name, o)
}

// ircTLS reads the certificates that c names; adapters read no files.
func ircTLS(c *config.IRC) (*tls.Config, error) {
	tc := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read ca_file: %w", err)
		}
		tc.RootCAs = x509.NewCertPool()
		if !tc.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file %s holds no certificate in PEM form", c.CAFile)
		}
	}
	if c.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(c.ClientCert, cmp.Or(c.ClientKey, c.ClientCert))
		if err != nil {
			return nil, fmt.Errorf("read client_cert: %w", err)
		}
		tc.Certificates = []tls.Certificate{pair}
	}
	return tc, nil
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
				At: it.At, State: string(it.State), Waiting: it.Waiting,
			}
			for _, a := range it.Attachments {
				item.Files = append(item.Files, live.File{Name: a.Name, Type: a.Type, Bytes: a.Bytes, Ref: a.Ref})
			}
			items = append(items, item)
		}
		return items, err
	}
}
