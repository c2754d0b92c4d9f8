package storage

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/internal/config"
	"dragoman/internal/plain"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
	"dragoman/sessions/sqlite"
)

// Location is the type of a store, and where it is.
type Location struct {
	Type string // a key of storeTypes
	Path string // the file or folder; "" if the type has none
	who  Caller // reads that open converts the store first; zero: nobody

	// A store in a database is reached with cfg, as the node of dir, which runs that version
	// of the program. Nil, "": not a daemon.
	cfg     *config.Config
	dir     *Dir
	version string
}

// String returns p as TYPE:PATH, or as TYPE without a path.
func (p Location) String() string {
	if p.Path == "" {
		return p.Type
	}
	return p.Type + ":" + p.Path
}

// MarshalText writes the form of String.
func (p Location) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// converting says that the store is converted.
func (p Location) converting(kept string) {
	p.who.Say("converting the conversations in %s to the format of this version, which can take a while; a copy of the old files stays in %s", p.Path, kept)
}

// storeType is one type of store.
type storeType struct {
	// name is the store's file or folder within the state directory. "": it has none, and
	// has check and restore. The others have look and newer.
	name string
	open func(ctx context.Context, p Location, log *slog.Logger) (*engine.Store, error)
	// look reports whether a store of this type is at path, and only reads. Anything
	// else at path is an error.
	look func(path string) (bool, error)
	// newer returns an error if this program is too old for the store at path, and only
	// reads.
	newer func(path string) error
	// damaged lists the files within path that could not be read and were set aside.
	// Nil: such a store is refused instead.
	damaged func(path string) ([]string, error)
	// check returns why the store cannot be used, or nil. It changes nothing.
	check func(ctx context.Context, p Location) error
	// restore makes a draft beside old, and closes old if it fails. It returns a
	// *NotEmptyError if old is not empty, unless replace is set.
	restore func(ctx context.Context, old *engine.Store, replace bool) (*restoring, error)
}

// postgresType also has the linked devices, and the files of messages if asked.
const postgresType = "postgres"

// storeTypes are the stores that this program can open.
var storeTypes = map[string]storeType{
	"sqlite": {name: databaseName, look: sqlite.Look, newer: sqlite.Newer, open: func(ctx context.Context, p Location, log *slog.Logger) (*engine.Store, error) {
		return sqlite.Open(ctx, p.Path, sqlite.Options{Logger: log, Converting: p.converting})
	}},
	"file": {name: folderName, look: file.Look, newer: file.Newer, damaged: file.Damaged, open: func(ctx context.Context, p Location, log *slog.Logger) (*engine.Store, error) {
		return file.Open(ctx, p.Path, file.Options{Logger: log, Converting: p.converting})
	}},
	postgresType: {open: openPostgres, check: checkPostgres, restore: restoreDatabase},
}

// ParseLocation parses TYPE or TYPE:PATH. Without a path it is the location that the
// daemon of stateDir uses for that type.
func ParseLocation(text, stateDir string) (Location, error) {
	name, path, _ := strings.Cut(text, ":")
	t, ok := storeTypes[name]
	switch {
	case !ok:
		return Location{}, fmt.Errorf("there is no store %q: write one of %s", name, strings.Join(slices.Sorted(maps.Keys(storeTypes)), ", "))
	case t.name == "" && path != "":
		return Location{}, fmt.Errorf("write %s without a path; the url of a database belongs in store.url in the configuration, because other users can see a command line", name)
	case t.name == "":
		return Location{Type: name}, nil
	case path == "":
		path = filepath.Join(stateDir, t.name)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Location{}, fmt.Errorf("storage: %w", err)
	}
	return Location{Type: name, Path: path}, nil
}

// open opens the store at p, and creates it if there is none.
func (p Location) open(ctx context.Context, log *slog.Logger) (*engine.Store, error) {
	t, ok := storeTypes[p.Type]
	if !ok {
		return nil, fmt.Errorf("storage: there is no store of type %q", p.Type)
	}
	store, err := t.open(ctx, p, log)
	if err != nil {
		return nil, fmt.Errorf("storage: open the store: %w", err)
	}
	return store, nil
}

// OpenStore opens the configured store, for a daemon of that version or, if version is
// "", for a command. If log is not nil it logs earlier damage. If log shows no Info, who
// reads that an old store is converted.
func OpenStore(ctx context.Context, cfg *config.Config, s *Dir, version string, who Caller, log *slog.Logger) (*engine.Store, error) {
	// Before opening: the store itself logs the damage that it finds then.
	if n := len(DamageWarnings(cfg)); n > 0 && log != nil {
		log.Error("damaged files of the store were set aside earlier; dragoman status names them", "files", n)
	}
	p, err := ParseLocation(cfg.Store.Type, s.Path)
	if err != nil {
		return nil, fmt.Errorf("storage: store.type: %w", err)
	}
	p.cfg = cfg
	p.dir = s
	p.version = version
	if log == nil || !log.Enabled(ctx, slog.LevelInfo) {
		p.who = who
	}
	return p.open(ctx, log)
}

// Check returns why the configured store cannot be used, or nil: something else is at
// its path, a newer version wrote it, nothing can be written, or the database refuses.
// It changes nothing, so a daemon may run. A store that does not exist yet is no error.
func Check(ctx context.Context, cfg *config.Config) error {
	if err := checkWritable(cfg.StateDir); err != nil {
		return fmt.Errorf("%w; neither a daemon nor a command can use it", err)
	}
	t := storeTypes[cfg.Store.Type]
	if t.name == "" {
		return t.check(ctx, Location{Type: cfg.Store.Type, cfg: cfg})
	}
	path := filepath.Join(cfg.StateDir, t.name)
	_, err := t.look(path)
	if err == nil {
		err = t.newer(path)
	}
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// Exposed warns if more people than needed can reach the configured database; "": no.
func Exposed(ctx context.Context, cfg *config.Config) (warning string, err error) {
	if cfg.Store.Type != postgresType {
		return "", nil
	}
	return exposed(ctx, cfg)
}

// StoreName is the configured store's file or folder in the state directory; "" if it
// has none.
func StoreName(cfg *config.Config) string { return storeTypes[cfg.Store.Type].name }

// DamageWarnings returns a warning for each damaged file that was set aside, or that the
// files cannot be listed. It opens no store, so a daemon may run.
func DamageWarnings(cfg *config.Config) (texts []string) {
	t := storeTypes[cfg.Store.Type]
	if t.damaged == nil {
		return nil
	}
	dir := filepath.Join(cfg.StateDir, t.name)
	names, err := t.damaged(dir)
	if err != nil {
		texts = append(texts, plain.Text(err))
	}
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("a file of the store could not be read and was set aside as %s; the store goes on without it. "+
			"Look at the file, then move it away; if another program wrote it, try dragoman sessions import.", filepath.Join(dir, name)))
	}
	return texts
}

// Leftovers lists files and folders that may have conversations and that no erasure
// touches: other stores in the state directory, such as the source or a leftover of a
// migration, copies of a store, files and devices that were moved to shared storage, and
// states that a restore kept beside this one. used is the type of the configured store.
func Leftovers(stateDir, used string) (others []string, err error) {
	entries, err := os.ReadDir(stateDir)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	for _, e := range entries {
		if path := filepath.Join(stateDir, e.Name()); (strings.HasPrefix(e.Name(), mediaMoved) || strings.Contains(e.Name(), deviceSuffix+deviceMoved)) && !emptyFolder(path) {
			others = append(others, path)
		}
		for kind, t := range storeTypes {
			rest, ok := strings.CutPrefix(e.Name(), t.name)
			if t.name == "" || !ok || rest == "" && kind == used || rest != "" && (rest[0] != '.' || rest == ".lock" || strings.HasPrefix(rest, ".new")) {
				continue
			}
			if path := filepath.Join(stateDir, e.Name()); !emptyFolder(path) {
				others = append(others, path)
			}
		}
	}
	return append(others, restoreLeftovers(config.RealPath(stateDir))...), nil
}
