package live

import "dragoman/internal/lazily"

// apology is how the gateway begins what it says instead of an answer. It has an
// id by which an operator finds the cause in the log; what to do may follow.
var apology = lazily.Compile(`^Sorry, [^\n]*\(error [0-9a-f]{6}\)\.`)

// mark sets Failed where it is due.
func (it *Item) mark() {
	it.Failed = it.From == FromDragoman && apology.Regexp().MatchString(it.Text)
}
