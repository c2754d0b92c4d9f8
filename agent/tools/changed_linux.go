package tools

import "syscall"

// changedAt is when a file was changed, which nobody can set.
func changedAt(stat *syscall.Stat_t) syscall.Timespec { return stat.Ctim }
