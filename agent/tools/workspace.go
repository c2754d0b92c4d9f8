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
)

// WorkspaceOptions limit the file tools. The zero value works.
type WorkspaceOptions struct {
	// Private are paths that the model must never see: the store, the configuration,
	// files with secrets. [OpenWorkspace] refuses a workspace that is or contains one
	// of them.
	Private []string
	// PerChat gives each conversation a separate folder in the workspace, and its
	// tools see nothing else. Operators' tools see the whole workspace.
	PerChat bool
	// Quota limits the bytes of all files together: in the workspace, or with PerChat
	// in each conversation's folder. 0: no limit.
	Quota int64
	// Operators are names of files at the top of the workspace that only operators
	// may write. Case is ignored.
	Operators []string
}

// Workspace is the folder that the file tools see. They can name nothing outside of
// it, and inside only folders and regular files without hard links.
type Workspace struct {
	root *os.Root
	o    WorkspaceOptions
	chat bool // it is a conversation's folder
	// write is held while a file is replaced: write_file uses one temporary name per
	// folder, so a crash leaves at most one such file, which the next write removes.
	write *sync.Mutex
}

// kernelFolders may not overlap the workspace: their files are views of the
// running system, and some never end.
var kernelFolders = []string{"/proc", "/sys", "/dev"}

// OpenWorkspace creates dir if it is missing, and opens it. The caller must close it
// after the last tool has run.
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

// Close closes the folder. Later tool calls fail.
func (w *Workspace) Close() error {
	if err := w.root.Close(); err != nil {
		return fmt.Errorf("tools: close the workspace: %w", err)
	}
	return nil
}

// refusePrivate refuses the workspace real if it overlaps folders of the kernel or
// contains private paths.
func refusePrivate(real string, private []string) error {
	for _, dir := range kernelFolders {
		if contains(dir, real) || contains(real, dir) {
			return fmt.Errorf("tools: the workspace %s may not hold %s or lie in it: choose a separate folder", real, dir)
		}
	}
	for _, path := range private {
		secret, err := futurePath(path)
		if err != nil {
			return fmt.Errorf("tools: find %s: %w", path, err)
		}
		if contains(real, secret) {
			return fmt.Errorf("tools: the workspace %s may not hold %s, which the model must not see: choose a separate folder", real, secret)
		}
	}
	return nil
}

// realPath returns path, absolute and without links.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// futurePath is realPath for something that may not exist yet: it returns where it
// will be.
func futurePath(path string) (string, error) {
	real, err := realPath(path)
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && dir != path {
		real, err = futurePath(dir)
		return filepath.Join(real, filepath.Base(path)), err
	}
	return real, err
}

// contains reports whether path is dir or below it; both are clean.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Limits of paths in the file tools.
const (
	maxPath  = 1024
	maxDepth = 32
)

// local checks a path that the model wrote and returns it clean. The checks only
// produce clear messages; [os.Root] is what keeps a path inside.
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

// regular refuses everything but a regular file without hard links.
func regular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%q is a folder; use list_dir", path)
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%q is a link; use the path of the file itself", path)
	case !mode.IsRegular():
		return fmt.Errorf("%q is not a regular file", path)
	}
	// A hard link is a second name of a file, perhaps outside of the workspace, which
	// os.Root cannot see.
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink != 1 {
		return fmt.Errorf("%q has more than one name (a hard link), perhaps outside of the workspace, and is not touched", path)
	}
	return nil
}

// explain rewrites an error of [os.Root] for the model, without system call names.
func explain(path string, err error) error {
	var inner *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%q does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q may not be opened (permission denied)", path)
	case errors.Is(err, syscall.ENOTDIR), errors.As(err, &inner) && inner.Err.Error() == "not a directory": // OpenRoot returns only this text
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
