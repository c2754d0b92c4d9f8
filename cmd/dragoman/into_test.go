package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// unfinishedVariable names the file that a process writes and never finishes.
const unfinishedVariable = "DRAGOMAN_TEST_UNFINISHED"

// unfinishedMain is such a process.
func unfinishedMain(path string) {
	e := &env{out: os.Stdout, err: os.Stderr}
	_ = e.into(path, false, func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("half "), 10_000))
		fmt.Println("writing", err)
		select {}
	}, nil)
}

// A killed export leaves nothing under the name that was asked for, and is in
// nobody's way.
func TestKilledExport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), unfinishedVariable+"="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "writing <nil>" {
		t.Fatalf("it said %q", lines.Text())
	}
	kill(t, cmd.Process.Pid, syscall.SIGKILL)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("it ended with %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a killed export: %v, want none", err)
	}
	e := &env{}
	if err := e.into(path, false, func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != "whole" || err != nil {
		t.Errorf("the file holds %q, %v", text, err)
	}
}
