package sessions

// Lookup is what to look for in one conversation, and where.
type Lookup struct {
	// Query is what a person typed, no query language.
	Query string
	// After and Before bound the seqs, both exclusive; 0 does not bound.
	After, Before int64
	// Oldest puts the older before the newer where both answer as well.
	Oldest bool
	// Limit is how many messages are wanted.
	Limit int
}

// Hits is what a [Lookup] found.
type Hits struct {
	// Messages are the best first; between equals the newer, or the older.
	Messages []Message
	// All counts the messages of that part with all words of the query, those in
	// Messages among them, and Some those with some of them, which are looked
	// for only if there are fewer of the others than wanted. From MostCounted on
	// there may be more.
	All, Some int
}

// MostCounted is where the counting of [Hits] ends.
const MostCounted = 1000
