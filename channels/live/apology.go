package live

import "dragoman/internal/lazily"

// apology matches what the gateway sends when a turn has failed. The id lets an
// operator find the cause in the log; advice may follow.
var apology = lazily.Compile(`^Sorry, [^\n]*\(error [0-9a-f]{6}\)\.`)

// detectApology sets Failed if the item is such a message.
func (it *Item) detectApology() {
	it.Failed = it.From == FromDragoman && apology.Regexp().MatchString(it.Text)
}
