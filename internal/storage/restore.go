package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/internal/durable"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// Restored is what a restore did.
type Restored struct {
	backup.Head
	backup.End
	// Kept is where the state is now that was there before, or "", and so is
	// KeptWorkspace for a workspace outside of it.
	Kept, KeptWorkspace string
	// KeptSchema is that for conversations in a database.
	KeptSchema string
	// Devices are the channels whose linked devices came back. Their keys are as
	// old as the backup.
	Devices []string
}

// NotEmptyError: a restore would put something away.
type NotEmptyError struct{ Path string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is not empty", e.Path)
}

const (
	restoringSuffix = ".restoring"
	keptInfix       = ".before-restore-" // and the time
	recordsName     = "records.jsonl"    // while a restore goes on
)

// Restore puts the backup in file into the place of the state directory. No
// daemon may run. The whole backup is read before anything is written, the new
// state is made beside the old one and compared with the backup, and then takes
// its name; the old one is kept under another. In a database those are names of
// schemas. With replace false a state that is not empty is refused with a
// *NotEmptyError.
func Restore(ctx context.Context, cfg *config.Config, who Caller, file *os.File, replace bool, tell func(exchange.Progress)) (r Restored, err error) {
	if r.Head, r.End, err = backup.Read(bufio.NewReader(file), backup.Target{}); err != nil {
		return r, fmt.Errorf("storage: nothing was changed: %w", err)
	}
	state, err := Wait(ctx, cfg.StateDir, who)
	if err != nil {
		return r, err
	}
	defer func() { _ = state.lock.Close() }()
	moves := []*move{{to: config.RealPath(cfg.StateDir)}}
	if workspaceInside(cfg) == "" {
		moves = []*move{{to: config.RealPath(cfg.Workspace), unlocked: true}, moves[0]} // the state is the last
	}
	for _, m := range moves {
		if err := m.look(replace); err != nil {
			return r, err
		}
	}
	defer func() {
		for _, m := range moves {
			m.discard()
		}
	}()
	for _, m := range moves {
		if err := m.begin(who.Verb); err != nil {
			return r, err
		}
	}
	var database restoring
	if cfg.Store.Type == postgresType {
		if database, err = restoreDatabase(ctx, Location{Type: postgresType}.in(cfg, ""), replace); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, database.end(context.WithoutCancel(ctx))) }()
	}
	if err := fill(ctx, cfg, file, moves, database, tell); err != nil {
		return r, err
	}
	if r.KeptSchema, err = settleAll(ctx, moves, database); err != nil {
		return r, err
	}
	r.Kept = moves[len(moves)-1].kept
	if len(moves) > 1 {
		r.KeptWorkspace = moves[0].kept
	}
	for _, file := range (&Dir{Path: cfg.StateDir}).Named("*" + deviceSuffix) {
		r.Devices = append(r.Devices, strings.TrimSuffix(filepath.Base(file), deviceSuffix))
	}
	return r, nil
}

// settleAll puts everything in place, or nothing.
func settleAll(ctx context.Context, moves []*move, database restoring) (kept string, err error) {
	done := 0
	for ; done < len(moves) && err == nil; done++ {
		if err = moves[done].end(); err != nil {
			done--
		}
	}
	if err == nil && database != nil {
		kept, err = database.settle(ctx)
	}
	if err != nil {
		for _, back := range moves[:done] {
			err = errors.Join(err, back.undo())
		}
	}
	return kept, err
}

// restoring is a store beside the one in a database, while a restore fills it.
type restoring interface {
	store() sessions.Store
	// settle has it take the place of the other, and tells where that is now.
	settle(ctx context.Context) (kept string, err error)
	// end removes it, unless it is in its place.
	end(ctx context.Context) error
}

// fill writes the contents of the backup into the drafts of moves, and of the
// database if that is not nil.
func fill(ctx context.Context, cfg *config.Config, file *os.File, moves []*move, database restoring, tell func(exchange.Progress)) error {
	draft := moves[len(moves)-1].draft
	work := filepath.Join(draft.Path, workspaceInside(cfg))
	if len(moves) > 1 {
		work = moves[0].draft.Path
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("storage: restore: %w", plainPathError(err))
	}
	to := backup.Target{Roots: map[string]*os.Root{}}
	for name, dir := range map[string]string{backedState: draft.Path, backedWorkspace: work} {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return fmt.Errorf("storage: restore: %w", err)
		}
		defer root.Close()
		to.Roots[name] = root
	}
	records, err := os.OpenFile(draft.File(recordsName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("storage: restore: %w", plainPathError(err))
	}
	defer records.Close()
	out := bufio.NewWriter(records)
	enc := json.NewEncoder(out)
	to.Record = func(r sessions.Record) error { return errors.Join(ctx.Err(), enc.Encode(r)) }
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		_, _, err = backup.Read(bufio.NewReader(file), to)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("storage: restore: %w", plainPathError(err))
	}
	if database != nil {
		_, err = exchange.Move(ctx, recordFile{f: records}, database.store(), tell)
	} else {
		err = fillStore(ctx, Location{Type: cfg.Store.Type, Path: draft.File(storeTypes[cfg.Store.Type].name)}, recordFile{f: records}, tell)
	}
	if err != nil {
		return fmt.Errorf("storage: restore: nothing was changed: %w", err)
	}
	return os.Remove(records.Name())
}

// fillStore makes a store at place.
func fillStore(ctx context.Context, place Location, from recordFile, tell func(exchange.Progress)) error {
	store, err := place.open(ctx, nil)
	if err == nil {
		_, err = exchange.Move(ctx, from, store, tell)
		err = errors.Join(err, store.Close())
	}
	return err
}

// recordFile are the records of a backup as a store that can be dumped whole,
// and nothing else.
type recordFile struct {
	sessions.Copies
	f *os.File
}

func (r recordFile) Dump(ctx context.Context, _ []channels.Key, emit func(sessions.Record) error) error {
	if _, err := r.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("storage: read the records: %w", err)
	}
	dec := json.NewDecoder(bufio.NewReader(r.f))
	for {
		var rec sessions.Record
		if err := dec.Decode(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("storage: read the records: %w", err)
		}
		if err := errors.Join(ctx.Err(), emit(rec)); err != nil {
			return err
		}
	}
}

// move is a folder that takes the place of another.
type move struct {
	to    string
	kept  string // where the old one is, if anything was in it
	full  bool   // the old one holds something
	draft *Dir   // nil: there is none, or it is in its place
	// unlocked: the folder has no lock in it when it is in use.
	unlocked bool
}

// look refuses a folder that holds something, unless it may be replaced.
func (m *move) look(replace bool) error {
	info, err := os.Lstat(m.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = errors.New("it is a link or a file; name the folder itself in the configuration")
	}
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(m.to)
	}
	if err != nil {
		return fmt.Errorf("storage: restore into %s: %w", m.to, plainPathError(err))
	}
	for _, e := range entries {
		m.full = m.full || !ofNoUse(e.Name()) && !emptyFolder(filepath.Join(m.to, e.Name()))
	}
	if m.full && !replace {
		return &NotEmptyError{m.to}
	}
	return nil
}

// begin makes the draft, with the owner of the folder that it replaces.
func (m *move) begin(verb string) error {
	path := m.to + restoringSuffix
	draft, _, err := newDraft(path, verb)
	if err != nil {
		return err
	}
	m.draft = draft
	if info, err := os.Stat(m.to); err == nil && os.Geteuid() == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
				return fmt.Errorf("storage: restore: %w", err)
			}
		}
	}
	return nil
}

// end puts the draft in place. What only processes need that run is not kept.
func (m *move) end() error {
	m.draft.handOver()
	if m.unlocked {
		_ = os.Remove(m.draft.File(lockName))
	}
	aside := m.to + keptInfix + time.Now().UTC().Format("20060102-150405")
	err := os.Rename(m.to, aside)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if err = os.Rename(m.draft.Path, m.to); err != nil {
			err = errors.Join(err, os.Rename(aside, m.to))
		}
	}
	if err != nil {
		return fmt.Errorf("storage: put the restored state in place: %w", plainPathError(err))
	}
	_ = m.draft.lock.Close()
	m.draft = nil
	if m.kept = aside; !m.full {
		m.kept = ""
		_ = os.RemoveAll(aside)
	}
	return durable.SyncDir(filepath.Dir(m.to))
}

// besideRestored lists the states that restores put beside the one at path:
// what was there before, and what one that was killed had made. A folder that
// cannot be read has none to remove.
func besideRestored(path string) (all []string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		if ok && (rest == restoringSuffix || strings.HasPrefix(rest, keptInfix)) {
			all = append(all, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return all
}

// undo is for a folder whose fellow could not be put in place.
func (m *move) undo() error {
	if m.kept == "" {
		return nil
	}
	err := os.RemoveAll(m.to)
	if err == nil {
		err = os.Rename(m.kept, m.to)
	}
	return err
}

// discard removes a draft that was not put in place.
func (m *move) discard() {
	if m.draft != nil {
		m.draft.discard()
	}
}
