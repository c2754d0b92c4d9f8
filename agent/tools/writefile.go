package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/sessions"
)

const maxFileBytes = 1 << 20

// tempName has the new content of a file until it is complete. A crash may leave
// one, and the next write replaces it.
const tempName = ".dragoman-write.tmp"

// writeArgs are the arguments of write_file.
type writeArgs struct {
	Path    string `json:"path" jsonschema:"Like notes/today.md"`
	Content string `json:"content"`
	Append  bool   `json:"append,omitempty" jsonschema:"Add to its end"`
}

var _ = builtin(func(n Needs) agent.Tool { return WriteFile(n.Workspace) })

// WriteFile is the tool write_file: it replaces a file of w atomically, even if the
// machine loses power.
func WriteFile(w *Workspace) agent.Tool {
	t := newTool(agent.Spec{
		Name:        "write_file",
		Description: "Write a text file in the workspace. It replaces what is there. Folders are made as needed.",
		// Two calls may mean the same file, and a person or another chat may have
		// changed it between a crash and the repeat.
		Parallel:   false,
		Repeatable: false,
		Effect:     agent.EffectOwn,
		Origin:     sessions.OriginModel,
		Keep:       -50,
	}, inWorkspace(w, func(ctx context.Context, w *Workspace, c agent.Call, args writeArgs) (string, error) {
		return w.save(ctx, c, args)
	}))
	t.files = func(_ context.Context, c agent.Call) ([]agent.File, error) { return w.replaces(c) }
	return t
}

func (w *Workspace) save(ctx context.Context, c agent.Call, args writeArgs) (string, error) {
	clean, err := local(args.Path)
	if err != nil {
		return "", err
	}
	if clean == "." || strings.HasSuffix(args.Path, "/") {
		return "", fmt.Errorf("%q names a folder; name a file in it", args.Path)
	}
	if !utf8.ValidString(args.Content) {
		return "", errors.New("the content is not UTF-8 text")
	}
	if len(args.Content) > maxFileBytes {
		return "", fmt.Errorf("the content has %d bytes; a file may have %d", len(args.Content), maxFileBytes)
	}
	w.write.Lock()
	defer w.write.Unlock()

	if err := w.checkQuota(ctx, clean, args); err != nil {
		return "", err
	}
	dir, base := path.Split(clean)
	folder, err := w.folder(path.Clean(dir))
	if err != nil {
		return "", err
	}
	defer folder.Close() // synced where needed
	if err := w.checkOperatorFile(c, folder, base); err != nil {
		return "", err
	}
	size, err := w.replace(folder, clean, base, args)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Wrote %s (%d bytes).", clean, size), nil
}

// folder opens dir, creating it if needed. Everything after that is relative to the
// open folder, so it cannot be swapped for another.
func (w *Workspace) folder(dir string) (*os.Root, error) {
	folder, err := w.root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = w.root.MkdirAll(dir, 0o700)
		// A folder's name is durable when its parent is synced.
		for up := dir; up != "." && err == nil; {
			up = path.Dir(up)
			err = syncDir(w.root, up)
		}
		if err == nil {
			folder, err = w.root.OpenRoot(dir)
		}
	}
	if err != nil {
		return nil, explain(dir, err)
	}
	return folder, nil
}

// replace writes the temporary file, makes it durable, and renames it. name is the
// model's name of the file, base its name in folder.
func (w *Workspace) replace(folder *os.Root, name, base string, args writeArgs) (size int, err error) {
	mode := fs.FileMode(0o600)
	content := args.Content
	switch info, err := folder.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return 0, explain(name, err)
	case info.IsDir():
		return 0, fmt.Errorf("%q is a folder; name a file in it", name)
	default:
		if err := regular(name, info); err != nil {
			return 0, err
		}
		mode = info.Mode().Perm()
		if args.Append {
			if content, err = w.appended(name, content); err != nil {
				return 0, err
			}
		}
	}
	if err := folder.Remove(tempName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, explain(name, err)
	}
	err = writeNew(folder, tempName, content, mode)
	if err == nil {
		err = folder.Rename(tempName, base)
	}
	if err != nil {
		_ = folder.Remove(tempName) // otherwise the next write removes it
		return 0, explain(name, err)
	}
	if err := syncDir(folder, "."); err != nil {
		return 0, explain(name, err)
	}
	return len(content), nil
}

func (w *Workspace) appended(name, more string) (string, error) {
	f, size, err := w.openRegular(name)
	if err != nil {
		return "", err
	}
	defer f.Close() // nothing was written
	if total := size + int64(len(more)); total > maxFileBytes {
		return "", fmt.Errorf("%q would have %d bytes; a file may have %d", name, total, maxFileBytes)
	}
	held, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return "", explain(name, err)
	}
	if !utf8.Valid(held) {
		return "", fmt.Errorf("%q is not UTF-8 text and cannot be added to", name)
	}
	return string(held) + more, nil
}

// writeNew creates a new file and returns once it is durable.
func writeNew(folder *os.Root, name, content string, mode fs.FileMode) error {
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the names in dir durable.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
