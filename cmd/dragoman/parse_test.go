package main

import (
	"testing"

	"github.com/alecthomas/kong"
)

// TestCommandsRun: the type of every command is found when it is called, so
// that one without Run would be noticed by whoever types it.
func TestCommandsRun(t *testing.T) {
	var c cli
	parser := kong.Must(&c, tagWords())
	count := 0
	for _, n := range parser.Model.Leaves(false) {
		count++
		if _, ok := n.Target.Addr().Interface().(command); !ok {
			t.Errorf("%s has no Run(*env, *cli) error", n.FullPath())
		}
	}
	if count < 30 {
		t.Errorf("%d commands were looked at, want all", count)
	}
}

func TestParseRefuses(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"expected one of init, run, chat", []string{"--config", "x"}},
		{"queue drop wants <", []string{"queue", "drop"}},
		{"there is no command foo\n", []string{"foo"}},
		{"there is no command statu; did you mean \"status\"?\n", []string{"-c", "x", "statu"}},
		{"there is no command sessions foo\n", []string{"sessions", "foo"}},
		{"unexpected argument extra", []string{"version", "extra"}},
		{"unknown flag --jsn, did you mean \"--json\"?", []string{"status", "--jsn"}},
		{`--format must be one of json, jsonl, markdown, not "text"`, []string{"sessions", "export", "a:b", "--format", "text"}},
		{`<shell> must be one of bash, zsh, fish, not "csh"`, []string{"completion", "csh"}},
		{"completion wants <shell>", []string{"completion"}},
		{"missing flags: --from=TYPE[:PATH], --to=TYPE[:PATH]\n", []string{"sessions", "migrate"}},
		{"missing flags: --to=TYPE[:PATH]\n", []string{"sessions", "migrate", "--from", "file"}},
		{"there is no command sessions foo\n", []string{"help", "sessions", "foo"}},
		{"there is no command statu; did you mean \"status\"?\n", []string{"help", "statu"}},
		{"there is no command version extra\n", []string{"help", "version", "extra"}},
		{"web:main is a conversation, not a question; write: dragoman ask 'hello you' --key web:main\n", []string{"ask", "web:main", "hello", "you"}},
	} {
		w.fail(exitUsage, tt.want, tt.args...)
	}
	w.want([]string{"Usage: dragoman sessions tag"}, "help", "sessions", "tag")
	w.want([]string{"Usage: dragoman sessions migrate"}, "sessions", "migrate", "--help")
	w.want([]string{"Usage: dragoman"})
}
