package main

import (
	"os"
	"strings"
	"unicode"

	"dragoman/sessions"
)

// command is a line that a person can paste into a shell: this program as it was
// called, with its --config, the verb and the quoted words.
func (e *env) command(verb string, words ...string) string {
	all := []string{e.program}
	if e.config != "" {
		all = append(all, "-c", shellWord(e.config))
	}
	all = append(all, verb)
	for _, w := range words {
		all = append(all, shellWord(w))
	}
	return strings.Join(all, " ")
}

// starting is the command that starts the daemon of this configuration. The
// service has a user for itself; no other user should run its daemon.
func (e *env) starting(config string, systemd bool) string {
	if systemd && strings.HasPrefix(config, "/etc/dragoman/") {
		return "sudo systemctl start dragoman"
	}
	return e.command("run")
}

// startHint is starting for the configuration of c.
func (e *env) startHint(c *cli) string {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return e.command("run")
	}
	return e.starting(cfg.Source().String(), systemd())
}

func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// ownHint replaces the command at the end of a channel's text by one that can be
// pasted here: the daemon may have been called by another path.
func (e *env) ownHint(text, verb, channel string) string {
	if before, ok := strings.CutSuffix(text, ": dragoman "+verb+" "+channel); ok {
		return before + ": " + e.command(verb, channel)
	}
	return text
}

// ownCommands replaces the commands in text by ones that can be pasted here.
func (e *env) ownCommands(text string) string {
	return strings.ReplaceAll(text, "`dragoman ", "`"+e.command(""))
}

// shellWord quotes s if a shell would not take it for one word.
func shellWord(s string) string {
	s = sessions.Printable(s)
	if s != "" && s[0] != '#' && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("#:@+-_./", r)
	}) < 0 {
		return s
	}
	return shellQuote(s)
}
