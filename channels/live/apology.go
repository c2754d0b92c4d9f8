package live

import "regexp"

// apology is how the gateway ends what it says instead of an answer: with an id
// by which an operator finds the cause in the log.
var apology = regexp.MustCompile(`\(error [0-9a-f]{6}\)\.?\s*$`)

// Apology reports whether text says that there is no answer, rather than being
// one.
func Apology(text string) bool { return apology.MatchString(text) }
