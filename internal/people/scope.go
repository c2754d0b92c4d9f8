package people

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is what a principal may do. Each scope includes the ones before it.
// The zero value includes nothing and is included in nothing.
type Scope string

const (
	// Chat is one's own conversations.
	Chat Scope = "chat"
	// Read is what there is, of all: statistics, health, metrics.
	Read Scope = "read"
	// Operate is the daily work: the queue, jobs, pairings, deleting.
	Operate Scope = "operate"
	// Admin is everything: tokens, linking phones, erasing people, the log.
	Admin Scope = "admin"
)

// scopes are all scopes, each before those that include it.
var scopes = []Scope{Chat, Read, Operate, Admin}

// Scopes returns all scopes, each before those that include it.
func Scopes() []Scope { return slices.Clone(scopes) }

// ParseScope reads a scope as people write it. The error is a sentence for
// them and names the scopes that there are.
func ParseScope(word string) (Scope, error) {
	s := Scope(strings.ToLower(strings.TrimSpace(word)))
	if !slices.Contains(scopes, s) {
		return "", fmt.Errorf("people: there is no scope %q: take %s", word, ScopeWords())
	}
	return s, nil
}

// ScopeWords names all scopes in a sentence: "chat, read, operate or admin".
func ScopeWords() string {
	last := len(scopes) - 1
	words := string(scopes[0])
	for _, s := range scopes[1:last] {
		words += ", " + string(s)
	}
	return words + " or " + string(scopes[last])
}

// Includes reports whether s allows what t allows.
func (s Scope) Includes(t Scope) bool {
	mine := slices.Index(scopes, s)
	wanted := slices.Index(scopes, t)
	return wanted >= 0 && mine >= wanted
}
