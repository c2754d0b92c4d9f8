//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// seen is what a command finds of this machine, if it is there. Links stay links.
var seen = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
}

// devices are what it finds in /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// written are the files that we write into its /etc.
var written = map[string]string{
	"etc/passwd": "root:x:0:0:sandbox:/tmp:/bin/sh\n", "etc/group": "root:x:0:\n", "etc/hosts": "127.0.0.1 localhost sandbox\n",
}

// tree is a copy of a mount that is not in any folder yet.
type tree struct {
	file   int
	at     string // without the slash
	folder bool
}

// makeRoot replaces the root of this process: a small file system in memory, with what a
// command needs, the working folder as /work, with more attributes, and an empty /tmp.
// Everything is opened before anything is mounted, so no mount hides a folder below it.
func makeRoot(more uint64) error {
	unix.Umask(0o022)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	work, err := copyMount(".", "work", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|more)
	if err != nil {
		return fmt.Errorf("the working folder: %w", err)
	}
	trees := []tree{work}
	links := make(map[string]string)
	for _, path := range append(seen, devices...) {
		if to, err := os.Readlink(path); err == nil && filepath.Dir(path) == "/" {
			links[path[1:]] = to
			continue
		}
		attr := uint64(unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if strings.HasPrefix(path, "/dev/") {
			attr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
		}
		t, err := copyMount(path, path[1:], attr)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		trees = append(trees, t)
	}
	// Any folder would do: what this one hides was opened above, and nobody else sees it.
	const base = "/usr"
	if err := memory(base, "size=1m,nr_inodes=200,mode=755"); err != nil {
		return err
	}
	if err := os.Chdir(base); err != nil {
		return err
	}
	if err := furnish(trees, links); err != nil {
		return err
	}
	return turn()
}

// copyMount opens path as a mount of its own, with everything below it.
func copyMount(path, at string, attr uint64) (tree, error) {
	file, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return tree{}, err
	}
	var is unix.Stat_t
	if err := unix.Fstat(file, &is); err != nil {
		return tree{}, err
	}
	err = unix.MountSetattr(file, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr})
	return tree{file, at, is.Mode&unix.S_IFMT == unix.S_IFDIR}, err
}

// memory mounts a file system that lives in memory.
func memory(at, options string) error {
	return unix.Mount("sandbox", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// furnish fills the new root, which is the current folder.
func furnish(trees []tree, links map[string]string) error {
	for at, to := range links {
		if err := os.Symlink(to, at); err != nil {
			return err
		}
	}
	for _, t := range trees {
		if err := place(t); err != nil {
			return fmt.Errorf("/%s: %w", t.at, err)
		}
	}
	for at, text := range written {
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.Symlink("/tmp", "dev/shm"); err != nil {
		return err
	}
	if err := os.Mkdir("tmp", 0o755); err != nil {
		return err
	}
	return memory("tmp", "size=64m,nr_inodes=4096,mode=700")
}

// place mounts t where it belongs.
func place(t tree) error {
	dir := t.at
	if !t.folder {
		dir = filepath.Dir(t.at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if !t.folder {
		if err := os.WriteFile(t.at, nil, 0o644); err != nil {
			return err
		}
	}
	return unix.MoveMount(t.file, "", unix.AT_FDCWD, t.at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// turn makes the current folder the root, lets go of the old one, and ends in /work.
func turn() error {
	if err := unix.PivotRoot(".", "."); err != nil { // the old root now lies over the new one
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	fixed := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &fixed); err != nil {
		return err
	}
	return os.Chdir("/work")
}
