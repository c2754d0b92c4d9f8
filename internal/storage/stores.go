package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
	"dragoman/sessions/file"
	"dragoman/sessions/sqlite"
)

// Location says how a store keeps what it holds, and where.
type Location struct {
	Type string // a key of storeTypes
	Path string // the file or folder; "" for a store that has none
	db   database
}

// database is what a store needs that is in a database.
type database struct {
	url      config.Secret
	maxConns int
	host     string // which only one daemon at a time can be; "": no daemon
	version  string // of this program
	roles    []string
}

// in is p with the database that the configuration names.
func (p Location) in(cfg *config.Config, host string) Location {
	p.db = database{url: cfg.Store.URL, maxConns: cfg.Store.MaxConns, host: host}
	return p
}

// String is how a person writes p.
func (p Location) String() string {
	if p.Path == "" {
		return p.Type
	}
	return p.Type + ":" + p.Path
}

// MarshalText writes the form of String.
func (p Location) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// storeType is one kind of store.
type storeType struct {
	// name is the store's file or folder within the state directory; "": it
	// keeps nothing there.
	name string
	open func(ctx context.Context, p Location, log *slog.Logger) (sessions.Store, error)
	// look tells whether a store of this type is at path, and only reads. What
	// is there and is something else is an error. Nil where name is "".
	look func(path string) (bool, error)
	// newer tells why this program is too old for the store at path, and only
	// reads. Nil where name is "".
	newer func(path string) error
	// damaged names the files within path that could not be read and were set
	// aside. Nil: such a store is refused instead.
	damaged func(path string) ([]string, error)
}

// postgresType has nothing in the state directory.
const postgresType = "postgres"

// storeTypes are all that this program can open.
var storeTypes = map[string]storeType{
	"sqlite": {databaseName, func(ctx context.Context, p Location, log *slog.Logger) (sessions.Store, error) {
		return sqlite.Open(ctx, p.Path, sqlite.Options{Logger: log})
	}, sqlite.Look, sqlite.Newer, nil},
	"file": {folderName, func(ctx context.Context, p Location, log *slog.Logger) (sessions.Store, error) {
		return file.Open(ctx, p.Path, file.Options{Logger: log})
	}, file.Look, file.Newer, file.Damaged},
	postgresType: {"", openPostgres, nil, nil, nil},
}

// ParseLocation reads TYPE or TYPE:PATH. Without a path it is the place where the
// daemon of stateDir keeps a store of that type.
func ParseLocation(text, stateDir string) (Location, error) {
	name, path, _ := strings.Cut(text, ":")
	t, ok := storeTypes[name]
	switch {
	case !ok:
		return Location{}, fmt.Errorf("there is no store %q: write one of %s", name, strings.Join(slices.Sorted(maps.Keys(storeTypes)), ", "))
	case name == postgresType && path != "":
		return Location{}, errors.New("the url of the database belongs in store.url in the configuration, because other users can see a command line")
	case name == postgresType:
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

// open opens the store at p and makes it if there is none.
func (p Location) open(ctx context.Context, log *slog.Logger) (sessions.Store, error) {
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

// OpenStore opens the store that the configuration names, for a daemon of that
// version or, if it is "", for a command. With a log, damage of earlier times is
// told.
func OpenStore(ctx context.Context, cfg *config.Config, s *Dir, version string, log *slog.Logger) (sessions.Store, error) {
	// Before the store adds to it, of which it tells itself.
	if n := len(DamageWarnings(cfg)); n > 0 && log != nil {
		log.Error("damaged files of the store were set aside earlier; dragoman status names them", "files", n)
	}
	p, err := ParseLocation(cfg.Store.Type, s.Path)
	if err != nil {
		return nil, fmt.Errorf("storage: store.type: %w", err)
	}
	p = p.in(cfg, hostOf(s.Path))
	p.db.version, p.db.roles = version, cfg.Roles
	return p.open(ctx, log)
}

// Node is the name of this daemon among those that share its database, the same
// after a restart; "" if it shares none.
func Node(cfg *config.Config) string {
	if cfg.Store.Type != postgresType {
		return ""
	}
	return hostOf(cfg.StateDir)
}

// hostOf names the place of a daemon among all that share a database. The lock of
// its state directory sees to it that there is one.
func hostOf(state string) string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name + ":" + config.RealPath(state)
}

// Check tells why the configured store cannot be used: something else is
// in its place, a newer version wrote it, nothing can be written, or the database
// refuses. It changes nothing, so a daemon may run. A store that is not there yet
// is no error.
func Check(ctx context.Context, cfg *config.Config) error {
	if err := checkWritable(cfg.StateDir); err != nil {
		return fmt.Errorf("%w; neither a daemon nor a command can use it", err)
	}
	if cfg.Store.Type == postgresType {
		return checkPostgres(ctx, Location{}.in(cfg, ""))
	}
	t := storeTypes[cfg.Store.Type]
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

// StoreName is the name of the configured store in the state directory; "" if it
// keeps nothing there.
func StoreName(cfg *config.Config) string { return storeTypes[cfg.Store.Type].name }

// damageText says what the operator has to know of a file of the store that
// could not be read and was set aside.
func damageText(name string) string {
	left := "the store goes on with what it has besides. Look at it, then move it away; if another program wrote it, try dragoman sessions import."
	if strings.HasPrefix(filepath.Base(name), "store.json.") {
		left = "the store goes on with the people, facts, job times and messages set aside that it has besides. Look at it, then move it away."
	}
	return fmt.Sprintf("a file of the store could not be read and was set aside as %s; %s", name, left)
}

// DamageWarnings are those texts, for status. That the files cannot be listed
// is one as well. It opens nothing, so a daemon may run.
func DamageWarnings(cfg *config.Config) (texts []string) {
	t := storeTypes[cfg.Store.Type]
	if t.damaged == nil {
		return nil
	}
	dir := filepath.Join(cfg.StateDir, t.name)
	names, err := t.damaged(dir)
	if err != nil {
		texts = append(texts, httpapi.Plain(err))
	}
	for _, name := range names {
		texts = append(texts, damageText(filepath.Join(dir, name)))
	}
	return texts
}

// Beside lists what lies in the state directory and holds, or may hold,
// conversations, and that no erasure touches: the store that a migration was made
// from, what a migration left or set aside, copies of a store, files and devices that
// are where all nodes reach them now, and states that a restore put beside this
// one.
func Beside(stateDir, used string) (others []string, err error) {
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
	return append(others, besideRestored(config.RealPath(stateDir))...), nil
}
