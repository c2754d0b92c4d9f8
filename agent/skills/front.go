package skills

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	// mainFile is the file that every skill has.
	mainFile = "SKILL.md"
	maxMain  = 64 << 10
	maxFront = 8 << 10
	maxName  = 64
	maxAbout = 1024
)

// front is what a SKILL.md says of itself.
type front struct {
	Name  string `yaml:"name"`
	About string `yaml:"description"`
	// License, Compatibility, Metadata and Tools are of the open layout. The last grants
	// nothing here.
	License       string         `yaml:"license"`
	Compatibility string         `yaml:"compatibility"`
	Metadata      map[string]any `yaml:"metadata"`
	Tools         any            `yaml:"allowed-tools"`
}

// isName matches the names that the layout allows.
var isName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parse reads a SKILL.md: what it says of itself, and its body.
func parse(data []byte) (f front, body string, err error) {
	switch {
	case len(data) > maxMain:
		return f, "", fmt.Errorf("%s has more than %d bytes", mainFile, maxMain)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return f, "", errors.New(mainFile + " is not UTF-8 text")
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
	rest, found := strings.CutPrefix(text, "---\n")
	head, body, ended := strings.Cut(rest, "\n---\n")
	if !ended {
		head, ended = strings.CutSuffix(strings.TrimRight(rest, "\n"), "\n---")
		body = ""
	}
	switch {
	case !found || !ended:
		return f, "", errors.New(mainFile + " does not begin with its name and description between two lines of ---")
	case len(head) > maxFront:
		return f, "", fmt.Errorf("what %s says of itself has more than %d bytes", mainFile, maxFront)
	case strings.Contains(head, "\n*") || strings.Contains(head, ": *") || strings.Contains(head, "<<"):
		return f, "", errors.New("what " + mainFile + " says of itself refers to other parts of it")
	}
	err = yaml.Unmarshal([]byte(head), &f)
	if err != nil {
		return f, "", errors.New("what " + mainFile + " says of itself is not YAML, or not of the right kind")
	}
	return f, strings.TrimSpace(body), f.check()
}

// check says what is wrong with f.
func (f front) check() error {
	about := strings.TrimSpace(f.About)
	switch {
	case f.Name == "":
		return errors.New(mainFile + " has no name")
	case len(f.Name) > maxName || !isName.MatchString(f.Name):
		return errors.New("the name has other characters than a-z, 0-9 and single hyphens, or more than 64")
	case about == "":
		return errors.New(mainFile + " has no description")
	case utf8.RuneCountInString(about) > maxAbout:
		return fmt.Errorf("the description has more than %d characters", maxAbout)
	}
	return nil
}

// hidden reports whether a character cannot be seen, or changes how others are.
func hidden(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// oneLine is text in one line of at most most characters, without hidden ones.
func oneLine(text string, most int) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if hidden(r) {
			return -1
		}
		return r
	}, text)
	seen = strings.Join(strings.Fields(seen), " ")
	if utf8.RuneCountInString(seen) > most {
		seen = string([]rune(seen)[:most-1]) + "…"
	}
	return seen
}
