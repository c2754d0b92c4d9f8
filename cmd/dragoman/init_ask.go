package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// asking asks a person questions. After the first error it asks nothing more.
type asking struct {
	e   *env
	in  *bufio.Reader
	dir string // for the files with secrets
	// botAPI is the Bot API server, or "" for Telegram's own.
	botAPI  string
	secrets []secretFile
	err     error
}

// secretFile is a file that has one secret.
type secretFile struct {
	name, secret string
}

// must asks up to three times for a line that must not be empty.
func (a *asking) must(question, usual, why string) string {
	for range 3 {
		if text := a.line(question, usual); text != "" || a.err != nil {
			return text
		}
		a.e.say("%s", why)
	}
	a.err = &usageError{"an answer is missing; nothing was written"}
	return ""
}

// line asks for one line. At the end of the input it returns usual, as for an empty
// one.
func (a *asking) line(question, usual string) string {
	if usual != "" {
		question += " [" + usual + "]"
	}
	_, _ = fmt.Fprint(a.e.out, question+": ")
	text, err := a.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && a.err == nil {
		a.err = err
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return usual
	}
	return text
}

func (a *asking) secret(question string) string {
	f, terminal := a.e.in.(*os.File)
	if !terminal || !term.IsTerminal(int(f.Fd())) {
		return a.line(question, "")
	}
	_, _ = fmt.Fprint(a.e.out, question+" (hidden while you type): ")
	text, err := term.ReadPassword(int(f.Fd()))
	a.e.say("")
	if err != nil && a.err == nil {
		a.err = err
	}
	return strings.TrimSpace(string(text))
}

// choose asks for a number from 1 to n and returns it minus one.
func (a *asking) choose(n int) int {
	for range 3 {
		text := a.line("Number", "1")
		var i int
		if _, err := fmt.Sscan(text, &i); err == nil && i >= 1 && i <= n {
			return i - 1
		}
		a.e.say("Write a number from 1 to %d.", n)
	}
	if a.err == nil {
		a.err = &usageError{"no model was chosen"}
	}
	return askDemo
}

// keep remembers a secret for write, and returns the name of its file: a new one beside
// the configuration.
func (a *asking) keep(name, secret string) string {
	file := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(a.dir, file)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		file = fmt.Sprintf("%s-%d", name, n)
	}
	a.secrets = append(a.secrets, secretFile{file, secret})
	return file
}

// write writes the configuration and the files of its secrets. It never changes an
// existing file.
func (a *asking) write(file, text string) error {
	for _, s := range a.secrets {
		if err := writeNew(filepath.Join(a.dir, s.name), s.secret+"\n"); err != nil {
			return err
		}
	}
	return writeNew(file, text)
}

// writeNew makes a file that only its owner can read. Errors: fs.ErrExist.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
