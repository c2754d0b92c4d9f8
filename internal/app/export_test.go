package app

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/drawing"
	"dragoman/internal/media"
	"dragoman/internal/web"
	"dragoman/sessions/engine"
)

// FilingStore is a store that forgets the files of what it forgets. The Store in it
// forgets none, as if there was a crash.
type FilingStore = filing

// Filing makes one.
func Filing(s *engine.Store, files *media.Store) FilingStore {
	return filing{crashStore: crashStore{s}, files: files}
}

// Tidy removes files that nothing names, as once a day.
func Tidy(ctx context.Context, s FilingStore, files *media.Store, now time.Time) (int, error) {
	return tidy(ctx, s, files, now.Add(-tidyAge))
}

// CollectorOf is where a daemon with this configuration and environment sends traces.
func CollectorOf(cfg *config.Config, getenv func(string) string) (address string, headers map[string]string) {
	return (&Daemon{cfg: cfg, opts: Options{Getenv: getenv}}).collector()
}

// AgentOptions are what the daemon makes its agent with.
func AgentOptions(d *Daemon) (agent.Options, error) { return d.agentOptions() }

// PublicAddr is where the page listens.
func (d *Daemon) PublicAddr() string { return d.public.addr() }

// Make makes a channel of a type whose settings are all unset, in an empty state
// directory.
func Make(kind channels.Type, state string) error {
	cfg := &config.Config{StateDir: state}
	_, err := (&adapters{}).build("x", config.Channel{Type: kind.Name, Settings: kind.Settings()}, cfg, nil, slog.New(slog.DiscardHandler))
	return err
}

// ErrNotMade is what Make returns for a type that nothing makes.
var ErrNotMade = errNotMade

// Log is where the daemon logs.
func (d *Daemon) Log() *slog.Logger { return d.log }

// AddLinker makes l the channel of that name that is linked to a phone.
func (d *Daemon) AddLinker(name string, l channels.Linker) { d.channels.linked[name] = l }

// Routes are those of the public port.
func (d *Daemon) Routes() []web.Route { return d.door.Routes() }

// DrawerIn is what draws with the server of c and keeps its pictures in files. It opens them in
// this process.
func DrawerIn(files *media.Store, c config.Drawing) (tools.Drawing, error) {
	one := &drawer{parcels: parcels{files, 1 << 20, func(k channels.Key) bool { return k.Channel() != "irc" }}, c: c, log: slog.New(slog.DiscardHandler), outage: &outage{}}
	open := func(_ context.Context, answer []byte) ([]byte, error) {
		var b bytes.Buffer
		err := drawing.Serve(bytes.NewReader(answer), &b)
		return b.Bytes(), err
	}
	var err error
	one.painter, err = drawing.New(drawing.Options{URL: c.URL, Model: c.Model, Timeout: time.Minute, Open: open, Fetch: one.fetch})
	return one, err
}
