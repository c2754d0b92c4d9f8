//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leastLandlock is the oldest Landlock that keeps signals and abstract sockets in.
const leastLandlock = 6

// processLimit is a limit that each process has.
type processLimit struct {
	what int
	most uint64
}

// commandMemory is how many bytes of addresses each process of a command has.
const commandMemory = 1 << 30

// programLimits are those of a program that reads a foreign file, beside the processor's time
// and its memory.
var programLimits = []processLimit{
	{unix.RLIMIT_CORE, 0},
	{unix.RLIMIT_MEMLOCK, 0},
	{unix.RLIMIT_NOFILE, 64},
	{unix.RLIMIT_FSIZE, 0},
	{unix.RLIMIT_NPROC, 256}, // of all processes together
}

// commandLimits are those of each process of a command, beside the processor's time and its
// memory.
var commandLimits = []processLimit{
	{unix.RLIMIT_CORE, 0},
	{unix.RLIMIT_MEMLOCK, 0},
	{unix.RLIMIT_NOFILE, 256},
	{unix.RLIMIT_FSIZE, 64 << 20},
	{unix.RLIMIT_NPROC, 256}, // of all processes together
}

// landlockOnly is the version of this kernel's Landlock; a [Closed] says why it is too little.
func landlockOnly() (version int, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, Closed("this kernel has no Landlock")
	}
	if abi < leastLandlock {
		return 0, Closed(fmt.Sprintf("this kernel's Landlock is version %d, and %d is needed (Linux 6.12)", abi, leastLandlock))
	}
	return int(abi), nil
}

// namespaces are what a command has for itself. Inside, the daemon's user is 0: mapped to
// itself it would lose the right to mount at the helper's start.
func namespaces() (*syscall.SysProcAttr, error) {
	if os.Geteuid() == 0 || os.Getuid() == 0 {
		return nil, Closed("Dragoman runs as root, whom no limit of processes binds: let it run as a user of its own")
	}
	if _, err := landlockOnly(); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
			unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}, nil
}

// helpers are what this program is when the service manager starts it for one connection.
var helpers = map[string]func(args []string) error{commandWord: serveCommand, serverWord: serveServer}

// enter is the helper: it locks its own process in and becomes the command. It does not
// return if args are a helper's.
func enter(args []string) {
	if len(args) < 2 {
		return
	}
	if serve := helpers[args[1]]; serve != nil && len(args) < 4 {
		if err := serve(args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "dragoman:", err)
			os.Exit(exitSaid)
		}
		os.Exit(0)
	}
	program := len(args) >= 4 && args[1] == programWord
	if !program && (len(args) != 4 || args[1] != commandWord && args[1] != probeWord && args[1] != boundWord) {
		return
	}
	// All that follows binds one thread, the one that becomes the command.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	steps := inNamespaces(0, commandPlaces)
	switch {
	case args[1] == boundWord:
		steps = inOwnUnit()
	case os.Getpid() != 1: // somebody typed it: these would be the mounts of everybody
		fmt.Fprintln(os.Stderr, "dragoman: "+args[1]+" is for Dragoman itself")
		os.Exit(exitSaid)
	case program:
		steps = inNamespaces(unix.MOUNT_ATTR_RDONLY, programPlaces)
	}
	err := confine(steps)
	if err == nil && (args[1] == probeWord || args[1] == boundWord && args[3] == "") {
		fmt.Print(strings.Join(probe(), "\n"))
		os.Exit(0)
	}
	switch {
	case err != nil:
	case program:
		err = unix.Access(args[3], unix.X_OK) // else the shell would say it
		if err == nil {
			err = becomeFor(args[2], programLimits, programMemory, args[3:]...)
		}
	default:
		err = becomeFor(args[2], commandLimits, commandMemory, "/bin/sh", "-c", args[3])
	}
	_, _ = unix.Write(toldFile, []byte(err.Error()))
	os.Exit(exitSaid)
}

// step is one part of locking in.
type step struct {
	what string
	do   func() error
}

// inNamespaces are the steps in namespaces. What needs rights comes first, then they are given
// up. attr is of the working folder's mount, and places are what Landlock allows.
func inNamespaces(attr uint64, places map[string]uint64) []step {
	return append([]step{
		{"offer itself to the killer of processes", offerToKiller},
		{"name the machine", func() error { return unix.Sethostname([]byte("sandbox")) }},
		{"make its root", func() error { return makeRoot(attr) }},
		{"close files", closeFiles},
		{"give up rights", dropRights},
	}, bind(func() error { return landlock(places) })...)
}

// inOwnUnit are the steps in a unit.
func inOwnUnit() []step {
	return append([]step{
		{"offer itself to the killer of processes", offerToKiller},
		{"let the daemon read its files", func() error { unix.Umask(0); return nil }},
		{"close files", closeFiles},
	}, bind(bindToFolder)...)
}

// bind are the last steps.
func bind(toFiles func() error) []step {
	return []step{
		{"refuse new rights", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"ask Landlock", toFiles},
		{"filter system calls", filterCalls},
	}
}

func offerToKiller() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

func closeFiles() error {
	return unix.CloseRange(toldFile, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
}

// bindToFolder binds to the current folder, and to the folder of temporary files.
func bindToFolder() error {
	work, err := os.Getwd()
	if err != nil {
		return err
	}
	return landlock(inUnit(work, os.Getenv("TMPDIR")))
}

// confine locks this thread in.
func confine(steps []step) error {
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("the sandbox could not %s: %w", step.what, err)
		}
	}
	return nil
}

// lockedBits: no user is root, and nothing of that can be changed any more.
const lockedBits = 0x2f // SECBIT_NOROOT, NO_SETUID_FIXUP and the locks, KEEP_CAPS_LOCKED

// dropRights gives up what the namespace granted.
func dropRights() error {
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, lockedBits, 0, 0, 0); err != nil {
		return err
	}
	for right := uintptr(0); ; right++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0)
		if err == unix.EINVAL && right > unix.CAP_AUDIT_READ {
			break // there are no more
		}
		if err != nil {
			return err
		}
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// becomeFor becomes args, each of whose processes gets so many seconds of the processor and
// bytes of addresses. A shell on the way sets the limit of these: until this program is gone,
// any of its threads may need more, and the runtime then dies, or writes that it does among
// what the command prints.
func becomeFor(seconds string, limits []processLimit, memory int, args ...string) error {
	n, err := strconv.ParseUint(seconds, 10, 16)
	if err != nil {
		return err
	}
	shell := []string{"sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$@"`, memory>>10), "sh"}
	return become(append(slices.Clone(limits), processLimit{unix.RLIMIT_CPU, n}), "/bin/sh", append(shell, args...)...)
}

// become sets the limits and replaces this program. Nothing is allocated after the first of
// them.
func become(limits []processLimit, path string, args ...string) error {
	file, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(os.Environ())
	if err != nil {
		return err
	}
	for _, l := range limits {
		r := unix.Rlimit{Cur: l.most, Max: l.most}
		_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(l.what), uintptr(unsafe.Pointer(&r)), 0, 0, 0)
		if errno != 0 {
			return errno
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(file)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	return errno
}
