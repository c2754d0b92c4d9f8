package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"dragoman/agent"
	"dragoman/sessions"
)

// Limits of list_dir: how many names of a folder are read, and how many of them one
// call shows.
const (
	maxNames  = 20_000
	pageNames = 500
)

// listArgs are the arguments of list_dir.
type listArgs struct {
	Path   string `json:"path,omitempty" jsonschema:"Folder; default: all of the workspace"`
	Offset number `json:"offset,omitempty" jsonschema:"Entries to skip"`
}

var _ = builtin(func(n Needs) agent.Tool { return ListDir(n.Workspace) })

// ListDir is the tool list_dir: the contents of a folder of w.
func ListDir(w *Workspace) agent.Tool {
	return newReader(agent.Spec{
		Name:        "list_dir",
		Description: "List a folder in the workspace: names (folders end in /) and sizes in bytes.",
		Origin:      sessions.OriginFile,
		Keep:        -40,
	}, inWorkspace(w, func(ctx context.Context, w *Workspace, c agent.Call, args listArgs) (string, error) {
		return w.list(ctx, args.Path, int(max(0, min(args.Offset, maxNames))))
	}))
}

func (w *Workspace) list(ctx context.Context, dir string, offset int) (string, error) {
	if dir == "" || dir == "/" {
		dir = "."
	}
	clean, err := local(dir)
	if err != nil {
		return "", err
	}
	names, err := w.names(clean)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return fmt.Sprintf("[%s is empty]", clean), nil
	}
	if offset >= len(names) {
		return "", fmt.Errorf("%q has %d entries; offset %d is past the last", clean, len(names), offset)
	}
	end := min(offset+pageNames, len(names))
	var b strings.Builder
	if offset > 0 || end < len(names) {
		fmt.Fprintf(&b, "[%s: entries %d to %d of %d]\n", clean, offset+1, end, len(names))
	}
	for _, name := range names[offset:end] {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		b.WriteString(w.entry(clean, name))
	}
	return b.String(), nil
}

func (w *Workspace) names(dir string) (names []string, err error) {
	f, err := w.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%q is not a folder; use read_file", dir)
	}
	if err != nil {
		return nil, explain(dir, err)
	}
	defer f.Close() // nothing was written
	names, err = f.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, explain(dir, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == tempName })
	slices.Sort(names)
	return names, nil
}

// entry returns the line for one name. It describes what is there now; a file that
// was deleted meanwhile is "gone".
func (w *Workspace) entry(dir, name string) string {
	shown := name
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		shown = strconv.Quote(name)
	}
	// Use the root: a DirEntry would look it up by path, without the root's
	// protection.
	info, err := w.root.Lstat(path.Join(dir, name))
	switch {
	case err != nil:
		return shown + "\tgone\n"
	case info.IsDir():
		return shown + "/\n"
	case info.Mode()&fs.ModeSymlink != 0:
		return shown + "\tlink\n"
	case !info.Mode().IsRegular():
		return shown + "\tspecial\n"
	}
	return fmt.Sprintf("%s\t%d\n", shown, info.Size())
}
