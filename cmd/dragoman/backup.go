package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"dragoman/internal/backup"
	"dragoman/internal/storage"
)

// backupCmd is "dragoman backup": all of the state in one file, also while the
// daemon runs.
type backupCmd struct {
	File  string `arg:"" help:"The file to write."`
	Force bool   `help:"Replace the file if it exists."`
}

func (*backupCmd) Help() string {
	return "The file holds conversations, queues, people, memory, attachments, linked WhatsApp devices, the audit log and the workspace. " +
		"It does not hold the configuration or its secrets; back those up too. What it holds is private, so only you can read the file."
}

// Run writes the backup and reads it again before it gets its name.
func (k *backupCmd) Run(e *env, c *cli) error {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, fs.ErrNotExist) {
		return plainErrorf(nil, "there is nothing to back up: no daemon has run with %s yet (its state would be in %s); to use another configuration, add --config", cfg.Source(), cfg.StateDir)
	}
	ctx, stop := untilSignal(e.ctx, syscall.SIGHUP) // to delete an incomplete file
	defer stop()
	p := &progress{e: e}
	defer p.end()
	var end backup.End
	err = e.into(k.File, k.Force, func(w io.Writer) error {
		a, release, err := e.daemon.admin(ctx, cfg, e.caller())
		if err != nil {
			return err
		}
		defer release()
		end, err = storage.Backup(ctx, cfg, a, e.caller(), w, p.backup)
		return err
	}, func(f *os.File) error {
		if _, _, err := backup.Read(bufio.NewReader(f), backup.Target{}); err != nil {
			return fmt.Errorf("the backup could not be read back, so it was not kept: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.end()
	e.say("Backup written to %s and checked: %s.", oneLine(k.File), holds(end))
	return nil
}

func holds(end backup.End) string {
	return fmt.Sprintf("%s, %s, %s (%d MB)", count(end.Conversations, "conversation", "conversations"),
		count(end.Messages, "message", "messages"), count(end.Files, "file", "files"), (end.Bytes+1<<19)>>20)
}

func (p *progress) backup(now backup.End) {
	if p.e.plain || p.e.now().Sub(p.shown) < showEvery {
		return
	}
	p.show(holds(now))
}

// restoreCmd is "dragoman restore": it puts a backup in the place of the state.
type restoreCmd struct {
	File string `arg:"" help:"A file written by dragoman backup."`
	Yes  bool   `help:"Replace the existing state, which is kept under another name."`
	// KeepTokens is for a machine that is replaced by another.
	KeepTokens bool `help:"Also restore access tokens, codes and pending approvals. Without it they are left out, because the backup may be old or known to others."`
}

// mostSkipped bounds the list of what was not restored.
const mostSkipped = 20

func (*restoreCmd) Help() string {
	return "Stop the daemon first. Dragoman checks the whole backup before it writes anything, builds the new state beside the old one, compares it with the backup, and only then puts it in place; conversations in PostgreSQL are built in a separate schema. The configuration decides the type of the store."
}

func (k *restoreCmd) Run(e *env, c *cli) error {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return err
	}
	f, err := os.Open(k.File)
	if err != nil {
		return plainErrorf(cause(err), "%s cannot be read", k.File)
	}
	defer f.Close()
	ctx, stop := untilSignal(e.ctx, syscall.SIGHUP) // to delete an incomplete state
	defer stop()
	p := &progress{e: e}
	r, err := storage.Restore(ctx, cfg, e.caller(), f, storage.RestoreOptions{Replace: k.Yes, KeepTokens: k.KeepTokens}, p.update)
	p.end()
	if full := (*storage.NotEmptyError)(nil); errors.As(err, &full) {
		return &usageError{fmt.Sprintf("%v; add --yes to replace it with the backup (the old state is kept under another name)", full)}
	}
	if err != nil {
		return err
	}
	e.say("Restored the backup of %s (version %s) to %s: %s.", e.when(r.Created), oneLine(r.Version), oneLine(cfg.StateDir), holds(r.End))
	if r.Secrets > 0 {
		e.say("Left out: %s. Make new ones, or restore again with --keep-tokens.", count(r.Secrets, "token, code or pending approval", "tokens, codes and pending approvals"))
	}
	for i, name := range r.Skipped {
		if i == mostSkipped {
			e.say("and %d more like these", len(r.Skipped)-i)
			break
		}
		e.say("Not restored: %s.", oneLine(name))
	}
	for _, kept := range []string{r.Kept, r.KeptWorkspace} {
		if kept != "" {
			e.say("The previous state is in %s; remove it when you no longer need it.", oneLine(kept))
		}
	}
	if r.KeptSchema != "" {
		e.say("The previous conversations are in the schema %[1]s of the database; remove it when you no longer need it: DROP SCHEMA %[1]s CASCADE", oneLine(r.KeptSchema))
	}
	for _, name := range r.Devices {
		e.say("The encryption keys of %s are as old as the backup. If it has sent or received anything since then, link it again: %s, then %s",
			oneLine(name), e.command("logout", name), e.command("login", name))
	}
	return nil
}
