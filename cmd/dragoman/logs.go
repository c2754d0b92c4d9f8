package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// logsCmd is "dragoman logs": the service's lines in the journal.
type logsCmd struct {
	Follow bool `short:"f" help:"Keep showing new lines until Ctrl-C."`
	Lines  int  `short:"n" default:"100" help:"How many of the newest lines."`
}

func (*logsCmd) Help() string {
	return `The service logs to the systemd journal, which this command reads with journalctl. A daemon started with "dragoman run" logs to standard error.`
}

// Run replaces this process by journalctl.
func (k *logsCmd) Run(*env, *cli) error {
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return &usageError{`this machine has no systemd journal; "dragoman run" logs to standard error`}
	}
	args := []string{"journalctl", "--unit=dragoman", "--lines=" + strconv.Itoa(k.Lines)}
	if k.Follow {
		args = append(args, "--follow")
	}
	return fmt.Errorf("start journalctl: %w", syscall.Exec(path, args, os.Environ()))
}
