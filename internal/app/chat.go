package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"dragoman/channels/live"
	"dragoman/channels/terminal"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/internal/web"
)

// ChatOptions are those of the chat in a terminal.
type ChatOptions = terminal.ChatOptions

// Chat talks in a terminal until the person leaves. It uses the daemon that serves
// the state directory or, if none runs, starts one that serves only this terminal
// and ends with it. room names the conversation; "" is the usual one.
func Chat(ctx context.Context, cfg *config.Config, opts Options, in io.Reader, out io.Writer, room string, o ChatOptions) error {
	if c, ok := cfg.Channels[terminal.Type.Name]; !ok || !c.Enabled {
		return errors.New("app: the terminal is turned off: the configuration says channels.cli.enabled: false")
	}
	opts.Only, opts.Out = terminal.Type.Name, nil
	d, err := Open(ctx, cfg, opts)
	if err != nil && storage.Served(ctx, cfg.StateDir) {
		return talk(ctx, cfg, in, out, room, o)
	}
	if err != nil {
		return err
	}
	if err := cfg.Absent(); err != nil {
		return errors.Join(err, d.Close()) // this daemon needs the secrets
	}
	if opts.Hint != nil {
		_, _ = fmt.Fprintf(opts.Hint, "No daemon runs, so this chat has one of its own. %s\n", d.models.Why)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	err = talk(ctx, cfg, in, out, room, o)
	cancel()
	return errors.Join(err, <-ended, d.Close())
}

func talk(ctx context.Context, cfg *config.Config, in io.Reader, out io.Writer, room string, o ChatOptions) error {
	transport := web.SocketTransport(storage.Socket(cfg.StateDir))
	defer transport.CloseIdleConnections()
	c := &live.Client{HTTP: &http.Client{Transport: transport}, URL: "http://dragoman" + terminal.Path, Room: room}
	return terminal.Chat(ctx, c, in, out, o)
}
