package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"dragoman/agent"
)

// WorkspaceOptions bound what the file tools do. The zero value works.
type WorkspaceOptions struct {
	// Private are paths that hold what the model must never see: the store,
	// the configuration, files with secrets. [OpenWorkspace] refuses a
	// workspace that is one of them or contains one.
	Private []string
	// PerChat gives each conversation a folder of its own in the workspace,
	// which is all that its tools see. Those of operators see the workspace.
	PerChat bool
	// Quota is how many bytes the files may take together: those of the
	// workspace, or with PerChat those of each conversation. 0: no bound.
	Quota int64
	// Operators are names of files in the workspace itself that only operators
	// may write, in upper or lower case.
	Operators []string
}

// Workspace is the folder that the file tools see. Nothing outside it can be
// named, and inside it only folders and regular files that have no second
// name (hard link) elsewhere.
type Workspace struct {
	root *os.Root
	o    WorkspaceOptions
	chat bool // it is the folder of a conversation
	// write is held while a file is replaced: write_file uses one temporary
	// name per folder, so that a crash leaves at most one behind, which the
	// next write removes.
	write *sync.Mutex
}

// kernel are folders whose files are not files.
var kernel = []string{"/proc", "/sys", "/dev"}

// OpenWorkspace makes dir if it is missing and opens it. The caller closes it
// when no tool runs any more.
func OpenWorkspace(dir string, o WorkspaceOptions) (*Workspace, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("tools: make the workspace: %w", err)
	}
	real, err := realPath(dir)
	if err != nil {
		return nil, fmt.Errorf("tools: find the workspace: %w", err)
	}
	if err := refusePrivate(real, o.Private); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("tools: open the workspace: %w", err)
	}
	return &Workspace{root: root, o: o, write: new(sync.Mutex)}, nil
}

// Close gives the folder back. Tools that are called later fail.
func (w *Workspace) Close() error {
	if err := w.root.Close(); err != nil {
		return fmt.Errorf("tools: close the workspace: %w", err)
	}
	return nil
}

// Tools are all file tools of w.
func (w *Workspace) Tools() []agent.Tool {
	return []agent.Tool{ListDir(w), ReadFile(w), WriteFile(w)}
}

// refusePrivate keeps the workspace real away from what the kernel and we
// keep to ourselves.
func refusePrivate(real string, private []string) error {
	for _, dir := range kernel {
		if contains(dir, real) || contains(real, dir) {
			return fmt.Errorf("tools: the workspace %s may not hold %s or lie in it: choose a separate folder", real, dir)
		}
	}
	for _, path := range private {
		secret, err := placeOf(path)
		if err != nil {
			return fmt.Errorf("tools: find %s: %w", path, err)
		}
		if contains(real, secret) {
			return fmt.Errorf("tools: the workspace %s may not hold %s, which the model must not see: choose a separate folder", real, secret)
		}
	}
	return nil
}

// realPath is path without links, from the root of the file system.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// placeOf is realPath for something that may not be there yet: what counts is
// where it will be.
func placeOf(path string) (string, error) {
	real, err := realPath(path)
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && dir != path {
		real, err = placeOf(dir)
		return filepath.Join(real, filepath.Base(path)), err
	}
	return real, err
}

// contains reports whether path is dir or lies below it; both are clean.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Bounds on the names that the file tools take.
const (
	maxPath  = 1024
	maxDepth = 32
)

// local checks a path that the model wrote and returns it clean. The checks
// are for clear words only: it is [os.Root] that keeps a path inside.
func local(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case len(path) > maxPath:
		return "", fmt.Errorf("the path has %d bytes; at most %d are possible", len(path), maxPath)
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path has a NUL byte in it")
	case filepath.IsAbs(path):
		return "", fmt.Errorf("%q begins with a slash; paths are relative to the workspace, like notes/today.md", path)
	case !filepath.IsLocal(path):
		return "", fmt.Errorf("%q leads out of the workspace", path)
	}
	clean := filepath.Clean(path)
	if strings.Count(clean, "/") >= maxDepth {
		return "", fmt.Errorf("the path is more than %d folders deep", maxDepth)
	}
	if slices.Contains(strings.Split(clean, "/"), tempName) {
		return "", fmt.Errorf("the name %s is used by write_file itself", tempName)
	}
	return clean, nil
}

// regular refuses everything but a plain file with one name.
func regular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%q is a folder; use list_dir", path)
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%q is a link; use the path of the file itself", path)
	case !mode.IsRegular():
		return fmt.Errorf("%q is not a regular file", path)
	}
	// A hard link is a second name of a file that may well be outside of the
	// workspace, where os.Root cannot see it.
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink != 1 {
		return fmt.Errorf("%q has more than one name (a hard link), perhaps outside of the workspace, and is not touched", path)
	}
	return nil
}

// explain turns an error of [os.Root] into a sentence without the words of
// the operating system's interface.
func explain(path string, err error) error {
	var inner *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%q does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q may not be opened (permission denied)", path)
	case errors.Is(err, syscall.ENOTDIR), errors.As(err, &inner) && inner.Err.Error() == "not a directory": // OpenRoot has only the words
		return fmt.Errorf("a part of %q is not a folder", path)
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("the disk is full")
	case errors.Is(err, syscall.EROFS):
		return errors.New("the disk is read-only")
	case errors.As(err, &inner):
		return fmt.Errorf("%q: %w", path, inner.Err)
	}
	return fmt.Errorf("%q: %w", path, err)
}
