package config

import (
	"reflect"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/internal/setting"
)

// secret puts text into v unless it cannot be the secret that was meant. written is what
// the configuration has. Messages never show the secret.
func (d *decoder) secret(line int, path string, v reflect.Value, f field, text, written string, used bool) {
	if used { // editors and echo leave more behind than the secret
		text = strings.TrimSpace(text)
	}
	dressed := ""
	if f.name != passwordName && f.tag.Get("is") != "header" { // a header is any text
		dressed = dress(text)
	}
	switch {
	case text == "" && wholeFile.Matches(written):
		d.emptyFile(line, path, v, written)
	case text == "" && f.tag.Get("empty") == "ok":
	case text == "":
		d.problem(line, path, "is empty", "give it a value, or remove the line")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		d.problem(line, path, "has a line break or a control character inside", "keep the secret on one line")
	case dressed != "":
		d.problem(line, path, dressed, "leave only the secret itself")
	default:
		d.literalSecret = d.literalSecret || !used
		v.Set(reflect.ValueOf(NewSecret(text)))
		d.check(line, path, v, f, text)
	}
}

// emptyFile reports a secret whose file has nothing in it: whoever names a file means it to
// hold one, though the setting may be left out.
func (d *decoder) emptyFile(line int, path string, v reflect.Value, written string) {
	name := d.opts.absolute(wholeFile.Regexp().FindStringSubmatch(written)[1], d.base)
	p := Problem{File: d.file, Line: line, Path: path, What: "the file " + name + " is empty", Want: "write the secret into it, or remove the line"}
	switch {
	case d.off: // the channel is turned off
	case d.opts.NoSecrets:
		d.absent = append(d.absent, p)
		v.Set(reflect.ValueOf(setting.AbsentSecret()))
	default:
		d.problem(p.Line, p.Path, p.What, p.Want)
	}
}

// passwordName is the setting of secrets that people think up: these may look like
// anything.
const passwordName = "password"

// quotations are the signs around a text in quotes.
var quotations = []string{`""`, `''`, "``", "“”", "‘’", "„“"}

// assignment matches a line of an environment or a configuration.
var assignment = lazily.Compile(`^(export\s+)?([A-Z][A-Z0-9_]*\s*=|(?i:[a-z0-9_]*(key|token|secret)\s*[=:]))\s*\S`)

// dress says what a secret has around it that is not a part of it, or "".
func dress(text string) string {
	for _, q := range quotations {
		signs := []rune(q)
		inner, begins := strings.CutPrefix(text, string(signs[0]))
		if begins && strings.HasSuffix(inner, string(signs[1])) {
			return "is in quotes, which would be sent as a part of it"
		}
	}
	switch {
	case assignment.Matches(text):
		return "is a line like NAME=value, and all of it would be sent"
	case len(text) > 7 && strings.EqualFold(text[:7], "bearer "):
		return "begins with Bearer, which Dragoman adds itself"
	}
	return ""
}
