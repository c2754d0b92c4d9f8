package agent

import (
	"time"

	"dragoman/agent/window"
	"dragoman/channels"
)

const (
	// limitLifetime is how long a refusal counts. Servers are restarted with more
	// room, and one refused request an hour costs little.
	limitLifetime = time.Hour
	// safeTenths: this many tenths of a refused request are assumed to pass.
	safeTenths = 6
	// A refusal of less than one minWindowShare-th of the configured window teaches
	// nothing, unless a smaller request passed right after it.
	minWindowShare = 8
)

// sizeLimit is the largest request that a model's server is known to accept, in tokens
// as we count them. With it not every turn begins with a refused request.
type sizeLimit struct {
	maxTokens int
	at        time.Time
}

// learnLimit learns that a model with this configured window refused a request as too
// long, and then accepted another, both in tokens as we count them (0: none). The
// learned limit is never below what passed.
func (a *Agent) learnLimit(name string, window, refused, passed int) {
	if refused == 0 || passed == 0 && refused < a.room(name, window/minWindowShare) {
		return
	}
	a.limits.set(name, sizeLimit{max(refused*safeTenths/10, passed), a.now()})
}

// learnedWindow returns window, or less if the model's server recently refused that
// much.
func (a *Agent) learnedWindow(name string, window int) int {
	known, found := a.limits.get(name)
	if !found || a.now().Sub(known.at) >= limitLifetime {
		return window
	}
	return a.windowHolding(name, window, known.maxTokens)
}

// usableWindow returns the model's nominal window, or less if its server recently
// refused that much.
func (a *Agent) usableWindow(name string) int { return a.learnedWindow(name, a.nominalWindow(name)) }

// windowHolding returns the size of the window in which a request of tokens, as we
// count them, leaves just enough room for its answer. It is at most window.
func (a *Agent) windowHolding(name string, window, tokens int) int {
	tokens = int(float64(tokens) * a.calibration.factor(name))
	reserve := min(4096, tokens/7)
	if a.opts.MaxTokens > 0 {
		reserve = min(a.opts.MaxTokens, tokens)
	}
	return min(window, tokens+reserve)
}

// Some servers truncate a request that is too long and report no error: Ollama drops
// the oldest messages. It shows in their token count, which stays the same while
// requests grow.

const (
	// grownBytes: if a request is this many bytes longer than the one before, every
	// tokenizer counts more tokens.
	grownBytes = 1024
	// samePercent: a count of at most this much of the one before counts as
	// unchanged.
	samePercent = 102
	// lowTenths: a count of less than this many tenths of ours is too low.
	lowTenths = 7
	// keptPercent is the part of a truncated request's count that we use from then
	// on, so that there is room for an answer.
	keptPercent = 85
	// minCut is the smallest count to trust: a server that reports less does not
	// really count.
	minCut = 1000
)

// watchKey names what [run.silentCut] compares: the requests of one conversation
// to one model. Another model counts tokens differently.
type watchKey struct {
	key   channels.Key
	model string
}

// seenRequest is the last request of a conversation: its bytes, the tokens that the
// server counted, and how many counts in a row were too low.
type seenRequest struct{ bytes, counted, behind int }

// silentCut reports whether the token count of an answer says that the server may
// have truncated req. Then nothing else may be learned from that count. After the
// second such count in a row it is certain: from then on the model's window is what
// its server counted, and older messages are summarised.
func (r *run) silentCut(req *Request, resp *Response) bool {
	a, name := r.a, r.model.Name()
	if resp.Usage == nil || resp.Usage.Input < minCut {
		return false
	}
	k := watchKey{r.t.Key, name}
	now := seenRequest{bytes: window.UpperBound(req.Messages) + len(req.System), counted: resp.Usage.Input}
	if last, found := a.lastRequests.get(k); found && now.bytes >= last.bytes+grownBytes && now.counted*100 <= last.counted*samePercent {
		expected := float64(r.requestTokens(req)) * a.calibration.factor(name)
		if now.counted*10 < int(expected)*lowTenths {
			now.behind = last.behind + 1
		}
	}
	a.lastRequests.set(k, now)
	if now.behind < 2 {
		return now.behind > 0
	}
	a.lastRequests.forget(k)
	a.limits.set(name, sizeLimit{a.room(name, now.counted*keptPercent/100), a.now()})
	size := a.usableWindow(name)
	a.log.Warn("the model's server truncates requests without an error; its window is smaller than assumed",
		"model", name, "key", r.t.Key.String(), "taken_for", a.nominalWindow(name), "now", size)
	if a.opts.OnSilentCut != nil {
		a.opts.OnSilentCut(name, size)
	}
	return true
}
