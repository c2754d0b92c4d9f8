package sessions

// Lookup is a search in one conversation.
type Lookup struct {
	// Query is text as a person typed it. There is no query language.
	Query string
	// After and Before bound the seqs, both exclusive; 0 does not bound.
	After, Before int64
	// Oldest puts the older first among messages that match equally well.
	Oldest bool
	// Limit is how many messages are wanted.
	Limit int
}

// Hits are the results of a [Lookup].
type Hits struct {
	// Messages are the best first; between equals the newer, or the older.
	Messages []Message
	// All counts the messages with all words of the query, including those in
	// Messages. Some counts those with some of the words, which are looked for only if
	// All is less than the limit. At MostCounted there may be more.
	All, Some int
}

// MostCounted is the most that [Hits] counts.
const MostCounted = 1000
