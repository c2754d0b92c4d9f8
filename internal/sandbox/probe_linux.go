//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sockets are kinds of sockets that reach other machines, the host or the kernel.
var sockets = []struct {
	name                   string
	family, kind, protocol uintptr
}{
	{"tcp", unix.AF_INET, unix.SOCK_STREAM, 0},
	{"udp", unix.AF_INET, unix.SOCK_DGRAM, 0},
	{"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
	{"mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
	{"tcp6", unix.AF_INET6, unix.SOCK_STREAM, 0},
	{"udp6", unix.AF_INET6, unix.SOCK_DGRAM, 0},
	{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
	{"netlink", unix.AF_NETLINK, unix.SOCK_RAW, 0},
	{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
}

// probe tries calls from this thread and names those that a kernel carries out, or refuses
// for another reason than ours.
func probe() (free []string) {
	try := func(name string, call, a, b, c uintptr) {
		_, _, errno := unix.RawSyscall(call, a, b, c)
		if errno != unix.EPERM && errno != unix.ENOSYS {
			free = append(free, name)
		}
	}
	for _, s := range sockets {
		try(s.name, unix.SYS_SOCKET, s.family, s.kind, s.protocol)
	}
	if may, _, _ := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0); may == 1 {
		free = append(free, "rights")
	}
	var ring [120]byte // struct io_uring_params
	try("io_uring", unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&ring)), 0)
	try("keys", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, 0, 0)
	try("handles", unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0)
	try("memory", unix.SYS_PROCESS_VM_READV, 1, 0, 0)
	try("spaces", unix.SYS_SETNS, ^uintptr(0), 0, 0)
	try("ipc", unix.SYS_UNSHARE, unix.CLONE_NEWIPC|unix.CLONE_NEWUSER, 0, 0)
	return free
}
