// Package skills offers the model instructions that the operator keeps in folders: skills,
// by the open layout NAME/SKILL.md.
//
// The promise: the model reads exactly what an operator has accepted. Each skill is hashed
// as a whole, each time it is used, and what is not pinned under that hash is neither named
// nor read. Only names and descriptions are in requests; [Set.Tools] has one tool that loads
// a skill, and one for its other files. Nothing of a skill is ever run from here, and what
// it says of tools grants nothing.
//
// Failures:
//
//	what happens                               then
//	a new skill, or a changed one              it waits for "dragoman skills accept"
//	it changes between two uses                the next use is refused, and says so
//	a link, a device, a name that hides,       the skill is wrong: [Look] says why, and it cannot
//	too many files, too large ones             be accepted
//	the folder or the pins cannot be read      no skill is offered, and the log says so once
//	no folder is configured                    there are no tools of it
//
// Goroutines: none. A Set is safe for concurrent use.
package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"dragoman/agent/window"
)

// The states of a skill.
const (
	Accepted = "accepted"
	New      = "new"     // nobody has accepted it
	Changed  = "changed" // another version was accepted
	Wrong    = "wrong"   // it cannot be accepted
	Gone     = "gone"    // it was accepted, and is not there
)

// Skill is a skill as it is now.
type Skill struct {
	Name  string
	About string
	State string
	// Hash is of the whole folder.
	Hash string
	// Why it is wrong.
	Why string
	// Files and Bytes are how much there is, and Tokens about how many its body has.
	Files, Bytes, Tokens int
	// Hints are what to look at before it is accepted. They are no verdict.
	Hints []string

	body  string
	files files
}

// Look reads all skills of a folder, sorted by name. An error: the folder cannot be read.
func Look(dir string, pins Pins) ([]Skill, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	defer root.Close() // nothing was written
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	var all []Skill
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
			continue // a README beside them, and what tools keep
		}
		if len(all) == mostSkills {
			return nil, fmt.Errorf("skills: there are more than %d", mostSkills)
		}
		all = append(all, read(root, e.Name(), pins))
	}
	for name, hash := range pins {
		if !slices.ContainsFunc(all, func(s Skill) bool { return s.Name == name }) {
			all = append(all, Skill{Name: name, Hash: hash, State: Gone})
		}
	}
	slices.SortFunc(all, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// read reads one skill.
func read(root *os.Root, name string, pins Pins) Skill {
	s := Skill{Name: name, State: Wrong}
	if len(name) > maxName || !isName.MatchString(name) {
		s.Name = oneLine(name, maxName)
		s.Why = "a folder's name has only a-z, 0-9 and single hyphens, and at most 64 characters"
		return s
	}
	all, err := readFolder(root, name)
	if err != nil {
		s.Why = err.Error()
		return s
	}
	main, found := all[mainFile]
	if !found {
		s.Why = "it has no " + mainFile
		return s
	}
	f, body, err := parse(main)
	if err == nil && f.Name != name {
		err = errors.New("its name is " + f.Name + ", which is not that of its folder")
	}
	if err != nil {
		s.Why = err.Error()
		return s
	}
	s.About = oneLine(f.About, maxAbout)
	s.Hash = all.hash()
	s.body = body
	s.files = all
	s.Files = len(all)
	s.Tokens = window.EstimateText(body)
	for _, data := range all {
		s.Bytes += len(data)
	}
	s.Hints = hints(f, s)
	switch pins[name] {
	case s.Hash:
		s.State = Accepted
	case "":
		s.State = New
	default:
		s.State = Changed
	}
	return s
}

// mostTokens is how long a body should be, by the layout.
const mostTokens = 5000

// reaching are words with which instructions reach for the network, or install.
var reaching = []string{"curl ", "wget ", "http://", "https://", "pip install", "npm install", "npx ", "| sh", "| bash", "base64 -d", "eval("}

// hints are what to look at before s is accepted.
func hints(f front, s Skill) (list []string) {
	if f.Tools != nil {
		list = append(list, "allowed-tools is ignored: it grants nothing")
	}
	if s.Tokens > mostTokens {
		list = append(list, fmt.Sprintf("its body has about %d tokens, more than the advised %d", s.Tokens, mostTokens))
	}
	for _, name := range s.files.names() {
		text := string(s.files[name])
		for _, word := range reaching {
			if strings.Contains(text, word) {
				list = append(list, fmt.Sprintf("%s has %q", name, strings.TrimSpace(word)))
			}
		}
		if strings.ContainsFunc(text, invisible) {
			list = append(list, name+" has characters that cannot be seen")
		}
	}
	return list
}

// invisible are characters that hide words, or their order, in texts.
func invisible(r rune) bool {
	return r >= '\u200b' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2060' && r <= '\u2069' || r == '\ufeff' || r >= 0xE0000 && r <= 0xE007F
}
