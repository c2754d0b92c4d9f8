package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"dragoman/internal/httpapi"
	"dragoman/sessions"
)

type sessionsExportCmd struct {
	Key    string `arg:"" help:"The conversation, like telegram:123456."`
	Format string `default:"jsonl" enum:"jsonl,markdown" help:"jsonl: everything, one message a line; markdown: what was said, to read."`
	Output string `short:"o" placeholder:"FILE" help:"Write to a new file instead of standard output."`
}

// Run writes as it reads, so that a transcript may be of any length.
func (k *sessionsExportCmd) Run(e *env, c *cli) error {
	key, err := parseKey(k.Key)
	if err != nil {
		return err
	}
	return e.withAdmin(c, func(ctx context.Context, a *httpapi.Client) error {
		return e.into(k.Output, func(w io.Writer) error {
			write := writeJSONLine(w)
			if k.Format == "markdown" {
				if _, err := fmt.Fprintf(w, "# %s\n", key); err != nil {
					return err
				}
				write = writeMarkdown(w)
			}
			return eachMessage(ctx, a, key, write)
		})
	})
}

// into writes to a new file that only its owner can read, or to standard
// output. A file that was not finished is removed.
func (e *env) into(path string, f func(io.Writer) error) error {
	if path == "" {
		w := bufio.NewWriter(e.out)
		return errors.Join(f(w), w.Flush())
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{fmt.Sprintf("%s exists already; name another file", path)}
	}
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	if err := errors.Join(f(w), w.Flush(), file.Sync(), file.Close()); err != nil {
		_ = os.Remove(path)
		return err
	}
	return nil
}

func writeJSONLine(w io.Writer) func(sessions.Message) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(m sessions.Message) error { return enc.Encode(m) }
}

// writeMarkdown leaves out what tools did, except for their names.
func writeMarkdown(w io.Writer) func(sessions.Message) error {
	day := ""
	return func(m sessions.Message) error {
		var b strings.Builder
		if d := m.At.Local().Format(time.DateOnly); d != day {
			day = d
			fmt.Fprintf(&b, "\n## %s\n", day)
		}
		if m.Role == sessions.RoleTool {
			return nil
		}
		if m.Content != "" {
			fmt.Fprintf(&b, "\n**%s** %s\n\n%s\n", strings.ReplaceAll(oneLine(speaker(m)), "*", `\*`), m.At.Local().Format("15:04"), strings.TrimRight(printable(m.Content), "\n"))
		}
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "\n*used %s*\n", oneLine(call.Name))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}
