//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wide are the calls for which a command gets "not permitted": they reach the kernel where
// neither its root nor its namespaces are a border.
var wide = []uint32{
	unix.SYS_SETNS, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_MEMFD_SECRET,
	unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_SET_MEMPOLICY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_PERSONALITY,
}

// absent are the calls that a command is told this kernel does not have: programs then take
// another way. The arguments of the last two lie in memory, where a filter cannot look.
var absent = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3, unix.SYS_OPENAT2}

// argued is a call that is refused where an argument has one of some bits.
type argued struct {
	call uint32
	arg  uint32
	bits uint32
}

const (
	newSpaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
	// strangeBits would make a file of the working folder run as the daemon's user.
	strangeBits = unix.S_ISUID | unix.S_ISGID
)

var refused = slices.Concat([]argued{
	{unix.SYS_CLONE, 0, newSpaces &^ unix.CLONE_NEWTIME}, // that bit is part of a signal there
	{unix.SYS_UNSHARE, 0, newSpaces},
	{unix.SYS_FCHMOD, 1, strangeBits},
	{unix.SYS_FCHMODAT, 2, strangeBits},
	{unix.SYS_FCHMODAT2, 2, strangeBits},
	{unix.SYS_MKNODAT, 2, strangeBits},
	{unix.SYS_OPENAT, 3, strangeBits},
}, refusedHere)

// The parts of a filter's instructions.
const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	anyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	least  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	answer = unix.BPF_RET | unix.BPF_K

	allow  = unix.SECCOMP_RET_ALLOW
	deny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	noCall = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

	callAt   = 0  // where struct seccomp_data has the number of the call,
	archAt   = 4  // the kind of machine,
	argsAt   = 16 // and the arguments, of 8 bytes each, low half first
	foreign  = 1 << 30
	terminal = unix.TIOCSTI // types into a terminal
)

// filter is the program that judges each system call. It begins with the machine: a call of
// another one has other numbers.
func filter() []unix.SockFilter {
	f := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: machine, Jt: 1},
		{Code: answer, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: callAt},
		{Code: least, K: foreign, Jf: 1}, // amd64 with pointers of 32 bits
		{Code: answer, K: noCall},
	}
	for _, call := range slices.Concat(wide, wideHere) {
		f = append(f, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: answer, K: deny})
	}
	for _, call := range absent {
		f = append(f, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: answer, K: noCall})
	}
	for _, r := range refused {
		f = append(
			f,
			unix.SockFilter{Code: equal, K: r.call, Jf: 4},
			unix.SockFilter{Code: load, K: argsAt + 8*r.arg},
			unix.SockFilter{Code: anyBit, K: r.bits, Jt: 1},
			unix.SockFilter{Code: answer, K: allow},
			unix.SockFilter{Code: answer, K: deny},
		)
	}
	for _, only := range []argued{{unix.SYS_SOCKET, 0, unix.AF_UNIX}, {unix.SYS_SOCKETPAIR, 0, unix.AF_UNIX}} {
		f = append(
			f,
			unix.SockFilter{Code: equal, K: only.call, Jf: 4},
			unix.SockFilter{Code: load, K: argsAt + 8*only.arg},
			unix.SockFilter{Code: equal, K: only.bits, Jf: 1},
			unix.SockFilter{Code: answer, K: allow},
			unix.SockFilter{Code: answer, K: deny},
		)
	}
	return append(
		f,
		unix.SockFilter{Code: equal, K: unix.SYS_IOCTL, Jf: 3},
		unix.SockFilter{Code: load, K: argsAt + 8},
		unix.SockFilter{Code: equal, K: terminal, Jf: 1},
		unix.SockFilter{Code: answer, K: deny},
		unix.SockFilter{Code: answer, K: allow},
	)
}

// filterCalls binds this thread to the filter.
func filterCalls() error {
	f := filter()
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
