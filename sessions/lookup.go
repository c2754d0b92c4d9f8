package sessions

// Lookup is a search in one conversation.
type Lookup struct {
	// Query is text as a person typed it. There is no query language.
	Query string
	// After and Before bound the seqs, both exclusive; 0 is no bound.
	After, Before int64
	// Oldest sorts messages that match equally well oldest first, not newest first.
	Oldest bool
	// Limit is how many messages are wanted.
	Limit int
}

// Hits are the results of a [Lookup].
type Hits struct {
	// Messages has the best first, ties as Lookup.Oldest says.
	Messages []Message
	// All counts the messages with all words of the query, including those in
	// Messages. Some counts those with only some of the words; the store looks for
	// them only if All is less than the limit. At MostCounted there may be more.
	All, Some int
}

// MostCounted is the most that [Hits] counts.
const MostCounted = 1000
