package irc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
)

// sendMoreTimeout bounds how long sending one line may take.
const sendMoreTimeout = time.Minute

// hint stands in place of a FormRest, the lines of a long answer that a channel has not
// seen. It says that there are more, and how to see them.
func hint(rest string) string {
	return fmt.Sprintf("%d more lines (more: !more)", 1+strings.Count(rest, "\n"))
}

// remainders are the ends of answers that channels have not seen yet: the newest
// for each person, and for at most maxRemainders people of a channel. They live in
// memory. After a restart "!more" is an ordinary question, and the model, which
// knows its answer, continues it.
type remainders struct {
	mu     sync.Mutex
	byChat map[string][]*remainder // the newest is the last
}

// remainder is the unseen end of an answer to who.
type remainder struct {
	who, text string
	stop      context.CancelFunc // stops sending it; nil: it is not being sent
}

const maxRemainders = 10

func (r *remainders) keep(chat string, left *remainder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putLocked(chat, left)
}

// putLocked is keep for callers that hold the lock.
func (r *remainders) putLocked(chat string, left *remainder) {
	all := slices.DeleteFunc(r.byChat[chat], func(old *remainder) bool { return old.who == left.who && old.stop == nil })
	r.byChat[chat] = append(all[max(0, len(all)+1-maxRemainders):], left)
}

// drop forgets the remainders of chat and stops sending them. It reports whether
// any was being sent.
func (r *remainders) drop(chat string) (sending bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range r.byChat[chat] {
		if each.stop != nil {
			each.stop()
			sending = true
		}
	}
	delete(r.byChat, chat)
	return sending
}

// Stop implements [channels.Stopper].
func (c *Channel) Stop(k channels.Key) bool { return c.remainders.drop(k.Chat()) }

// take returns the remainder for who in chat, or else the newest one. The caller
// sends it within the returned context and then calls done with the part it has
// not sent. done is nil if there is nothing to send.
func (r *remainders) take(chat, who string) (text string, ctx context.Context, done func(left string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken *remainder
	for _, each := range r.byChat[chat] {
		switch {
		case each.stop != nil && each.who == who:
			return "", nil, nil // It is being sent.
		case each.stop == nil && (taken == nil || taken.who != who):
			taken = each
		}
	}
	if taken == nil {
		return "", nil, nil
	}
	ctx, taken.stop = context.WithCancel(context.Background())
	return taken.text, ctx, func(left string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		stopped := ctx.Err() != nil
		taken.stop()
		r.byChat[chat] = slices.DeleteFunc(r.byChat[chat], func(each *remainder) bool { return each == taken })
		newer := slices.ContainsFunc(r.byChat[chat], func(each *remainder) bool { return each.who == taken.who })
		if left != "" && !stopped && !newer {
			r.putLocked(chat, &remainder{who: taken.who, text: left})
		}
	}
}

// startMore starts sending chat the next unseen lines, in reply to the message
// with that handle. It reports false if there are none.
func (s *session) startMore(chat, handle string) bool {
	rest, ctx, done := s.ch.remainders.take(chat, s.ch.Asker(handle))
	if done == nil {
		return false
	}
	s.wg.Go(func() { s.sendMore(ctx, chat, handle, rest, done) })
	return true
}

// sendMore sends as many lines of rest as a channel sees at once. It calls done
// before it sends the hint, because a reader of the hint may ask for more at once.
func (s *session) sendMore(ctx context.Context, chat, handle, rest string, done func(left string)) {
	k, err := channels.NewKey(s.ch.name, chat)
	if err != nil {
		done("")
		return
	}
	left := strings.Split(rest, "\n")
	most := len(left)
	if most > s.ch.opts.MaxLines+graceLines {
		most = s.ch.opts.MaxLines
	}
	for sent := 0; sent < most && err == nil; {
		n := min(max(1, s.ch.limits().lines), most-sent)
		text := strings.Join(left[:n], "\n")
		err = s.sendNow(ctx, channels.Outbound{Key: k, Text: text, Form: channels.FormNative, ReplyTo: handle, GoesOn: sent > 0})
		if err == nil {
			sent, left = sent+n, left[n:]
		}
	}
	stopped := ctx.Err() != nil
	unseen := strings.Join(left, "\n")
	done(unseen)
	if err == nil && unseen != "" && !stopped {
		err = s.sendNow(context.Background(), channels.Outbound{Key: k, Text: hint(unseen), ReplyTo: handle, GoesOn: true})
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("could not send the rest of an answer", "key", k.String(), "err", err)
	}
}

// sendNow sends m without going through the gateway's outbox.
func (s *session) sendNow(ctx context.Context, m channels.Outbound) error {
	ctx, cancel := context.WithTimeout(ctx, sendMoreTimeout)
	defer cancel()
	_, err := s.ch.Send(ctx, m)
	return err
}
