package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"dragoman/channels"
	"dragoman/internal/httpapi"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

type sessionsExportCmd struct {
	Key    string `arg:"" optional:"" help:"The conversation, like telegram:123456."`
	All    bool   `help:"All conversations; as jsonl the whole store, queues and pairings too."`
	Format string `default:"jsonl" enum:"json,jsonl,markdown" help:"jsonl: everything, a record a line; json: a document to read and to work on; markdown: what was said, to read."`
	Out    string `short:"o" placeholder:"FILE" aliases:"output" help:"Write to a new file instead of standard output."`
	Force  bool   `help:"Replace the file if there is one."`
}

// Run writes as it reads, so that a transcript may be of any length.
func (k *sessionsExportCmd) Run(e *env, c *cli) error {
	if k.All == (k.Key != "") {
		return &usageError{"name one conversation, or write --all"}
	}
	var key channels.Key
	if !k.All {
		var err error
		if key, err = parseKey(k.Key); err != nil {
			return err
		}
	}
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		return e.into(k.Out, k.Force, func(w io.Writer) error {
			out, err := exchange.NewWriter(w, exchange.Format(k.Format), exchange.WriterOptions{Zone: time.Local, List: k.All})
			if err != nil {
				return err
			}
			if k.All {
				err = exportAll(ctx, a, exchange.Format(k.Format), out)
			} else {
				err = exportOne(ctx, a, key, out)
			}
			return errors.Join(err, out.Close())
		})
	})
}

func exportOne(ctx context.Context, a *httpapi.Client, key channels.Key, out exchange.Writer) error {
	found := false
	err := a.Dump(ctx, []channels.Key{key}, func(r sessions.Record) error {
		found = found || r.Conversation != nil || r.Inbox != nil || r.Outbox != nil
		return out.Put(r)
	})
	if err == nil && !found {
		return noConversation(key)
	}
	return err
}

// exportAll writes conversation by conversation where the format is made of
// conversations, and one moment of everything where it is not.
func exportAll(ctx context.Context, a *httpapi.Client, format exchange.Format, out exchange.Writer) error {
	if format == exchange.JSONL {
		return a.Dump(ctx, nil, out.Put)
	}
	var keys []channels.Key // all first: writing takes long, and the order changes meanwhile
	err := sessions.Walk(ctx, a.Find, sessions.Query{}, func(l httpapi.Listed) error {
		keys = append(keys, l.Key)
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := a.Dump(ctx, []channels.Key{k}, out.Put); err != nil {
			return err
		}
	}
	return nil
}

// into writes to a file that only its owner can read, or to standard output.
// The file is there when it is whole, and not before; one that is there
// already is replaced only on demand.
func (e *env) into(path string, force bool, f func(io.Writer) error) (err error) {
	if path == "" {
		w := bufio.NewWriter(e.out)
		return errors.Join(f(w), w.Flush())
	}
	taken := &usageError{fmt.Sprintf("%s exists already; name another file, or add --force", path)}
	if _, err := os.Lstat(path); err == nil && !force {
		return taken
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return notWritten(path, err)
	}
	defer func() {
		if rm := os.Remove(file.Name()); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	w := bufio.NewWriter(file)
	if err := errors.Join(f(w), w.Flush(), file.Sync(), file.Close()); err != nil {
		return notWritten(path, err)
	}
	if force {
		err = os.Rename(file.Name(), path)
	} else if err = os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return taken // somebody made it meanwhile
	}
	if err != nil {
		return notWritten(path, err)
	}
	return syncDir(filepath.Dir(path))
}

// notWritten says what is wrong with path, and not with the name that the file
// has until it is whole. Other errors stay as they are.
func notWritten(path string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	default:
		return err
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}

// syncDir makes a new name in a folder durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
