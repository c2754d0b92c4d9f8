//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock allows, in its own bits.
const (
	mayAll   = 1<<16 - 1 // each right that version 6 knows
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayUse   = mayRead&^unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	mayFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	makesDev = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// makesOther would be in the daemon's way when it reads the working folder.
	makesOther = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
)

// Where a command may write, and where a program may.
var (
	commandPlaces = map[string]uint64{
		"/":     mayRead,
		"/dev":  mayUse,
		"/tmp":  mayAll &^ makesDev,
		"/work": mayAll &^ makesDev &^ makesOther,
	}
	programPlaces = map[string]uint64{"/": mayRead, "/dev": mayUse}
)

// inUnit is what it allows in a unit, whose root is everybody's.
func inUnit(work, tmp string) map[string]uint64 {
	rules := map[string]uint64{tmp: mayAll &^ makesDev, work: mayAll &^ makesDev &^ makesOther}
	for _, path := range seen {
		rules[path] = mayRead
	}
	for _, path := range devices {
		rules[path] = mayUse
	}
	return rules
}

// Signals and abstract sockets do not leave what is bound.
const scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL

// landlock binds this thread to the paths of rules: no TCP, and no signal or abstract socket
// to others.
func landlock(paths map[string]uint64) error {
	return restrict(unix.LandlockRulesetAttr{
		Handled_access_fs:  mayAll,
		Handled_access_net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
		Scoped:             scopes,
	}, paths)
}

// keepApart binds this thread, of a server, to everything but other servers: it can neither
// use nor list what is in homes beside its own home, nor look into their processes, where
// their keys are. Newer kernels keep signals and abstract sockets from them, too.
func keepApart(homes, home string) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 2 {
		return Closed("this kernel has no Landlock that keeps servers apart (Linux 5.19)")
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: mayAll}
	switch {
	case abi < 3:
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	case abi < 5:
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	case abi >= leastLandlock:
		attr.Scoped = scopes
	}
	paths := map[string]uint64{home: mayAll}
	for inside := homes; inside != "/"; inside = filepath.Dir(inside) {
		beside, err := os.ReadDir(filepath.Dir(inside))
		if err != nil {
			return err
		}
		for _, one := range beside {
			if one.Name() != filepath.Base(inside) {
				paths[filepath.Join(filepath.Dir(inside), one.Name())] = mayAll
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return restrict(attr, paths)
}

// restrict binds this thread to the paths of rules.
func restrict(attr unix.LandlockRulesetAttr, paths map[string]uint64) error {
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(rules))
	for path, may := range paths {
		file, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT {
			continue
		}
		var is unix.Stat_t
		if err == nil {
			err = unix.Fstat(file, &is)
		}
		if err != nil {
			return err
		}
		may &= attr.Handled_access_fs
		if is.Mode&unix.S_IFMT != unix.S_IFDIR {
			may &= mayFile
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: may, Parent_fd: int32(file)}
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
		unix.Close(file)
		if errno != 0 {
			return errno
		}
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
