package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/durable"
	"dragoman/sessions/engine"
	"dragoman/sessions/exchange"
)

// Migrated is the result of a migration.
type Migrated struct {
	From Location `json:"from"`
	To   Location `json:"to"`
	exchange.Counts
	// Equal: the copy was compared and is equal. A copy that is not is an error.
	Equal bool `json:"equal"`
	// Again: an earlier migration to the same location was interrupted.
	Again bool `json:"again,omitempty"`
	// Aside is the new path of an empty store that was at To, or "".
	Aside string `json:"aside,omitempty"`
	// Advice says how to use the copy.
	Advice string `json:"-"`
}

// draftSuffix is appended to the path of a copy that is not finished.
const draftSuffix = ".migrating"

// Migrate copies the store at from to an empty location, and compares the two. No
// daemon may run.
//
// It makes the copy in a folder beside its location, and moves it there once it is
// complete, durable and found equal. So a migration that dies leaves the location as it
// was, and the next one starts over. It opens from as a daemon does, and deletes
// nothing there.
func Migrate(ctx context.Context, cfg *config.Config, from, to Location, who Caller, tell func(exchange.Progress)) (m Migrated, err error) {
	from.cfg = cfg
	to.cfg = cfg
	from.who = who
	to.who = who
	m.From = from
	m.To = to
	m.Advice = to.Advice(cfg)
	defer func() { m.Equal = err == nil }()
	state, err := Lock(ctx, cfg.StateDir, who)
	if err != nil && Served(ctx, cfg.StateDir) {
		return m, fmt.Errorf("storage: a daemon is using %s; stop it first, or the copy would lack the messages that it accepts during the migration", cfg.StateDir)
	}
	if err != nil {
		return m, err
	}
	defer func() { _ = state.Unlock() }()
	if err := checkLocations(from, to); err != nil {
		return m, err
	}
	if to.Path == "" {
		m.Counts, err = copyFrom(ctx, from, to, copyIntoDatabase, tell)
		return m, err
	}
	there, err := checkTarget(ctx, to)
	if err != nil {
		return m, err
	}
	draft, again, err := newDraft(to.Path+draftSuffix, who.Verb)
	m.Again = again
	if err != nil {
		return m, err
	}
	copied := Location{Type: to.Type, Path: draft.File(filepath.Base(to.Path))}
	m.Counts, err = copyFrom(ctx, from, copied, copyInto, tell)
	if differs := (*exchange.Difference)(nil); errors.As(err, &differs) {
		return m, errors.Join(fmt.Errorf("storage: the copy is NOT equal and was not put in place; it is at %s: %w", copied.Path, err), draft.Unlock())
	}
	defer draft.discard()
	if err == nil && from.Type == postgresType {
		if err = filesFromDatabase(ctx, withDatabase(cfg), who); err == nil {
			err = devicesFromDatabase(ctx, withDatabase(cfg), who)
		}
	}
	if err == nil && there {
		m.Aside, err = setAside(to.Path)
	}
	if err == nil {
		err = putInPlace(copied.Path, to.Path)
	}
	return m, err
}

// checkLocations refuses locations between which no store can be copied. It only reads.
func checkLocations(from, to Location) error {
	switch {
	case from.Path == "" && to.Path == "":
		return fmt.Errorf("storage: %s cannot be migrated to itself, or to another type without files; migrate it to sqlite first", from)
	case from.Path == "":
		return nil
	case to.Path == "":
		return checkSource(from)
	}
	source, target := config.RealPath(from.Path), config.RealPath(to.Path)
	switch {
	case source == target:
		return fmt.Errorf("storage: %s cannot be migrated to itself", from)
	case within(source, target) || within(target, source) || within(source, target+draftSuffix):
		return fmt.Errorf("storage: one of %s and %s is inside the other; choose a path outside, like --to %s:PATH", from, to, to.Type)
	}
	return checkSource(from)
}

// checkSource refuses a location without a store.
func checkSource(from Location) error {
	found, err := storeTypes[from.Type].look(from.Path)
	if found {
		return nil
	}
	none := fmt.Errorf("storage: there is no store at %s; name its path, like --from %s:PATH", from.Path, from.Type)
	if err != nil {
		return fmt.Errorf("%w: %w", none, err)
	}
	return none
}

// within reports whether path is in the folder dir.
func within(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// checkTarget refuses a location where a copy would overwrite something. It reports
// whether an empty store is there. It does not touch anything that is not a store.
func checkTarget(ctx context.Context, to Location) (there bool, err error) {
	info, err := os.Lstat(to.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("storage: %w", err)
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return false, fmt.Errorf("storage: %s is a link; name its target, like --to %s:PATH", to.Path, to.Type)
	}
	var store *engine.Store
	if _, err = storeTypes[to.Type].look(to.Path); err == nil {
		if info.IsDir() && emptyFolder(to.Path) {
			return false, nil // the copy replaces it
		}
		store, err = to.open(ctx, nil)
	}
	if err != nil {
		return true, fmt.Errorf("storage: something is at %s that cannot be opened as a store; move it away, or name another path, like --to %s:PATH: %w", to.Path, to.Type, err)
	}
	counts, err := exchange.Count(ctx, store)
	if err := errors.Join(err, store.Close()); err != nil {
		return true, fmt.Errorf("storage: look into %s: %w", to.Path, err)
	}
	if !counts.Empty() {
		return true, fmt.Errorf("storage: the store at %s is not empty: it holds %s; stores are not merged. Move it away, or name another path, like --to %s:PATH", to.Path, counts, to.Type)
	}
	return true, nil
}

func emptyFolder(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// copier copies a store to a location.
type copier func(ctx context.Context, from exchange.Source, to Location, tell func(exchange.Progress)) (exchange.Counts, error)

// copyFrom opens the store at from for a copier. Opening changes it.
func copyFrom(ctx context.Context, from, to Location, into copier, tell func(exchange.Progress)) (exchange.Counts, error) {
	source, err := from.openIdle(ctx)
	if err != nil {
		return exchange.Counts{}, err
	}
	counts, err := into(ctx, source, to, tell)
	return counts, errors.Join(err, source.Close())
}

// copyInto makes a store at to, and closes it, so that all its files are complete.
func copyInto(ctx context.Context, from exchange.Source, to Location, tell func(exchange.Progress)) (exchange.Counts, error) {
	target, err := to.open(ctx, nil)
	if err != nil {
		return exchange.Counts{}, err
	}
	counts, err := exchange.Move(ctx, from, target, tell)
	return counts, errors.Join(err, target.Close())
}

// setAside renames an empty store, and returns its new path.
func setAside(path string) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.empty-%s", path, time.Now().UTC().Format("20060102"))
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return "", fmt.Errorf("storage: %w", err)
			}
			continue
		}
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
			return "", fmt.Errorf("storage: %s-wal is still there: another program has the store open", path)
		}
		if err := os.Rename(path, name); err != nil {
			return "", fmt.Errorf("storage: move the empty store away: %w", plainPathError(err))
		}
		return name, nil
	}
}

// putInPlace renames the copy at draft to path.
func putInPlace(draft, path string) error {
	var err error
	if emptyFolder(path) {
		err = os.Remove(path)
	}
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("storage: put the copy in place: %w", plainPathError(err))
	}
	return nil
}

// Advice says how to change the configuration so that the daemon uses the store at p.
func (p Location) Advice(cfg *config.Config) string {
	var b strings.Builder
	file := cfg.Source().String()
	if own, err := ParseLocation(p.Type, cfg.StateDir); err == nil && own.Path != p.Path {
		fmt.Fprintf(&b, "The daemon expects its store of type %s at %s.\nMove the copy there first, while no daemon runs.\n", p.Type, own.Path)
	}
	if cfg.Store.Type == p.Type {
		fmt.Fprintf(&b, "The configuration (%s) names a store of type %s already.", file, p.Type)
		return b.String()
	}
	fmt.Fprintf(&b, "To use it, write into the configuration (%s) and start the daemon:\n\n    store: {type: %s}", file, p.Type)
	return b.String()
}
