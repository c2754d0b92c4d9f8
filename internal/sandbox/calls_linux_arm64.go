package sandbox

import "golang.org/x/sys/unix"

// machine is what the kernel calls this kind of machine.
const machine = unix.AUDIT_ARCH_AARCH64

// wideHere and refusedHere are the calls that only this kind of machine has.
var (
	wideHere    []uint32
	refusedHere []argued
)
