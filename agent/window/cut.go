package window

import (
	"slices"

	"dragoman/sessions"
)

// Cut returns the index of the first message that stays when at least the
// newest keep messages are to stay. It moves backward where it would otherwise
// part a call from a result, however late that result came. msgs need not be
// repaired.
func Cut(msgs []sessions.Message, keep int) int {
	first := len(msgs) - min(max(keep, 0), len(msgs))
	pairs := pair(msgs)
	for i := len(msgs) - 1; i >= first; i-- {
		if g := pairs.owner[i]; g >= 0 && g < first {
			first = g
		}
	}
	return first
}

// CutAt is Cut for a floor in other units: it returns the index of the first
// message that stays when at least keep is to stay.
func CutAt(msgs []sessions.Message, keep Keep) int {
	first := len(msgs)
	switch n := keep.N; keep.Unit {
	case UnitTurns:
		for ; first > 0 && n > 0; n-- {
			for first--; first > 0 && !startsTurn(msgs, first); first-- {
			}
		}
	case UnitTokens:
		for ; first > 0 && n > 0; n -= EstimateMessage(&msgs[first]) {
			first--
		}
	default:
		first = len(msgs) - min(max(n, 0), len(msgs))
	}
	return Cut(msgs, len(msgs)-first)
}

// startsTurn reports whether a turn begins with msgs[i], which is not the
// first one. Messages that were answered together are one turn; imported ones
// know no turns, so that there a person's words after another's begin one.
func startsTurn(msgs []sessions.Message, i int) bool {
	m, before := &msgs[i], &msgs[i-1]
	if m.Turn != "" || before.Turn != "" {
		return m.Turn != before.Turn
	}
	return m.Role == sessions.RoleUser && !m.Synthetic && before.Role != sessions.RoleUser
}

// Fit returns a view of msgs that takes budget tokens or less, as far as that
// is possible. text counts those of a text; nil is EstimateText. msgs must be
// repaired, and then so is the view. The newest users messages of people (at
// least one) and the last tool group always stay.
//
// A message from before the turn that takes more than a quarter of the budget
// becomes an excerpt first: all others would have to go for its sake, turn
// after turn. So does a call or a result of the turn that takes more than half.
// Then whole groups go, oldest first, and more of them than must:
// the same ones are then left out of many requests to come, and a provider's
// cache keeps hitting. While they are older than the turn, that is a quarter of the budget
// at once. Where all of these are gone and the turn itself is too long, as in a
// long loop of tool calls, it is half of what is left for its groups. If what
// must stay is still too long, its longest texts become excerpts that say so.
//
// For groups of the turn that go no summary can be made, so that a message in
// their place says in short what they were. listed are those that it tells of.
func Fit(msgs []sessions.Message, users, budget int, text func(string) int) (view, listed []sessions.Message) {
	most := max(budget/recapShare, 0)
	if most < leastRecap {
		most = 0
	}
	view, gone := fit(msgs, users, budget, most, text)
	if most == 0 {
		return view, nil
	}
	m, listed := recap(gone, most, text)
	if m == nil {
		return view, nil
	}
	at := turnStart(view, users)
	for at < len(view) && view[at].Role == sessions.RoleUser {
		at++
	}
	return slices.Insert(slices.Clip(view), at, *m), listed
}

// fit is Fit without a word about the groups of the turn that are gone, which
// it returns. If there are any, it leaves so much room for that word.
func fit(msgs []sessions.Message, users, budget, spare int, text func(string) int) (view, gone []sessions.Message) {
	if Bound(msgs) <= budget {
		return msgs, nil
	}
	sizes, total := sizesOf(msgs, text)
	if total <= budget {
		return msgs, nil
	}
	budget = max(budget, 1)
	turn := turnStart(msgs, users)
	if msgs, total = capped(msgs, turn, sizes, budget); total <= budget {
		return msgs, nil
	}
	cut := turn + cutTurn(msgs[turn:], sizes[turn:], budget, spare)
	if cut > turn {
		budget -= spare
	}
	// Counted from the same start in every request, it grows by whole steps.
	quantum := max(budget/oldShare, 1)
	old := (total - budget + quantum - 1) / quantum * quantum
	view = make([]sessions.Message, 0, len(msgs)+1)
	for start, less := 0, 0; start < len(msgs); {
		end := groupEnd(msgs, start)
		group := msgs[start:end]
		switch {
		case end == len(msgs), start >= cut:
			view = append(view, group...)
		case start >= turn && group[0].Role == sessions.RoleUser, start < turn && less >= old:
			view = append(view, group...)
		case start >= turn:
			gone = append(gone, group...)
		default:
			less += sum(sizes[start:end])
		}
		start = end
	}
	return shorten(view, budget, text), gone
}

// sizesOf are the tokens of each message, and of all together.
func sizesOf(msgs []sessions.Message, text func(string) int) (sizes []int, total int) {
	sizes = make([]int, len(msgs))
	for i := range msgs {
		sizes[i] = Count(msgs[i:i+1], text)
	}
	return sizes, sum(sizes)
}

func sum(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}

// capped makes excerpts of messages that take too large a part of budget:
// those from before turn, and what the model and its tools said in it. It
// returns what all of them take then; sizes becomes that too.
func capped(msgs []sessions.Message, turn int, sizes []int, budget int) ([]sessions.Message, int) {
	cloned := false
	for i := range msgs {
		most := budget / LargestShare
		if i >= turn {
			most = budget / LargestOwnShare
		}
		if sizes[i] <= most || most < leastExcerpt || i >= turn && msgs[i].Role == sessions.RoleUser {
			continue
		}
		if !cloned {
			msgs, cloned = slices.Clone(msgs), true
		}
		// Where a tokenizer counts, the excerpt is still cut by estimates.
		before := EstimateMessage(&msgs[i])
		msgs[i] = shortened(msgs[i], int(float64(most)*float64(before)/float64(sizes[i])))
		sizes[i] = sizes[i] * EstimateMessage(&msgs[i]) / max(before, 1)
	}
	return msgs, sum(sizes)
}

// leastExcerpt is the room, in tokens, below which an excerpt of an old message
// says next to nothing.
const leastExcerpt = 64

// LargestShare is the part of a budget, one n-th, that a message from before
// the turn takes at most where there is no room for all, and LargestOwnShare
// one in which the turn itself calls tools, or a result of theirs.
const (
	LargestShare    = 4
	LargestOwnShare = 2
)

// The parts of a budget, one n-th, that go at once.
const (
	oldShare  = 4 // of messages before the turn
	turnShare = 2 // of what is left for the groups of the turn
)

// cutTurn returns the index in turn before which only messages of people stay.
// It goes through the turn as its requests did: a group that makes it too long
// moves the cut, far enough that it can stay there for a while. So it depends
// on the messages alone, and is where it was for the request before unless
// there is no more room. The newest group is never cut off. sizes are those of
// the messages, and spare is the part of budget that is not theirs once one
// has gone.
func cutTurn(turn []sessions.Message, sizes []int, budget, spare int) (cut int) {
	size, pinned, groups := 0, 0, 0
	for start, newest := 0, 0; start < len(turn); {
		end := groupEnd(turn, start)
		tokens := sum(sizes[start:end])
		size += tokens
		if turn[start].Role == sessions.RoleUser {
			pinned += tokens
		} else {
			newest = start
			groups++
		}
		if size > budget && groups > 1 {
			budget, spare = budget-spare, 0
			for size > pinned+max(budget-pinned, 0)/turnShare && cut < newest {
				next := groupEnd(turn, cut)
				if turn[cut].Role != sessions.RoleUser {
					size -= sum(sizes[cut:next])
				}
				cut = next
			}
		}
		start = end
	}
	return cut
}

// Newest returns a view of msgs, which must be repaired, of at most so many
// messages, as far as the groups before the turn allow it: those go, oldest
// first, and no others. users is as in [Fit]. They go in steps, counted from
// the same start, so that many requests begin alike.
func Newest(msgs []sessions.Message, users, most, step int) []sessions.Message {
	over := len(msgs) - most
	if over <= 0 {
		return msgs
	}
	step = max(step, 1)
	turn, first := turnStart(msgs, users), 0
	for gone := (over + step - 1) / step * step; first < min(gone, turn); {
		first = groupEnd(msgs, first)
	}
	return msgs[min(first, turn):]
}

// LastTurn is how many of the newest messages belong to one turn.
func LastTurn(msgs []sessions.Message) int {
	first := len(msgs) - 1
	for ; first > 0 && !startsTurn(msgs, first); first-- {
	}
	return len(msgs) - max(first, 0)
}

// turnStart is the index of the oldest of the newest n user messages.
func turnStart(msgs []sessions.Message, n int) int {
	n = max(n, 1)
	start := len(msgs)
	for i := len(msgs) - 1; i >= 0 && n > 0; i-- {
		if msgs[i].Role == sessions.RoleUser {
			start = i
			n--
		}
	}
	return start
}

// groupEnd is the index after the group that begins at start.
func groupEnd(msgs []sessions.Message, start int) int {
	end := start + 1
	for end < len(msgs) && msgs[end].Role == sessions.RoleTool {
		end++
	}
	return end
}

// shorten makes excerpts of the longest messages, ever shorter ones until all
// fit into budget. In steps, so that the next request shows the same ones.
func shorten(msgs []sessions.Message, budget int, text func(string) int) []sessions.Message {
	out := msgs
	for most := budget; most > 0 && Count(out, text) > budget; most = most * 3 / 4 {
		out = slices.Clone(msgs)
		for i := range msgs {
			if EstimateMessage(&msgs[i]) > most {
				out[i] = shortened(msgs[i], most)
			}
		}
	}
	return out
}

// shortened cuts the text and the arguments of m down to about most tokens.
func shortened(m sessions.Message, most int) sessions.Message {
	if len(m.ToolCalls) > 0 {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		each := most / (len(m.ToolCalls) + 1)
		for i, c := range m.ToolCalls {
			if EstimateText(c.Arguments) > each {
				m.ToolCalls[i].Arguments = `{"left_out":"these arguments were too long to show again"}`
			}
		}
	}
	content := m.Content
	m.Content = ""
	// What was attached belongs to the whole message, and nothing of it can be cut.
	m.Attached = nil
	m.Content = Excerpt(content, max(most-EstimateMessage(&m), 1))
	return m
}
