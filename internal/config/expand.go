package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"dragoman/internal/lazily"
)

var (
	variableName = lazily.Compile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// reference matches "$$", a plain "$", and ${…}, a variable or a file.
	reference = lazily.Compile(`\$\$|\$\{[^}]*\}?`)
	// wholeFile matches a value that is one ${file:…}.
	wholeFile = lazily.Compile(`^\s*\$\{file:([^}]*)\}\s*$`)
)

// missingError is the error for a variable or file that does not exist, which a
// check without secrets may pass over.
type missingError struct{ error }

// Unwrap returns the cause.
func (e *missingError) Unwrap() error { return e.error }

// textOf is the text of value for the setting f. In a verbatim one, only a value
// that is one ${file:…} is replaced.
func (d *decoder) textOf(value string, f field) (text string, used bool, err error) {
	if f.tag.Get("verbatim") == "yes" && !wholeFile.Matches(value) {
		return value, false, nil
	}
	return d.expand(value)
}

// expand replaces ${VAR}, ${VAR:-default} and ${file:/path} in text, but not in the
// values of these. "$$" is a plain "$". used reports whether it replaced any. Errors
// name the variable or the file, never a value.
func (d *decoder) expand(text string) (out string, used bool, err error) {
	out = reference.Regexp().ReplaceAllStringFunc(text, func(found string) string {
		switch {
		case found == "$$":
			return "$"
		case err != nil:
		case !strings.HasSuffix(found, "}"):
			err = errors.New("${ without its }; write $${ for a plain ${")
		default:
			var value string
			used = true
			value, err = d.lookUp(found[2 : len(found)-1])
			return value
		}
		return ""
	})
	return out, used, err
}

func (d *decoder) lookUp(place string) (string, error) {
	if path, found := strings.CutPrefix(place, "file:"); found {
		return d.secretFile(path)
	}
	name, fallback, hasDefault := strings.Cut(place, ":-")
	if !variableName.Matches(name) {
		return "", errors.New("${…} wants the name of a variable, or file:/path; write $${ for a plain ${")
	}
	value, ok := d.opts.Env(name)
	switch {
	case ok && !utf8.ValidString(value):
		return "", fmt.Errorf("the variable %s is not UTF-8 text", name)
	case ok && (value != "" || !hasDefault):
		return value, nil
	case hasDefault:
		return fallback, nil
	}
	return "", &missingError{fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", name, name)}
}

// secretFile reads a file and drops the byte order mark and the last line end, which
// editors and echo add.
func (d *decoder) secretFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("${file:} wants a path")
	}
	path = d.opts.absolute(path, d.base)
	text, err := readText(path)
	if errors.Is(err, errNoText) {
		return "", fmt.Errorf("the file %s %w", path, err)
	}
	if err != nil {
		return "", &missingError{fmt.Errorf("the file %s %w%s", path, err, credentialHint(path))}
	}
	return text, nil
}

// readText reads a small file as secretFile does.
func readText(path string) (string, error) {
	data, err := readLimited(path, maxSecretBytes)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) {
		return "", errNoText
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.TrimSuffix(text, "\n")
	return strings.TrimSuffix(text, "\r"), nil
}

// fileOf is the path in a value that is one ${file:…}; "" if it is none.
func (d *decoder) fileOf(value string) string {
	found := wholeFile.Regexp().FindStringSubmatch(value)
	if found == nil {
		return ""
	}
	return d.opts.absolute(found[1], d.base)
}

// credentialHint explains a missing file of systemd's credentials.
func credentialHint(path string) string {
	if !strings.HasPrefix(path, "/run/credentials/") {
		return ""
	}
	return fmt.Sprintf("; it exists while the service runs, if the service has LoadCredential=%s:FILE", filepath.Base(path))
}
