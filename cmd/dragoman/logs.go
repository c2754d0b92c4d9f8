package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

type logsCmd struct {
	Follow bool `short:"f" help:"Go on with what comes, until Ctrl-C."`
	Lines  int  `short:"n" default:"100" help:"How many of the newest lines."`
}

// Help is what --help says beside the flags.
func (*logsCmd) Help() string {
	return `The service writes its log to the journal of systemd, which this reads with journalctl. A daemon that was started with "dragoman run" writes it to standard error.`
}

// Run becomes journalctl.
func (k *logsCmd) Run(*env, *cli) error {
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return &usageError{`there is no journal of systemd on this machine; "dragoman run" writes its log to standard error`}
	}
	args := []string{"journalctl", "--unit=dragoman", "--lines=" + strconv.Itoa(k.Lines)}
	if k.Follow {
		args = append(args, "--follow")
	}
	return fmt.Errorf("start journalctl: %w", syscall.Exec(path, args, os.Environ()))
}
