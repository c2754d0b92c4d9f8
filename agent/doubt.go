package agent

import (
	"context"
	"errors"
	"fmt"

	"dragoman/agent/window"
)

// Servers have more ways to say that a request is too long than anybody knows:
// some refuse it in words that nobody has read yet, and some answer nothing at
// all. So a request that may well be too long is made once more in its turn,
// with less. If that passes, its length is learned like any other.

// ErrPerhapsTooLong is among the causes of a turn that failed because the
// server refused a request for a reason that we do not understand, if the
// request was so long that this may have been the reason.
var ErrPerhapsTooLong = errors.New("agent: the request may be too long for the model, although the server does not say so")

// muchLess is how many tenths of a request that may have been too long the
// next one has at most, if there is so much to leave out.
const muchLess = 6

// hollow reports whether resp says nothing and calls nothing for no reason that
// we know.
func (r *run) hollow(resp *Response) bool {
	m := &resp.Message
	limited := resp.Finish == finishLength && r.a.opts.MaxTokens > 0
	return len(m.ToolCalls) == 0 && !limited && !resp.Refused && resp.Finish != "content_filter" && m.Content == ""
}

// doubts reports whether req may have been too long, which was refused with
// err for an unknown reason, or to which resp was an empty answer. It does so
// once in a turn. Models say nothing for other reasons too, so that less than
// half of the window is doubted only where the answer ended for its length.
func (r *run) doubts(req *Request, resp *Response, err error) bool {
	if r.doubted || err != nil && !unclear(err) {
		return false
	}
	name := r.model.Name()
	size := r.fixed + r.a.messageTokens(req.Messages)
	least := r.a.room(name, r.a.windowOf(name)/2)
	if err != nil {
		return r.a.outgrown(answering(name), r.a.opts.windowOf(name), size, least)
	}
	longest := r.a.lengths.longest(answering(name), r.a.now())
	if longest > 0 && resp.Finish == "length" {
		least = r.a.room(name, r.a.opts.windowOf(name)/leastWindow)
	}
	return size > max(longest, least)
}

// outgrown reports whether a request of size tokens to m, which takes so many
// as it is configured, may have been refused for its length: it is longer than
// what passed lately, or, if nothing did, than untried. What is short is refused
// for something else, whatever passed before.
func (a *Agent) outgrown(m served, window, size, untried int) bool {
	longest := a.lengths.longest(m, a.now())
	if longest == 0 {
		return size > untried
	}
	// What passed is known by the usage that was reported, as far as we have
	// learned to convert that: up to a sixth more than we count.
	return size > max(longest*5/6, a.room(m.model, window/leastWindow))
}

// unclear reports whether a server refused a request for a reason that we do
// not understand.
func unclear(err error) bool {
	var me *ModelError
	return errors.As(err, &me) && me.Kind == ErrorInvalid && !me.Clear
}

// tooLong reports whether the summariser refused req for its length, or, once in
// a summary, whether that may be.
func (s *summarising) tooLong(req Request, err error) bool {
	if tooLong(err) {
		return true
	}
	a, m, size := s.a, s.a.summarizing(), s.size(req)
	// The first one to a server is long already, so that half of the window
	// would say nothing.
	untried := a.room(m.model, a.opts.SummarizerWindow/leastWindow)
	if s.doubted || !unclear(err) || !a.outgrown(m, a.opts.SummarizerWindow, size, untried) {
		return false
	}
	s.doubted, s.doubtedLength = true, size
	return true
}

// tryLess makes the next request much smaller than req, by the means of
// [run.rescue], all at once: a second try there is not. What a summary can
// stand for is not left out. It returns false if there is nothing to take away.
func (r *run) tryLess(ctx context.Context, req Request, tried *rescue, final bool) (bool, error) {
	r.doubted, tried.pruned = true, true
	size := r.a.messageTokens(req.Messages)
	tried.doubted = r.fixed + size
	r.a.forced.add(r.t)
	next, _, err := r.request(final)
	if err == nil && r.a.messageTokens(next.Messages) > size*muchLess/10 {
		r.most = max(size*muchLess/10, 1)
		if !r.compacted {
			tried.compacted = true
			if err := r.compact(ctx, r.keepAfter(tried.doubted)); err != nil {
				return false, err
			}
		}
		next, _, err = r.request(final)
	}
	if err != nil || r.a.messageTokens(next.Messages) >= size {
		return false, err
	}
	r.a.log.Warn("the request may be too long for the model, trying with less", "key", r.t.Key.String())
	return true, nil
}

// told is err, with a word about what it may mean.
func (t *rescue) told(err error) error {
	if t.doubted > 0 && unclear(err) {
		return fmt.Errorf("%w: %w", ErrPerhapsTooLong, err)
	}
	return err
}

// passed learns from a request that was answered, and from the longer ones
// that were not.
func (r *run) passed(tried *rescue, req *Request, resp *Response) {
	a, m := r.a, answering(r.model.Name())
	if tried.refused == 0 {
		tried.refused = tried.doubted // so that was the reason
	}
	size := a.learn(r.model, *req, resp.Usage)
	if tried.refused > 0 || a.lengths.of(m, a.now()) > 0 { // else a guess is enough
		size = r.fixed + a.messageTokens(req.Messages)
		tried.passed = size
	}
	switch {
	case size > 0:
	case resp.Usage != nil && resp.Usage.Input > 0:
		size = a.room(m.model, resp.Usage.Input)
	case a.opts.Count == nil:
		size = r.fixed + window.Estimate(req.Messages)
	}
	a.lengths.pass(m, size, a.now())
}
