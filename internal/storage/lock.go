package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dragoman/internal/web"
)

// Caller is the program that wants the state directory.
type Caller struct {
	Version string
	// Verb is what the program does, like "sessions list". Other programs that find
	// the folder locked name it.
	Verb string
	// Tell shows a sentence to the person at the terminal. Nil: there is none.
	Tell func(sentence string)
	// Patience is how long to wait for a locked folder. 0 is five seconds.
	Patience time.Duration
}

// Say calls Tell, if that is set.
func (c Caller) Say(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
}

const (
	// patience is how long to wait for a locked folder without a daemon. A command
	// holds it for a moment, and a starting daemon until it has its socket.
	patience = 5 * time.Second
	// tellAfter is how long a person waits without a message.
	tellAfter = time.Second
)

// errLocked: another process holds this folder.
var errLocked = errors.New("in use")

// lockState creates the folder if it is missing, private to its owner, and locks it.
// The lock ends with the process, however that ends. If another process holds the
// folder it returns a *heldError.
func lockState(path, verb string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("storage: the state directory %s cannot be created: %w", path, plainPathError(err))
	}
	if err := checkWritable(path); err != nil {
		return nil, err // an existing lock file may still be writable
	}
	// Do not follow a link: its target must not be truncated. os sets close-on-exec.
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, notWritten(path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		text, _ := os.ReadFile(f.Name())
		_ = f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("storage: lock %s: %w", f.Name(), err)
		}
		return nil, &heldError{path: path, who: holder(string(text))}
	}
	if err := f.Truncate(0); err == nil {
		// Only for the text of heldError.
		_, _ = fmt.Fprintf(f, "%s with process id %d\n", strings.TrimSpace("dragoman "+verb), os.Getpid())
	}
	return &Dir{Path: path, lock: f}, nil
}

// notWritten explains err, with which writing into the folder at path failed.
func notWritten(path string, err error) error {
	advice := ""
	if errors.Is(err, syscall.EROFS) {
		advice = "; to read what is there, copy it elsewhere and name the copy as state_dir"
	}
	return fmt.Errorf("storage: the state directory %s cannot be written: %w%s", path, plainPathError(err), advice)
}

// checkWritable returns an error if the folder at path exists and cannot be written. It
// writes nothing.
func checkWritable(path string) error {
	const write = 2 // W_OK
	if err := syscall.Access(path, write); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notWritten(path, &fs.PathError{Op: "write", Path: path, Err: err})
	}
	return nil
}

// Temporary creates and locks a state directory, which remove deletes.
func Temporary(verb string) (dir *Dir, remove func(), err error) {
	path, err := os.MkdirTemp("", "dragoman-")
	if err != nil {
		return nil, nil, fmt.Errorf("storage: make a temporary folder: %w", plainPathError(err))
	}
	if dir, err = lockState(path, verb); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(path))
	}
	return dir, dir.discard, nil
}

// newDraft creates and locks the folder at path, for contents that are renamed once they
// are complete. It deletes an earlier draft that was left there, and then reports
// again.
func newDraft(path, verb string) (draft *Dir, again bool, err error) {
	if info, err := os.Lstat(path); err == nil {
		if _, err := os.Lstat(filepath.Join(path, lockName)); err != nil || !private(info) {
			return nil, false, fmt.Errorf("storage: the copy needs the path %s, but something else is there; move it away", path)
		}
		if err := os.RemoveAll(path); err != nil {
			return nil, false, fmt.Errorf("storage: remove an earlier copy at %s: %w", path, plainPathError(err))
		}
		again = true
	}
	draft, err = lockState(path, verb)
	if err != nil {
		err = fmt.Errorf("%w; the copy is there until it is complete", err)
	}
	return draft, again, err
}

// private reports whether info is a folder of this user that no other user may read.
func private(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid() && info.Mode() == fs.ModeDir|0o700
}

// discard deletes a folder and its lock.
func (s *Dir) discard() {
	_ = os.RemoveAll(s.Path)
	_ = s.lock.Close()
}

// holder returns who holds a lock file with this text. The text may still be that of an
// earlier process, which has ended.
func holder(text string) string {
	text = strings.TrimSpace(text)
	pid, err := strconv.Atoi(text[strings.LastIndexByte(text, ' ')+1:])
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return "another process"
	}
	return text
}

// heldError names the process that holds the folder at path. It wraps errLocked.
type heldError struct {
	path, who string
	waited    time.Duration // 0: a daemon serves the folder, so Lock did not wait
}

func (e *heldError) Error() string {
	if e.waited > 0 {
		return fmt.Sprintf("storage: %s is still %v by %s after %s; try again when that has ended", e.path, errLocked, e.who, e.waited)
	}
	return fmt.Sprintf("storage: %s is %v by %s; stop it, or choose another state_dir", e.path, errLocked, e.who)
}

func (e *heldError) Unwrap() error { return errLocked }

// Lock creates the state directory if it is missing, and locks it. It waits for
// c.Patience if another process holds it, but not for a daemon that answers: see
// [Served].
func Lock(ctx context.Context, path string, c Caller) (*Dir, error) {
	within := cmp.Or(c.Patience, patience)
	began, told := time.Now(), false
	for {
		s, err := lockState(path, c.Verb)
		var held *heldError
		if !errors.As(err, &held) || Served(ctx, path) {
			return s, err
		}
		waited := time.Since(began)
		if waited > within {
			held.waited = within
			return nil, held
		}
		if !told && waited > tellAfter {
			told = true
			c.Say("waiting for %s, which has %s", held.who, path)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Served reports whether a daemon listens on the folder's socket.
func Served(ctx context.Context, path string) bool {
	socket := web.SocketTransport(Socket(path))
	conn, err := socket.DialContext(ctx, "unix", "")
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Unlock releases the folder. The lock file stays: without it two processes could lock
// two files of the same name.
func (s *Dir) Unlock() error {
	s.handOver()
	return s.lock.Close()
}

// handOver gives files that root created in the folder to the owner of the folder. A
// daemon that cannot write its audit log could not erase anything.
func (s *Dir) handOver() {
	info, err := os.Stat(s.Path)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return
	}
	// Stay within the folder: its owner may put links into it meanwhile.
	root, err := os.OpenRoot(s.Path)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		i, err := root.Lstat(name)
		if err != nil {
			return nil
		}
		// A file with a second name may be a file of root elsewhere.
		if of, ok := i.Sys().(*syscall.Stat_t); ok && of.Uid == 0 && (d.IsDir() || of.Nlink == 1) {
			_ = root.Lchown(name, int(owner.Uid), int(owner.Gid))
		}
		return nil
	})
}
