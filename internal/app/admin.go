package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"dragoman/channels"
	"dragoman/channels/whatsapp"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/hooks"
	"dragoman/internal/linking"
	"dragoman/internal/respond"
	"dragoman/internal/storage"
)

// Admin returns a client for the operator's commands. It talks to the daemon that
// serves this state directory or, if none runs, works on the store itself; then no
// daemon can start until the caller calls release.
func Admin(ctx context.Context, cfg *config.Config, who storage.Caller) (c *api.Client, release func(), err error) {
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, fs.ErrNotExist) && !slices.Contains(beginning, who.Verb) {
		return adminOfNothing(ctx, cfg, who)
	}
	state, err := storage.Lock(ctx, cfg.StateDir, who)
	if err != nil {
		if !storage.Served(ctx, cfg.StateDir) {
			return nil, nil, err
		}
		c := api.Dial(storage.Socket(cfg.StateDir))
		return c, c.Close, nil
	}
	c, closeAll, err := adminOf(ctx, cfg, who, state)
	if err != nil {
		return nil, nil, errors.Join(err, state.Unlock())
	}
	return c, func() { closeAll(); _ = state.Unlock() }, nil
}

// Running returns a client of the daemon that runs with the configuration src, which
// may have problems since. ok is false if there is none.
func Running(ctx context.Context, src config.Source) (c *api.Client, release func(), ok bool) {
	if src.StateDir == "" || !storage.Served(ctx, src.StateDir) {
		return nil, nil, false
	}
	c = api.Dial(storage.Socket(src.StateDir))
	// A broken file may have lost its state_dir: the usual one can be another daemon's.
	s, err := api.ReadStatus.Call(ctx, c, api.None{})
	if err != nil || s.ConfigFile != src.Path {
		c.Close()
		return nil, nil, false
	}
	return c, c.Close, true
}

// adminOf returns a client that works on the store in state, without a running
// daemon.
func adminOf(ctx context.Context, cfg *config.Config, who storage.Caller, state *storage.Dir) (c *api.Client, release func(), err error) {
	d := &Daemon{cfg: cfg, zone: zoneOf(cfg.Agent.TimeZone), opts: Options{Caller: who}, state: state}
	d.current.Store(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.openStore(ctx, ""); err != nil {
		return nil, nil, err
	}
	if d.beats, err = newBeats(cfg, d.store, nil, nil, nil); err != nil {
		return nil, nil, err
	}
	d.beats.idle = true
	d.reminders = d.newReminders()
	d.openMCP()
	d.links = linking.New(func(name string) (channels.Linker, error) { return onlyLinkable(cfg, name) })
	d.hooks = hooks.New(hooksOf(cfg), hooks.Options{Store: d.store, Hold: d.store.Hold})
	running, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.hooks.Run(running) }) // it only ends with its context
	stopFeed := feedHooks(d.events, d.hooks, slog.New(slog.DiscardHandler))
	d.onClose("the hooks", func() error {
		stopFeed()
		end()
		wg.Wait() // until they have received their events
		return nil
	})
	return api.InProcess(d.verbs()), func() { _ = d.Close() }, nil
}

// beginning are the commands that may make a state directory.
var beginning = []string{"sessions import", "login", "logout", "token create"}

// adminOfNothing is Admin where no daemon has ever run. It works on a temporary
// folder: a command that only looks must not make the state directory, perhaps
// with the wrong owner.
func adminOfNothing(ctx context.Context, cfg *config.Config, who storage.Caller) (*api.Client, func(), error) {
	dir, remove, err := storage.Temporary(who.Verb)
	if err != nil {
		return nil, nil, err
	}
	c, release, err := adminOf(ctx, cfg, who, dir)
	if err != nil {
		remove()
		return nil, nil, err
	}
	who.Say("there is nothing in %s yet, because no daemon has run with %s", cfg.StateDir, cfg.Source())
	return c, func() { release(); remove() }, nil
}

func (d *Daemon) findLinkable(name string) (channels.Linker, error) {
	if ch, ok := d.channels.linked[name]; ok {
		return ch, nil
	}
	return nil, errNotLinkable(name, d.cfg)
}

// onlyLinkable makes a channel for a command, without a running daemon.
func onlyLinkable(cfg *config.Config, name string) (channels.Linker, error) {
	settings, ok := cfg.Channels[name].Settings.(*whatsapp.Settings)
	if !ok {
		return nil, errNotLinkable(name, cfg)
	}
	ch, err := buildWhatsApp(name, settings, cfg, false, nil)
	if err != nil {
		return nil, fmt.Errorf("app: channel %s: %w", name, err)
	}
	return ch, nil
}

// errNotLinkable says that a channel cannot be linked, and which ones can.
func errNotLinkable(name string, cfg *config.Config) error {
	if c, ok := cfg.Channels[name]; ok && c.Type == whatsapp.Type.Name && !c.Enabled {
		return &respond.Refusal{
			Status: http.StatusUnprocessableEntity, Param: "name",
			Sentence: fmt.Sprintf("the channel %q is turned off (enabled: false); turn it on and restart", name),
		}
	}
	advice := "add one under channels, see docs/whatsapp.md"
	if there := cfg.OfType(whatsapp.Type.Name); len(there) > 0 {
		advice = "name one of these: " + strings.Join(there, ", ")
	}
	return &respond.Refusal{
		Status: http.StatusNotFound, Param: "name",
		Sentence: fmt.Sprintf("the configuration has no channel %q of type whatsapp; %s", name, advice),
	}
}
