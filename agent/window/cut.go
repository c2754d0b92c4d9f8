package window

import (
	"slices"

	"dragoman/sessions"
)

// Cut returns the index of the first message to keep if at least the newest keep
// messages are kept. It moves backward where it would otherwise separate a call from
// its result, however late that came. msgs need not be repaired.
func Cut(msgs []sessions.Message, keep int) int {
	first := len(msgs) - min(max(keep, 0), len(msgs))
	pairs := pair(msgs)
	for i := len(msgs) - 1; i >= first; i-- {
		if g, ok := pairs.owner[i]; ok {
			first = min(first, g)
		}
	}
	return first
}

// CutAt is Cut with keep in other units.
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

// startsTurn reports whether a turn begins with msgs[i]; i must not be 0. Messages that
// were answered together are one turn. In imported messages, which have no turns, a
// user message after an assistant's begins one.
func startsTurn(msgs []sessions.Message, i int) bool {
	m, before := &msgs[i], &msgs[i-1]
	if m.Turn != "" || before.Turn != "" {
		return m.Turn != before.Turn
	}
	return m.Role == sessions.RoleUser && !m.Synthetic && before.Role != sessions.RoleUser
}

// Fit returns a view of msgs that takes at most budget tokens, as far as that is
// possible. text counts the tokens of a text; nil is EstimateText. msgs must be
// repaired, and the view is repaired too. The newest users user messages (at least
// one) and the last tool group are always kept.
//
// First, a message from before the turn that takes more than a quarter of the budget
// becomes an excerpt, because otherwise all others would be dropped for its sake,
// turn after turn. So does a call or a result of the turn that takes more than half.
//
// Then whole groups are dropped, oldest first, and more of them than necessary, so
// that many later requests drop the same ones and a provider's cache keeps hitting: a
// quarter of the budget at once for groups from before the turn. If all of these are
// gone and the turn itself is too long, as in a long loop of tool calls, half of what
// is left for its groups is dropped at once. If what must be kept is still too long,
// its longest texts become marked excerpts.
//
// No summary can be made of dropped groups of the turn, so a message in their place
// lists them in short. listed are the messages in that list.
func Fit(msgs []sessions.Message, users, budget int, text func(string) int) (view, listed []sessions.Message) {
	most := max(budget/digestShare, 0)
	if most < minDigest {
		most = 0
	}
	view, gone := fit(msgs, users, budget, most, text)
	if most == 0 {
		return view, nil
	}
	m, listed := digest(gone, most, text)
	if m == nil {
		return view, nil
	}
	at := turnStart(view, users)
	for at < len(view) && view[at].Role == sessions.RoleUser {
		at++
	}
	return slices.Insert(slices.Clip(view), at, *m), listed
}

// fit is Fit without the message that lists the dropped groups of the turn, which it
// returns. If there are any, it leaves reserve tokens for that message.
func fit(msgs []sessions.Message, users, budget, reserve int, text func(string) int) (view, gone []sessions.Message) {
	if UpperBound(msgs) <= budget {
		return msgs, nil
	}
	sizes := make([]int, len(msgs))
	for i := range msgs {
		sizes[i] = Count(msgs[i:i+1], text)
	}
	total := sum(sizes)
	if total <= budget {
		return msgs, nil
	}
	budget = max(budget, 1)
	turn := turnStart(msgs, users)
	msgs, total = capMessages(msgs, turn, sizes, budget)
	if total <= budget {
		return msgs, nil
	}
	cut := turn + cutTurn(msgs[turn:], sizes[turn:], budget, reserve)
	if cut > turn {
		budget -= reserve
	}
	// old grows in whole steps, counted from the same start in every request.
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

func sum(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}

// capMessages makes excerpts of messages that take too large a part of budget: any
// from before turn, and what the model and its tools wrote in it. It updates sizes
// and returns their sum.
func capMessages(msgs []sessions.Message, turn int, sizes []int, budget int) ([]sessions.Message, int) {
	cloned := false
	for i := range msgs {
		most := budget / LargestShare
		if i >= turn {
			most = budget / LargestTurnShare
		}
		if sizes[i] <= most || most < minExcerpt || i >= turn && msgs[i].Role == sessions.RoleUser {
			continue
		}
		if !cloned {
			msgs, cloned = slices.Clone(msgs), true
		}
		// Even with a tokenizer, excerpts are cut by estimates.
		before := EstimateMessage(&msgs[i])
		msgs[i] = excerptOf(msgs[i], int(float64(most)*float64(before)/float64(sizes[i])))
		sizes[i] = sizes[i] * EstimateMessage(&msgs[i]) / max(before, 1)
	}
	return msgs, sum(sizes)
}

// minExcerpt is the smallest useful size of an excerpt, in tokens.
const minExcerpt = 64

// If not everything fits, a message from before the turn takes at most one
// LargestShare-th of the budget, and a call or a result in the turn at most one
// LargestTurnShare-th.
const (
	LargestShare     = 4
	LargestTurnShare = 2
)

// The part of a budget, one n-th, that is dropped at once.
const (
	oldShare  = 4 // of messages before the turn
	turnShare = 2 // of what is left for the groups of the turn
)

// cutTurn returns the index in turn before which only user messages are kept. It
// replays the turn's requests: a group that makes the turn too long moves the cut,
// far enough that it can stay there for a while. So the cut depends on the messages
// alone, and moves only when there is no more room. The newest group is always kept.
// sizes are those of the messages; once a group is dropped, reserve is taken from the
// budget.
func cutTurn(turn []sessions.Message, sizes []int, budget, reserve int) (cut int) {
	size := 0
	pinned := 0
	groups := 0
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
			budget, reserve = budget-reserve, 0
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

// Newest returns a view of msgs, which must be repaired, with at most most messages,
// as far as dropping groups from before the turn allows it. users is as in [Fit]. The
// oldest groups are dropped in steps, counted from the same start, so that many
// requests begin alike.
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

// LastTurn returns how many of the newest messages belong to one turn.
func LastTurn(msgs []sessions.Message) int {
	first := len(msgs) - 1
	for ; first > 0 && !startsTurn(msgs, first); first-- {
	}
	return len(msgs) - max(first, 0)
}

// turnStart returns the index of the n-th newest user message.
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

// groupEnd returns the index after the message at start and the results of its
// calls. They are never separated, because servers refuse calls without results.
func groupEnd(msgs []sessions.Message, start int) int {
	end := start + 1
	for end < len(msgs) && msgs[end].Role == sessions.RoleTool {
		end++
	}
	return end
}

// shorten makes excerpts of the longest messages, ever shorter ones until everything
// fits into budget, or each is at most minExcerpt: what is left of less says nothing, and
// a model that reads it answers nobody's question. It goes in steps, so that the next
// request shows the same excerpts.
func shorten(msgs []sessions.Message, budget int, text func(string) int) []sessions.Message {
	out := msgs
	for most := max(budget, minExcerpt); most >= minExcerpt && Count(out, text) > budget; most = most * 3 / 4 {
		out = slices.Clone(msgs)
		for i := range msgs {
			if EstimateMessage(&msgs[i]) > most {
				out[i] = excerptOf(msgs[i], most)
			}
		}
	}
	return out
}

// excerptOf cuts the text and the arguments of m down to about most tokens.
func excerptOf(m sessions.Message, most int) sessions.Message {
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
	// Attached data belongs to the whole message and cannot be shortened.
	m.Attached = nil
	m.Content = Excerpt(content, max(most-EstimateMessage(&m), 1))
	return m
}
