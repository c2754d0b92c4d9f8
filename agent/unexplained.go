package agent

import (
	"errors"

	"dragoman/agent/window"
)

// minUnexplained is the smallest request, in tokens, that may be too long. Every model
// takes that many.
const minUnexplained = 1000

// halve makes the next request half as long, after a refusal for which neither the
// server nor we know a reason, if the request was the longest so far. Some servers say
// no more about a request that is too long. It is tried once in a call.
func (r *run) halve(req *Request, err error, tried *attempts, final bool) bool {
	longest, _ := r.a.longest.get(r.model.Name())
	size := r.a.messageTokens(req.Messages)
	if tried.unexplained != nil || !unexplained(err) || size < minUnexplained || bytesOf(req) <= longest {
		return false
	}
	before := r.fit.maxTokens
	r.fit.maxTokens = size / 2
	next, _ := r.request(final)
	if r.a.messageTokens(next.Messages) >= size {
		r.fit.maxTokens = before
		return false
	}
	tried.unexplained, tried.refused = err, r.requestTokens(req)
	r.a.log.Warn("the model's server refused the longest request so far without a reason; trying half of it",
		"key", r.t.Key.String(), "tokens", size, "err", err)
	return true
}

// reason returns the error to report for a call that ended with err. If half of the
// request was refused as well, its length was not the reason, and nothing is learned.
func (t *attempts) reason(err error) error {
	if t.unexplained == nil {
		return err
	}
	t.refused = 0
	if unexplained(err) {
		return t.unexplained
	}
	return err
}

// unexplained reports whether a server refused a request as malformed, and nobody
// knows why.
func unexplained(err error) bool {
	var me *ModelError
	return errors.As(err, &me) && me.Kind == ErrorInvalid && me.Cause == ""
}

// noteLength learns that the model's server answered req.
func (a *Agent) noteLength(name string, req *Request) {
	size := bytesOf(req)
	if longest, _ := a.longest.get(name); size > longest {
		a.longest.set(name, size)
	}
}

func bytesOf(req *Request) int { return window.UpperBound(req.Messages) + len(req.System) }
