package setting

import (
	"slices"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/internal/secretword"
)

// Program is a program and its arguments, as somebody configured them. Printed or encoded, it
// shows the program, the names of options, and arguments that are plainly no secret: paths,
// packages, addresses, words of letters, short numbers. Other arguments read "<hidden>".
type Program []string

// unshown stands for what is not shown.
const unshown = "<hidden>"

// String shows the program on one line.
func (p Program) String() string { return strings.Join(p.Shown(), " ") }

// MarshalYAML implements yaml.Marshaler.
func (p Program) MarshalYAML() (any, error) { return p.Shown(), nil }

// Shown returns what may be shown, a text for each argument.
func (p Program) Shown() []string {
	shown, _ := p.look()
	return shown
}

// Secrets returns the arguments, or the parts of arguments, that look like secrets: what follows
// an option or a variable with the name of one, what keys of services begin with, what is as long
// and as mixed as a key.
func (p Program) Secrets() []string {
	_, secrets := p.look()
	return secrets
}

func (p Program) look() (shown, secrets []string) {
	after := "" // the option before
	for i, arg := range p {
		if i == 0 {
			shown = append(shown, arg)
			continue
		}
		text, found := lookAt(arg, after)
		shown = append(shown, text)
		secrets = append(secrets, found...)
		after = ""
		if text == arg && strings.HasPrefix(arg, "-") {
			after = strings.TrimLeft(arg, "-")
		}
	}
	for i, text := range shown {
		if i > 0 && slices.Contains(secrets, text) { // said twice
			shown[i] = unshown
		}
	}
	return shown, secrets
}

// option and variable are names that may be shown with what is set hidden.
var (
	option   = lazily.Compile(`^(--[A-Za-z][A-Za-z0-9._-]{0,40}|-[A-Za-z][a-z-]{0,20})$`)
	variable = lazily.Compile(`^[A-Za-z_][A-Za-z0-9_]{0,40}$`)
)

// lookAt returns what may be shown of one argument, and what of it looks like a secret. after is
// the option before it.
func lookAt(arg, after string) (shown string, secrets []string) {
	if option.Matches(arg) && !isMixed(arg) {
		return arg, nil
	}
	if secretword.Names(after) {
		return unshown, ofNamed(arg)
	}
	if slices.Contains([]string{"p", "P", "k", "W"}, after) && !ports.Matches(arg) { // a port, or a password
		return unshown, nil
	}
	name, value, assigned := strings.Cut(arg, "=")
	isOption := option.Matches(name)
	if assigned && (isOption || variable.Matches(name)) && !isMixed(name) {
		switch {
		case secretword.Names(name):
			return name + "=" + unshown, ofNamed(value)
		case !isOption: // variables are where secrets are
			_, secrets = valueOf(value)
			return name + "=" + unshown, secrets
		}
		text, secrets := valueOf(value)
		return name + "=" + text, secrets
	}
	return valueOf(arg)
}

// ofNamed returns what has the name of a secret, if it can be one: no file, no short number, and
// no variable.
func ofNamed(value string) []string {
	if value == "" || strings.HasPrefix(value, "/") || brief.Matches(value) || strings.HasPrefix(value, "$") {
		return nil
	}
	return []string{value}
}

// Values that are plainly no secret, unless a piece of them is mixed.
var (
	ports   = lazily.Compile(`^[0-9.:]{1,21}$`)
	brief   = lazily.Compile(`^[0-9]{1,5}$`)
	word    = lazily.Compile(`^([A-Z]?[a-z]+|[A-Z]+)([-_][A-Za-z]+)*$`)
	route   = lazily.Compile(`^(~|\.{1,2})?(/[A-Za-z0-9._@+~-]*)+$|^[A-Za-z0-9._@+-]+(/[A-Za-z0-9._@+-]+)+$`)
	named   = lazily.Compile(`^[A-Za-z][A-Za-z_-]*\.[a-z]{1,5}$`)
	version = lazily.Compile(`^@?[a-z0-9][a-z0-9._/-]*(@|==|:)v?[0-9]+([.+-][A-Za-z0-9]+)*$`)
	digest  = lazily.Compile(`@sha256:[0-9a-f]{64}$`)
)

// valueOf returns what may be shown of a value, and what of it looks like a secret.
func valueOf(value string) (shown string, secrets []string) {
	if strings.Contains(value, "://") {
		return Address(value).look()
	}
	bare := digest.Regexp().ReplaceAllString(value, "")
	switch {
	case isMixed(bare):
		return unshown, []string{value}
	case brief.Matches(bare), word.Matches(bare), route.Matches(bare), named.Matches(bare), version.Matches(bare), value == "":
		return value, nil
	}
	return unshown, nil
}

// keyed is how keys of services begin.
var keyed = lazily.Compile(`(^|[^a-z])(gh[opsur]_|github_pat_|glpat-|sk-|sk_|pk_live|rk_live|xox[a-z]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|hf_|npm_|dop_v1|ATATT|ntn_|secret_|Bearer |[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-)`)

// run is what a key is made of, and the rest what a run has two of if it is one.
var (
	run     = lazily.Compile(`[A-Za-z0-9]{16,}`)
	figure  = lazily.Compile(`[0-9]`)
	letter  = lazily.Compile(`[A-Za-z]`)
	capital = lazily.Compile(`[A-Z]`)
	small   = lazily.Compile(`[a-z]`)
)

// isMixed reports whether a text has a piece that looks like a key: it begins like one, or has 16
// letters and digits in a row, or 24 small and capital letters.
func isMixed(text string) bool {
	return keyed.Matches(text) || slices.ContainsFunc(run.Regexp().FindAllString(text, -1), func(piece string) bool {
		digits := figure.Matches(piece) && letter.Matches(piece)
		return digits || len(piece) >= 24 && capital.Matches(piece) && small.Matches(piece)
	})
}
