package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	})
}

// What a killed export leaves goes with the next one to the same place. What
// another export is just writing stays, and so do files of others.
func TestKilledExportIsSwept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	others := []string{".out.123", ".out.12x.part", ".out.part", ".other.123.part", "out.123.part"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() *exec.Cmd {
		t.Helper()
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
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		kill(t, cmd.Process.Pid, syscall.SIGKILL)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) {
			t.Fatalf("it ended with %v", err)
		}
	}
	drafts := func() (n int) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		gone := len(others)
		for _, e := range entries {
			switch {
			case slices.Contains(others, e.Name()):
				gone--
			case e.Name() != "out":
				n++
			}
		}
		if gone > 0 {
			t.Errorf("%d files of others are gone", gone)
		}
		return n
	}
	end(begin())
	if drafts() != 1 {
		t.Fatalf("a killed export left %d files, want one to sweep", drafts())
	}
	running := begin()
	if drafts() != 1 {
		t.Errorf("beside the export that runs there are %d files, want its own alone", drafts())
	}
	e := &env{}
	if err := e.into(path, false, func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != "whole" || err != nil {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if drafts() != 1 {
		t.Errorf("after it there are %d files, want that of the export that runs", drafts())
	}
	end(running)
}
