package agent

import (
	"dragoman/agent/window"
	"dragoman/channels"
)

// Some servers cut a request that is too long without a word: Ollama leaves the
// oldest messages out. It shows in what they say that a request took, which
// stays the same while requests grow.

const (
	// grownBytes is how much longer a request must be than the one before to be
	// counted with more tokens, however they are counted.
	grownBytes = 1024
	// sameHundredths is how much more a server may count that has cut, in hundredths.
	sameHundredths = 102
	// farTenths is what a count has at most of what we expect, in tenths, if it
	// is to be called too little.
	farTenths = 7
	// keptHundredths is what a window that cut so many tokens is taken to hold
	// beside an answer.
	keptHundredths = 85
	// leastCut is the smallest count that may be a window: a server that counts
	// less does not count.
	leastCut = 1000
)

// watched is a conversation with one model.
type watched struct {
	key   channels.Key
	model string
}

// sight is the last request of a conversation: its bytes, and the tokens that
// the server counted. behind says how many in a row were too few.
type sight struct{ bytes, counted, behind int }

// silentCut reports whether the usage that came with an answer to req says that
// the server may have cut it, so that nothing is to be learned from it: the count
// has not grown with the request, and is less than we expect. The second time in
// a row that is sure: from then on the model's window is what its server counted,
// and older messages are summarised.
func (r *run) silentCut(req *Request, resp *Response) bool {
	a, name := r.a, r.model.Name()
	if resp.Usage == nil || resp.Usage.Input < leastCut {
		return false
	}
	k := watched{r.t.Key, name}
	now := sight{bytes: window.Bound(req.Messages) + len(req.System), counted: resp.Usage.Input}
	if last, found := a.watch.get(k); found && now.bytes >= last.bytes+grownBytes && now.counted*100 <= last.counted*sameHundredths {
		expected := float64(r.requestTokens(req)) * a.calibration.factor(name)
		if now.counted*10 < int(expected)*farTenths {
			now.behind = last.behind + 1
		}
	}
	a.watch.set(k, now)
	if now.behind < 2 {
		return now.behind > 0
	}
	a.watch.forget(k)
	a.lengths.set(name, length{a.room(name, now.counted*keptHundredths/100), a.now()})
	size := a.windowOf(name)
	a.log.Warn("the model's server cuts requests without saying so; its window is smaller than assumed",
		"model", name, "key", r.t.Key.String(), "taken_for", a.sizeOf(name), "now", size)
	if a.opts.OnSilentCut != nil {
		a.opts.OnSilentCut(name, size)
	}
	return true
}
