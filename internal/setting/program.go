package setting

import (
	"net/url"
	"slices"
	"strings"

	"dragoman/internal/lazily"
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
		text, secret := lookAt(arg, after)
		shown = append(shown, text)
		if secret != "" {
			secrets = append(secrets, secret)
		}
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
func lookAt(arg, after string) (shown, secret string) {
	if option.Matches(arg) && !isMixed(arg) {
		return arg, ""
	}
	if namesSecret(after) {
		return unshown, ofNamed(arg)
	}
	if slices.Contains([]string{"p", "P", "k", "W"}, after) && !ports.Matches(arg) { // a port, or a password
		return unshown, ""
	}
	name, value, assigned := strings.Cut(arg, "=")
	isOption := option.Matches(name)
	if assigned && (isOption || variable.Matches(name)) && !isMixed(name) {
		switch {
		case namesSecret(strings.TrimLeft(name, "-")):
			return name + "=" + unshown, ofNamed(value)
		case !isOption: // variables are where secrets are
			_, secret = valueOf(value)
			return name + "=" + unshown, secret
		}
		text, secret := valueOf(value)
		return name + "=" + text, secret
	}
	return valueOf(arg)
}

// ofNamed returns what has the name of a secret, if it can be one: no file, no short number, and
// no variable.
func ofNamed(value string) string {
	if value == "" || strings.HasPrefix(value, "/") || brief.Matches(value) || strings.HasPrefix(value, "$") {
		return ""
	}
	return value
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
func valueOf(value string) (shown, secret string) {
	if strings.Contains(value, "://") {
		return addressOf(value)
	}
	bare := digest.Regexp().ReplaceAllString(value, "")
	switch {
	case isMixed(bare):
		return unshown, value
	case brief.Matches(bare), word.Matches(bare), route.Matches(bare), named.Matches(bare), version.Matches(bare), value == "":
		return value, ""
	}
	return unshown, ""
}

// addressOf is valueOf for an address: its user, its query and a path like a key are hidden.
func addressOf(value string) (shown, secret string) {
	u, err := url.Parse(value)
	if err != nil || u.Opaque != "" {
		return unshown, value
	}
	if password, has := u.User.Password(); has {
		secret = password
	} else if u.User != nil {
		secret = u.User.Username()
	}
	for name, list := range u.Query() {
		if namesSecret(name) || slices.ContainsFunc(list, isMixed) {
			secret = list[0]
		}
	}
	text := u.Scheme + "://"
	if u.User != nil {
		text += unshown + "@"
	}
	text += u.Host
	if isMixed(u.Path) || strings.Contains(u.Path, ":") {
		text += "/" + unshown
		secret = strings.TrimPrefix(u.Path, "/")
	} else {
		text += u.EscapedPath()
	}
	if u.RawQuery != "" || u.Fragment != "" {
		text += "?" + unshown
	}
	return text, secret
}

// ShownURL returns what may be shown of an address.
func ShownURL(address string) string {
	shown, _ := addressOf(address)
	return shown
}

// split parts a name, or a value, into its words.
var split = lazily.Compile(`[A-Z]?[a-z0-9]+|[A-Z0-9]+`)

// secretWords are words of a name that says of its value that it is secret, and secretParts what
// such a word may contain.
var (
	secretWords = []string{"auth", "key", "keys", "pass", "pw", "pat", "dsn", "jwt", "sid", "sig", "signature", "pin", "cookie", "cookies"}
	secretParts = []string{"token", "secret", "passw", "passphrase", "pwd", "apikey", "accesskey", "credential", "bearer", "authoriz"}
	// places are last words of a name that says where a secret is.
	places = []string{"file", "path", "dir", "folder", "env", "var", "name"}
)

// namesSecret reports whether an option or a variable of that name has a secret.
func namesSecret(name string) bool {
	words := split.Regexp().FindAllString(name, -1)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	if len(words) == 0 || slices.Contains(places, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(secretWords, w) || !strings.HasPrefix(w, "tokeniz") &&
			slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(w, part) })
	})
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
