package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/channels/whatsapp"
	"dragoman/internal/api"
	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/internal/llm"
	"dragoman/internal/media"
	"dragoman/sessions"
)

// Folders of a backup: the state directory, and the workspace, which may be elsewhere.
const (
	stateFolder     = "state"
	workspaceFolder = "workspace"
)

// Backup writes everything that must survive to w. It reads the store through c, as of
// one moment, and the files after that, so that it has every file that a message
// names. It may also have files of later messages. A daemon may run. The configuration
// and its secrets are not included.
func Backup(ctx context.Context, cfg *config.Config, c *api.Client, who Caller, w io.Writer, tell func(backup.End)) (backup.End, error) {
	b, err := backup.NewWriter(w, who.Version, time.Now())
	if err != nil {
		return backup.End{}, fmt.Errorf("storage: %w", err)
	}
	b.Tell = tell
	state := &Dir{Path: cfg.StateDir}
	err = b.Records(func(emit func(sessions.Record) error) error { return c.Dump(ctx, nil, emit) })
	for _, name := range []string{AuditName, llm.NotesName, ErasingName} {
		if err == nil {
			err = b.Tree(ctx, stateFolder+"/"+name, state.File(name), "")
		}
	}
	if err == nil {
		err = backupMedia(ctx, b, cfg, state)
	}
	if err == nil {
		err = backupDevices(ctx, b, cfg, state)
	}
	if err == nil {
		err = b.Tree(ctx, workspaceFolder, config.RealPath(cfg.Workspace), "")
	}
	var end backup.End
	if err == nil {
		end, err = b.Close()
	}
	if err != nil {
		return end, fmt.Errorf("storage: %w", err)
	}
	return end, nil
}

// backupMedia writes the files of messages as if they were in the state directory,
// wherever they are.
func backupMedia(ctx context.Context, b *backup.Writer, cfg *config.Config, state *Dir) error {
	const to = stateFolder + "/" + mediaName
	if cfg.Media.Type == config.MediaLocal { // do not open it: a daemon may be writing
		return b.Tree(ctx, to, state.File(mediaName), "tmp") // unfinished files: see internal/media
	}
	files, err := OpenMedia(ctx, cfg, state, nil)
	if err != nil {
		return err
	}
	err = files.Each(ctx, func(f media.File, r io.Reader) error {
		return b.File(to+"/"+f.Name, 0o600, f.At, f.Size, r)
	})
	return errors.Join(err, files.Close())
}

// backupDevices writes linked devices as files of the state directory, wherever they
// are. Each is as of one moment, since a daemon may be writing.
func backupDevices(ctx context.Context, b *backup.Writer, cfg *config.Config, state *Dir) error {
	dir, remove, err := Temporary("backup")
	if err != nil {
		return err
	}
	defer remove()
	if cfg.Store.Type == postgresType {
		for _, name := range cfg.OfType(whatsapp.Type.Name) {
			if _, err := copyDevice(ctx, cfg, name, dir.File(name+deviceSuffix), false); err != nil {
				return err
			}
		}
	} else {
		for _, file := range state.Named("*" + deviceSuffix) {
			if err := snapshot(ctx, file, dir.File(filepath.Base(file))); err != nil {
				return fmt.Errorf("read %s: %w", file, err)
			}
		}
	}
	for _, file := range dir.Named("*" + deviceSuffix) {
		if err := b.Tree(ctx, stateFolder+"/"+filepath.Base(file), file, ""); err != nil {
			return err
		}
	}
	return nil
}

// snapshot copies an SQLite database that other processes may have open.
func snapshot(ctx context.Context, from, to string) error {
	at := url.URL{Scheme: "file", OmitHost: true, Path: from, RawQuery: "mode=rw&_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", at.String())
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	if err = errors.Join(err, db.Close()); err == nil {
		err = os.Chmod(to, 0o600)
	}
	return err
}

// workspaceInside returns the path of the workspace within the state directory; "" if
// it is elsewhere.
func workspaceInside(cfg *config.Config) string {
	rel, err := filepath.Rel(cfg.StateDir, cfg.Workspace)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}

// disposable reports whether a state directory loses nothing without the file of that
// name.
func disposable(name string) bool {
	switch name {
	case lockName, socketName, PageSessionsName, llm.NotesName, draftsName:
		return true
	}
	return strings.HasPrefix(name, PageSessionsName)
}
