package sandbox

import "golang.org/x/sys/unix"

// machine is what the kernel calls this kind of machine.
const machine = unix.AUDIT_ARCH_X86_64

// wideHere and refusedHere are the calls that only this kind of machine has.
var (
	wideHere    = []uint32{unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}
	refusedHere = []argued{
		{unix.SYS_CHMOD, 1, strangeBits},
		{unix.SYS_CREAT, 1, strangeBits},
		{unix.SYS_MKNOD, 1, strangeBits},
		{unix.SYS_OPEN, 2, strangeBits},
	}
)
