package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/internal/durable"
)

const (
	draftSuffix = ".draft"
	corruptMark = ".corrupt-" // followed by a time
)

// storeDirs are all folders of a store.
var storeDirs = []string{".", documentDir, archiveDir, jobDir}

// fsync is the only way in which this package makes a file, or the names in a
// folder, durable. Tests replace it.
var fsync = (*os.File).Sync

// lockDir makes the directory and takes the lock that keeps other processes
// out. The lock ends with the process, however that ends.
func lockDir(dir string) (*os.File, error) {
	for _, sub := range storeDirs {
		d := filepath.Join(dir, sub)
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
		if err := os.Chmod(d, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Chmod(0o600), syncDir(dir), syncDir(filepath.Dir(dir))); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// createDraft opens a file that is to replace the one at path.
func createDraft(path string) (*os.File, error) {
	return os.OpenFile(path+draftSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
}

// replace renames a draft to path. Whenever the machine dies, the file at path has
// the old content or the new. The new name is durable after syncDir.
func replace(path string, draft *os.File) (info fs.FileInfo, err error) {
	if err = fsync(draft); err == nil {
		info, err = draft.Stat()
	}
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		// If this fails, the next start removes the draft.
		err = errors.Join(err, ignoreMissing(os.Remove(draft.Name())))
	}
	return info, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncDir makes the names in a directory durable, or the content of a file.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(fsync(f), f.Close())
}

// openAt opens the file at path for appending after its first size bytes and
// discards the rest, which an interrupted write left. A shorter file counts as
// missing. Errors: fs.ErrNotExist.
func openAt(path string, size int64) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = fs.ErrNotExist
	}
	if err == nil { // others may be able to read a copy that was restored by hand
		err = errors.Join(f.Chmod(0o600), f.Truncate(size))
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// listFiles returns the paths of the files in folders of the store at dir whose
// names end in suffix. A folder that is missing, or is a file, has none. It is not
// filepath.Glob because dir may look like a pattern.
func listFiles(dir, suffix string, subs ...string) (paths []string, err error) {
	for _, sub := range subs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err = ignoreMissing(err); err != nil && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), suffix) {
				paths = append(paths, filepath.Join(dir, sub, e.Name()))
			}
		}
	}
	return paths, nil
}

// renameDamaged renames a damaged file, so that nothing overwrites it, and returns
// its new name.
func renameDamaged(path string, now time.Time) (string, error) {
	for n := 0; ; n++ {
		to := path + corruptMark + now.UTC().Format("20060102T150405Z")
		if n > 0 {
			to += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(path, to); err != nil {
			return "", err
		}
		return filepath.Base(to), syncDir(filepath.Dir(path))
	}
}

// Damaged lists the damaged files in the store at dir, which were renamed.
func Damaged(dir string) (found []string, err error) {
	for _, sub := range storeDirs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err = ignoreMissing(err); err != nil {
			return nil, fmt.Errorf("file: list damaged files: %w", err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), corruptMark) {
				found = append(found, filepath.Join(sub, e.Name()))
			}
		}
	}
	return found, nil
}

// readRegular reads the file at path. A folder or pipe in its place, or a file that
// cannot be read, is damage (errDamaged): one conversation must not stop all of
// them. It never blocks on a pipe.
func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, asDamage(err)
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, asDamage(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no file", errDamaged)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// asDamage marks an error of this one file as errDamaged. Errors of the system,
// like too many open files, stay as they are.
func asDamage(err error) error {
	for _, one := range []error{fs.ErrPermission, syscall.EIO, syscall.EISDIR, syscall.ELOOP, syscall.ENXIO, syscall.ENODEV} {
		if errors.Is(err, one) {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return err
}

const (
	// nameMost is the longest name without its ending. Every file system in
	// use takes 255 bytes. The rest is room for endings, and for programs that
	// encrypt names.
	nameMost = 140
	// cutMark separates the beginning of a long key from its hash. An escape
	// is never "%-".
	cutMark = "%-"
)

// fileName is the name, without an ending, of the files of k. Two keys never
// share a name, even if the file system ignores case or Unicode forms: upper-case
// letters and all bytes beyond ASCII are escaped. Plain keys stay readable:
// telegram:123456 is telegram_123456.
//
// [channels.Key.FileName] has the same idea, but existing stores have these names on
// their disks: they can be read back (keyOf), leave room for the endings of damaged
// files, and do not escape "#", "=" and "_".
func fileName(k channels.Key) string {
	// The channel ends at the first "_".
	name := escape(k.Channel(), false) + "_" + escape(k.Chat(), true)
	if len(name) <= nameMost {
		return name
	}
	sum := sha256.Sum256([]byte(k.String()))
	hash := cutMark + hex.EncodeToString(sum[:16])
	cut := nameMost - len(hash)
	// Not in the middle of an escape.
	if i := strings.LastIndexByte(name[:cut], '%'); i > cut-3 {
		cut = i
	}
	return name[:cut] + hash
}

// keyOf returns the key whose fileName is name. It reports false for names that
// fileName did not write, and for those that it cut: the document has their key.
func keyOf(name string) (channels.Key, bool) {
	channel, chat, ok := strings.Cut(name, "_")
	channel, err := url.PathUnescape(channel)
	chat, err2 := url.PathUnescape(chat)
	if !ok || err != nil || err2 != nil {
		return channels.Key{}, false
	}
	k, err := channels.NewKey(channel, chat)
	return k, err == nil && fileName(k) == name
}

const hexDigits = "0123456789abcdef"

func escape(s string, underscore bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-.+@#=", c) >= 0 || c == '_' && underscore {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}
