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

	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/internal/llm"
	"dragoman/internal/media"
	"dragoman/sessions"
)

// The folders of a backup: what lies in the state directory, and the workspace,
// which may lie elsewhere.
const (
	backedState     = "state"
	backedWorkspace = "workspace"
)

// Backup writes all that must survive to w. The store is read through c at one
// moment; files are read after that, so that none is missing that a message
// names. What came in later may be among the files and not in the store. A
// daemon may run. The configuration and its secrets are not in it.
func Backup(ctx context.Context, cfg *config.Config, c *httpapi.Client, who Caller, w io.Writer, tell func(backup.End)) (backup.End, error) {
	b, err := backup.NewWriter(w, who.Version, time.Now())
	if err != nil {
		return backup.End{}, fmt.Errorf("storage: %w", err)
	}
	b.Tell = tell
	state := &Dir{Path: cfg.StateDir}
	err = b.Records(func(emit func(sessions.Record) error) error { return c.Dump(ctx, nil, emit) })
	for _, name := range []string{AuditName, llm.NotesName, ErasingName} {
		if err == nil {
			err = b.Tree(ctx, backedState+"/"+name, state.File(name), nil)
		}
	}
	if err == nil {
		err = backMedia(ctx, b, cfg, state)
	}
	if err == nil {
		err = backDevices(ctx, b, cfg, state)
	}
	if err == nil {
		err = b.Tree(ctx, backedWorkspace, config.RealPath(cfg.Workspace), nil)
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

// backMedia writes the files of messages, wherever they are, as if they were in
// the state directory.
func backMedia(ctx context.Context, b *backup.Writer, cfg *config.Config, state *Dir) error {
	const to = backedState + "/" + mediaName
	if cfg.Media.Type == config.MediaLocal { // a daemon may be writing, so it is not opened
		unfinished := func(rel string) bool { return rel == "tmp" } // see internal/media
		return b.Tree(ctx, to, state.File(mediaName), unfinished)
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

// backDevices writes linked devices as the files that they are, or would be, in
// the state directory, each as of one moment: their daemon may be writing.
func backDevices(ctx context.Context, b *backup.Writer, cfg *config.Config, state *Dir) error {
	dir, remove, err := Temporary("backup")
	if err != nil {
		return err
	}
	defer remove()
	if cfg.Store.Type == postgresType {
		for _, name := range cfg.OfType(config.TypeWhatsApp) {
			if _, err := copyDevice(ctx, cfg, name, dir.File(name+deviceSuffix), false); err != nil {
				return err
			}
		}
	} else if err := snapshots(ctx, state.Named("*"+deviceSuffix), dir); err != nil {
		return err
	}
	for _, file := range dir.Named("*" + deviceSuffix) {
		if err := b.Tree(ctx, backedState+"/"+filepath.Base(file), file, nil); err != nil {
			return err
		}
	}
	return nil
}

// snapshots copies databases into a folder.
func snapshots(ctx context.Context, files []string, to *Dir) error {
	for _, file := range files {
		if err := snapshot(ctx, file, to.File(filepath.Base(file))); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	}
	return nil
}

// snapshot copies an SQLite database that others may have open.
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

// workspaceInside is where the workspace lies within the state directory; ""
// if it does not.
func workspaceInside(cfg *config.Config) string {
	rel, err := filepath.Rel(cfg.StateDir, cfg.Workspace)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}

// ofNoUse are names in a state directory that nobody would miss.
func ofNoUse(name string) bool {
	switch name {
	case lockName, socketName, PageSessionsName, llm.NotesName, draftsName:
		return true
	}
	return strings.HasPrefix(name, PageSessionsName)
}
