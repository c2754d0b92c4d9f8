package main

import (
	"os"
	"strings"
	"unicode"

	"dragoman/sessions"
)

// command is a command that a person can paste: this program as it was called,
// with the configuration that was named, the verb, and words quoted for a shell.
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
// service has its own user, and nobody else should run its daemon.
func (e *env) starting(config string, systemd bool) string {
	if systemd && strings.HasPrefix(config, "/etc/dragoman/") {
		return "sudo systemctl start dragoman"
	}
	return e.command("run")
}

// startHint is starting for the configuration that c means.
func (e *env) startHint(c *cli) string {
	cfg, err := e.loadWithoutSecrets(c.Config)
	if err != nil {
		return e.command("run")
	}
	return e.starting(cfg.Source().String(), systemd())
}

// systemd reports whether services of this machine are systemd's.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// ownHint is what a channel says, with the command at its end as one that can
// be pasted here: the daemon may have been started elsewhere.
func (e *env) ownHint(text, verb, channel string) string {
	if before, ok := strings.CutSuffix(text, ": dragoman "+verb+" "+channel); ok {
		return before + ": " + e.command(verb, channel)
	}
	return text
}

// ownCommands is text with the commands in it as ones that can be pasted here:
// who wrote it does not know how this program was called.
func (e *env) ownCommands(text string) string {
	return strings.ReplaceAll(text, "`dragoman ", "`"+e.command(""))
}

// shellWord is s as a shell and its history take it for one word.
func shellWord(s string) string {
	if s = sessions.Printable(s); s != "" && s[0] != '#' && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("#:@+-_./", r)
	}) < 0 {
		return s
	}
	return shellQuote(s)
}
