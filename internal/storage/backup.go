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
	err = b.Records(func(emit func(sessions.Record) error) error { return c.Dump(ctx, nil, emit) })
	if err != nil {
		return backup.End{}, fmt.Errorf("storage: %w", err)
	}
	state := &Dir{Path: cfg.StateDir}
	for _, name := range []string{AuditName, llm.NotesName, ErasingName} {
		if err := b.Tree(ctx, backedState+"/"+name, state.File(name), nil); err != nil {
			return backup.End{}, fmt.Errorf("storage: %w", err)
		}
	}
	if err := backMedia(ctx, b, cfg, state); err != nil {
		return backup.End{}, fmt.Errorf("storage: %w", err)
	}
	if cfg.Store.Type == postgresType {
		err = backDevicesOfDatabase(ctx, b, cfg)
	} else {
		err = backDevices(ctx, b, state)
	}
	if err != nil {
		return backup.End{}, err
	}
	if err := b.Tree(ctx, backedWorkspace, config.RealPath(cfg.Workspace), nil); err != nil {
		return backup.End{}, fmt.Errorf("storage: %w", err)
	}
	end, err := b.Close()
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
		return b.File(to+"/"+f.Name, f.Mode, f.At, f.Size, r)
	})
	return errors.Join(err, files.Close())
}

// backDevices writes the files of linked devices, each as of one moment: their
// daemon may be writing.
func backDevices(ctx context.Context, b *backup.Writer, state *Dir) error {
	files, err := filepath.Glob(state.File("*" + deviceSuffix))
	if err != nil || len(files) == 0 {
		return err
	}
	dir, remove, err := NewView(os.TempDir(), "backup")
	if err != nil {
		return err
	}
	defer remove()
	for _, file := range files {
		name := filepath.Base(file)
		if err := snapshot(ctx, file, dir.File(name)); err != nil {
			return fmt.Errorf("storage: read %s: %w", file, err)
		}
		if err := b.Tree(ctx, backedState+"/"+name, dir.File(name), nil); err != nil {
			return fmt.Errorf("storage: %w", err)
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
	case lockName, socketName, PageSessionsName, llm.NotesName, mediaOfMemory, draftsName:
		return true
	}
	return strings.HasPrefix(name, viewPrefix) || strings.HasPrefix(name, PageSessionsName)
}
