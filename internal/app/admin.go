package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/internal/linking"
	"dragoman/internal/storage"
)

// Admin is a client for the operator's verbs: of the daemon that serves this
// state directory, or, if none runs, of the store itself. The caller calls
// release when done; until then no daemon can start on the store.
func Admin(ctx context.Context, cfg *config.Config, who storage.Caller) (c *httpapi.Client, release func(), err error) {
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, fs.ErrNotExist) && !slices.Contains(beginning, who.Verb) {
		return adminOfNothing(ctx, cfg, who)
	}
	state, err := storage.Wait(ctx, cfg.StateDir, who)
	if err != nil {
		if !storage.Served(ctx, cfg.StateDir) {
			return nil, nil, err
		}
		c := httpapi.Dial(storage.Socket(cfg.StateDir))
		return c, c.Close, nil
	}
	c, closeAll, err := adminOf(ctx, cfg, who, state)
	if err != nil {
		return nil, nil, errors.Join(err, state.Unlock())
	}
	return c, func() { closeAll(); _ = state.Unlock() }, nil
}

// adminOf is a client for the verbs on the store in state.
func adminOf(ctx context.Context, cfg *config.Config, who storage.Caller, state *storage.Dir) (c *httpapi.Client, release func(), err error) {
	var undo []func() error
	closeAll := func() (errs error) {
		for _, f := range slices.Backward(undo) {
			errs = errors.Join(errs, f())
		}
		return errs
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	store, err := storage.OpenStore(ctx, cfg, state, "", nil)
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, store.Close)
	files, err := storage.OpenMedia(ctx, cfg, state, nil)
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, files.Close)
	beats, err := newBeats(cfg, store, nil, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	beats.idle = true
	told, endHooks := startHooks(cfg)
	undo = append(undo, endHooks)
	filed := filing{wrapStore(store), files, &channelErasers{cfg: cfg}}
	o := httpapi.AdminOptions{
		Store: filed, Jobs: beats, Events: told.Emit, Audit: auditLog(state), Nodes: lister(peersOf(store)),
		Eraser: newEraser(filed, state, cfg.Store.Type, told.Emit),
		Phones: linking.New(func(name string) (channels.Linker, error) { return onlyLinkable(cfg, name) }),
		Info: func() httpapi.Info {
			return httpapi.Info{
				Version: who.Version, Config: cfg.Source().String(), StateDir: cfg.StateDir, Store: cfg.Store.Type, Policy: cfg.Policy(),
				Warnings: append(storage.DiskWarnings(cfg), storage.DamageWarnings(cfg)...),
			}
		},
	}
	return httpapi.InProcess(httpapi.Admin(o)), func() { _ = closeAll() }, nil
}

// beginning are the verbs that may begin a state directory.
var beginning = []string{"sessions import", "login", "logout"}

// adminOfNothing is Admin where no daemon has ever run: looking at an empty
// place must not make it, with the wrong owner perhaps.
func adminOfNothing(ctx context.Context, cfg *config.Config, who storage.Caller) (*httpapi.Client, func(), error) {
	dir, remove, err := storage.NewView(os.TempDir(), who.Verb)
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
