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

	"dragoman/internal/httpapi"
)

// Caller is the program that wants the state directory.
type Caller struct {
	Version string
	// Verb is what the program does there, like "sessions list". Others that
	// find the folder taken name it.
	Verb string
	// Tell gets a sentence that a person should read before the verb goes on.
	// Nil: nobody reads.
	Tell func(sentence string)
	// Patience is how long to wait for a folder that is taken. 0 is five
	// seconds.
	Patience time.Duration
}

// Say tells the person, if somebody reads.
func (c Caller) Say(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
}

const (
	// patience is how long a folder that nobody serves yet is waited for. A
	// command of the operator's holds it for a moment, and a daemon that starts
	// until its socket is there.
	patience = 5 * time.Second
	// tellAfter is when a person wonders what the program waits for.
	tellAfter = time.Second
)

// errLocked: another process has this folder.
var errLocked = errors.New("in use")

// lockState makes the folder if need be, private to its owner, and locks it.
// The lock goes with the process, however it ends. A folder that somebody else
// holds is a *heldError.
func lockState(path, verb string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("storage: the state directory %s cannot be created: %w", path, plainPathError(err))
	}
	if err := checkWritable(path); err != nil {
		return nil, err // a lock may be there, and be ours to write
	}
	// What a link names is not ours to empty. Close-on-exec is set by os.
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
		// For the sentences of heldError only.
		_, _ = fmt.Fprintf(f, "%s with process id %d\n", strings.TrimSpace("dragoman "+verb), os.Getpid())
	}
	return &Dir{Path: path, lock: f}, nil
}

// notWritten is err, the outcome of an attempt to write into the folder at
// path.
func notWritten(path string, err error) error {
	advice := ""
	if errors.Is(err, syscall.EROFS) {
		advice = "; to read what is there, copy it elsewhere and name the copy as state_dir"
	}
	return fmt.Errorf("storage: the state directory %s cannot be written: %w%s", path, plainPathError(err), advice)
}

// checkWritable tells why the folder at path cannot be written, if it is there.
// It writes nothing.
func checkWritable(path string) error {
	const write = 2 // W_OK
	if err := syscall.Access(path, write); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notWritten(path, &fs.PathError{Op: "write", Path: path, Err: err})
	}
	return nil
}

// Temporary makes and locks a state directory that remove removes.
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

// newDraft makes and locks a folder for what gets a name when it is whole, and
// removes one that was left there: again.
func newDraft(path, verb string) (draft *Dir, again bool, err error) {
	if info, err := os.Lstat(path); err == nil {
		if _, err := os.Lstat(filepath.Join(path, lockName)); err != nil || !private(info) {
			return nil, false, fmt.Errorf("storage: something else is at %s, where the copy would be made; move it away", path)
		}
		if err := os.RemoveAll(path); err != nil {
			return nil, false, fmt.Errorf("storage: remove what was left at %s: %w", path, plainPathError(err))
		}
		again = true
	}
	draft, err = lockState(path, verb)
	if err != nil {
		err = fmt.Errorf("%w; the copy is made there until it is whole", err)
	}
	return draft, again, err
}

// private reports whether info is a folder of this user's that nobody else may
// look into.
func private(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid() && info.Mode() == fs.ModeDir|0o700
}

// discard removes a folder that is of no use any more.
func (s *Dir) discard() {
	_ = os.RemoveAll(s.Path)
	_ = s.lock.Close()
}

// holder is who holds a lock with this text. Whoever has just taken it may not
// have written theirs yet, so it may be of somebody who has ended.
func holder(text string) string {
	text = strings.TrimSpace(text)
	pid, err := strconv.Atoi(text[strings.LastIndexByte(text, ' ')+1:])
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return "another process"
	}
	return text
}

// heldError says who has the folder at path. It wraps errLocked.
type heldError struct {
	path, who string
	waited    time.Duration // 0: somebody serves it, waiting is of no use
}

func (e *heldError) Error() string {
	if e.waited > 0 {
		return fmt.Sprintf("storage: %s is still %v by %s after %s; try again when that has ended", e.path, errLocked, e.who, e.waited)
	}
	return fmt.Sprintf("storage: %s is %v by %s; stop it, or choose another state_dir", e.path, errLocked, e.who)
}

func (e *heldError) Unwrap() error { return errLocked }

// Wait is lockState for a folder that may be free in a moment. As soon as
// a daemon answers there it returns an error: see [Served].
func Wait(ctx context.Context, path string, c Caller) (*Dir, error) {
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
	socket := httpapi.SocketTransport(Socket(path))
	conn, err := socket.DialContext(ctx, "unix", "")
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Unlock lets the folder go. The lock file stays: removing it would let two
// processes lock two files of the same name.
func (s *Dir) Unlock() error {
	s.handOver()
	return s.lock.Close()
}

// handOver gives what root has made in a folder of somebody else's to its
// owner: a daemon that may not write its own audit log cannot erase anybody.
func (s *Dir) handOver() {
	info, err := os.Stat(s.Path)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return
	}
	// Below the folder itself: its owner may put links into it meanwhile.
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
		// A file with a second name may be one of root's own, elsewhere.
		if of, ok := i.Sys().(*syscall.Stat_t); ok && of.Uid == 0 && (d.IsDir() || of.Nlink == 1) {
			_ = root.Lchown(name, int(owner.Uid), int(owner.Gid))
		}
		return nil
	})
}
