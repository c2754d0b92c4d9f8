package sandbox

import (
	"os"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// What a child may use.
const (
	mostCPU    = 15        // seconds
	mostMemory = 256 << 20 // bytes that it writes to, Go's own included
	collectAt  = 96 << 20  // from here on the collector works harder
)

// self is this program's file, also when another one has taken its name since.
func self() (string, error) { return "/proc/self/exe", nil }

// alone lets the kernel end the child with its parent.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// limit binds this process. RLIMIT_AS would do harm: Go asks for more addresses than it
// ever uses.
func limit() error {
	debug.SetMemoryLimit(collectAt)
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 64},
		{unix.RLIMIT_CPU, mostCPU},
		{unix.RLIMIT_DATA, mostMemory},
	} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return err
		}
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// limitMemory binds this process closer.
func limitMemory(most uint64) error {
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most})
}

// mostResident is the most memory that a process has had.
func mostResident(ended *os.ProcessState) int64 {
	usage, ok := ended.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) << 10
}
