package sessions

import "fmt"

// NewerError: a newer version of Dragoman wrote a store, or a file of it. The store
// was not changed: this version may understand only a part of it, and would lose the
// rest on the next write.
type NewerError struct {
	Path  string // the file, or a name for the tables
	Has   int    // the number of its format
	Knows int    // the newest format that this version knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer version of dragoman wrote %s (its format is %d, this version knows %d): use that version, or restore a backup", e.Path, e.Has, e.Knows)
}

// Sentence is the error for users.
func (e *NewerError) Sentence() string {
	return fmt.Sprintf("A newer version of Dragoman wrote %s (its format is %d, this version knows %d). Nothing was changed. Use that version, or restore a backup.", e.Path, e.Has, e.Knows)
}
