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
	"dragoman/sessions/engine"
	"dragoman/sessions/exchange"
)

// Restored is the result of a restore.
type Restored struct {
	backup.Head
	backup.End
	// Kept is where the previous state is now, or "". KeptWorkspace is the same for a
	// workspace outside the state directory.
	Kept, KeptWorkspace string
	// KeptSchema has the previous conversations of a database, or is "".
	KeptSchema string
	// Secrets counts the tokens, codes and pending approvals that were left out.
	Secrets int
	// Devices are the channels whose linked devices were restored. Their keys are as
	// old as the backup.
	Devices []string
	// Skipped are entries of the backup that were not restored, because they are hard
	// links, devices or pipes.
	Skipped []string
}

// RestoreOptions say what a restore may do.
type RestoreOptions struct {
	// Replace lets it replace a state that is not empty.
	Replace bool
	// KeepTokens keeps the tokens, codes and pending approvals of the backup. They may have
	// been revoked since, or be in the hands of whoever had the backup.
	KeepTokens bool
}

// NotEmptyError: a restore would replace something that is not empty.
type NotEmptyError struct{ Path string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is not empty", e.Path)
}

const (
	restoringSuffix = ".restoring"
	keptInfix       = ".before-restore-" // and the time
	recordsName     = "records.jsonl"    // while a restore goes on
)

// Restore replaces the state directory by the backup in file. No daemon may run. It
// reads the whole backup before it writes anything, makes the new state beside the old
// one, compares it with the backup, and then renames both, so that the old one is kept.
// A store without files in it does the same with its own drafts. If the state is not empty
// and may not be replaced, it returns a *NotEmptyError.
func Restore(ctx context.Context, cfg *config.Config, who Caller, file *os.File, o RestoreOptions, tell func(exchange.Progress)) (r Restored, err error) {
	skipped := func(name, what string) { r.Skipped = append(r.Skipped, name+" ("+what+")") }
	r.Head, r.End, err = backup.Read(bufio.NewReader(file), backup.Target{Skipped: skipped})
	if err != nil {
		return r, fmt.Errorf("storage: nothing was changed: %w", err)
	}
	state, err := Lock(ctx, cfg.StateDir, who)
	if err != nil {
		return r, err
	}
	defer func() { _ = state.lock.Close() }()
	moves := []*move{{to: config.RealPath(cfg.StateDir)}}
	if workspaceInside(cfg) == "" {
		moves = []*move{{to: config.RealPath(cfg.Workspace), unlocked: true}, moves[0]} // the state comes last
	}
	for _, m := range moves {
		if err := m.check(o.Replace); err != nil {
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
	var database *restoring
	if t := storeTypes[cfg.Store.Type]; t.name == "" {
		var old *engine.Store
		if old, err = (Location{Type: cfg.Store.Type, cfg: cfg}).openIdle(ctx); err == nil {
			database, err = t.restore(ctx, old, o.Replace)
		}
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, database.end(context.WithoutCancel(ctx))) }()
	}
	leaveOut := engine.IsSecret
	if o.KeepTokens {
		leaveOut = func(sessions.Record) bool { return false }
	}
	r.Secrets, err = fill(ctx, cfg, file, moves, database, leaveOut, tell)
	if err != nil {
		return r, err
	}
	if r.KeptSchema, err = commitRestore(ctx, moves, database); err != nil {
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

// syncDir makes the new names in a folder durable. Tests count it.
var syncDir = durable.SyncDir

// commitRestore puts all drafts in place, or none.
func commitRestore(ctx context.Context, moves []*move, database *restoring) (kept string, err error) {
	for _, m := range moves {
		if err == nil {
			err = m.putInPlace()
		}
	}
	if err == nil && database != nil {
		kept, err = database.putInPlace(ctx)
	}
	for _, m := range moves {
		if err != nil {
			err = errors.Join(err, m.undo())
		} else if !m.full {
			_ = os.RemoveAll(m.kept)
			m.kept = ""
		}
	}
	return kept, err
}

// restoring is a draft beside a store without files in the state directory.
type restoring struct {
	draft *engine.Store
	// putInPlace replaces the old store by the draft, and returns where the old one is.
	putInPlace func(ctx context.Context) (kept string, err error)
	// end closes both, and deletes the draft if it was not put in place.
	end func(ctx context.Context) error
}

// fill writes the contents of the backup into the drafts of moves, and of database if
// that is not nil. It returns how many records it left out.
func fill(ctx context.Context, cfg *config.Config, file *os.File, moves []*move, database *restoring, leaveOut func(sessions.Record) bool, tell func(exchange.Progress)) (left int, err error) {
	draft := moves[len(moves)-1].draft
	work := filepath.Join(draft.Path, workspaceInside(cfg))
	if len(moves) > 1 {
		work = moves[0].draft.Path
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return 0, fmt.Errorf("storage: restore: %w", plainPathError(err))
	}
	to := backup.Target{Roots: map[string]*os.Root{}}
	for name, dir := range map[string]string{stateFolder: draft.Path, workspaceFolder: work} {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return 0, fmt.Errorf("storage: restore: %w", err)
		}
		defer root.Close()
		to.Roots[name] = root
	}
	records, err := os.OpenFile(draft.File(recordsName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, fmt.Errorf("storage: restore: %w", plainPathError(err))
	}
	defer records.Close()
	out := bufio.NewWriter(records)
	enc := json.NewEncoder(out)
	to.Record = func(r sessions.Record) error {
		if leaveOut(r) {
			left++
			return nil
		}
		return errors.Join(ctx.Err(), enc.Encode(r))
	}
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		_, _, err = backup.Read(bufio.NewReader(file), to)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return 0, fmt.Errorf("storage: restore: %w", plainPathError(err))
	}
	if database != nil {
		_, err = exchange.Move(ctx, recordFile{records}, database.draft, tell)
	} else {
		_, err = copyInto(ctx, recordFile{records}, Location{Type: cfg.Store.Type, Path: draft.File(storeTypes[cfg.Store.Type].name)}, tell)
	}
	if err != nil {
		return 0, fmt.Errorf("storage: restore: nothing was changed: %w", err)
	}
	return left, os.Remove(records.Name())
}

// recordFile shows the records of a backup as a store that can only be dumped as a whole.
type recordFile struct{ f *os.File }

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

// move replaces one folder by a draft.
type move struct {
	to    string
	kept  string // the new path of the old folder, or ""
	full  bool   // the old folder is not empty
	draft *Dir   // nil: there is none, or it is in place
	// unlocked: the folder has no lock file.
	unlocked bool
}

// check refuses a folder that is not empty, unless replace is set.
func (m *move) check(replace bool) error {
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
		m.full = m.full || !disposable(e.Name()) && !emptyFolder(filepath.Join(m.to, e.Name()))
	}
	if m.full && !replace {
		return &NotEmptyError{m.to}
	}
	return nil
}

// begin makes the draft. Its owner is that of the folder that it replaces.
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

// putInPlace renames the old folder, and then the draft.
func (m *move) putInPlace() error {
	m.draft.handOver()
	if m.unlocked {
		_ = os.Remove(m.draft.File(lockName))
	}
	kept := m.to + keptInfix + time.Now().UTC().Format("20060102-150405")
	err := os.Rename(m.to, kept)
	if err == nil {
		m.kept = kept
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(m.draft.Path, m.to)
	}
	if err != nil {
		return fmt.Errorf("storage: put the restored state in place: %w", plainPathError(err))
	}
	_ = m.draft.lock.Close()
	m.draft = nil
	return syncDir(filepath.Dir(m.to))
}

// restoreLeftovers lists the folders that restores left beside the state directory at
// path: earlier states, and the draft of a restore that was killed. It ignores a parent
// folder that it cannot read.
func restoreLeftovers(path string) (all []string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		if ok && (rest == restoringSuffix || strings.HasPrefix(rest, keptInfix)) {
			all = append(all, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return all
}

// undo puts the old folder back, because this or another move failed.
func (m *move) undo() (err error) {
	if m.draft == nil {
		err = os.RemoveAll(m.to)
	}
	if err == nil && m.kept != "" {
		err = os.Rename(m.kept, m.to)
	}
	return err
}

// discard deletes the draft if it was not put in place.
func (m *move) discard() {
	if m.draft != nil {
		m.draft.discard()
	}
}
