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

// restMark begins the last piece of an answer that is longer than a room is
// shown: the pieces that it has not seen, one a line. Instead of them only a hint
// is said.
const restMark = "<!-- more -->\n"

// moreTime bounds how long one line of a rest may wait to be said.
const moreTime = time.Minute

// hint says that there is more, and how to see it.
func hint(rest string) string {
	return fmt.Sprintf("%d more lines (more: !more)", 1+strings.Count(rest, "\n"))
}

// rests are the ends of answers that rooms have not asked for yet: the newest
// for each person, and for mostRests people of a room. They are in memory; after
// a restart "!more" is a question like others, and the model, which knows its
// answer, goes on by itself.
type rests struct {
	mu     sync.Mutex
	byChat map[string][]*rest // the newest is the last
}

// rest is the end of an answer to who.
type rest struct {
	who, text string
	stop      context.CancelFunc // ends the saying of it; nil: nobody has asked for it
}

const mostRests = 10

func (r *rests) keep(chat string, left *rest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(chat, left)
}

// put is keep for who holds the lock.
func (r *rests) put(chat string, left *rest) {
	if r.byChat == nil {
		r.byChat = map[string][]*rest{}
	}
	all := slices.DeleteFunc(r.byChat[chat], func(old *rest) bool { return old.who == left.who && old.stop == nil })
	r.byChat[chat] = append(all[max(0, len(all)+1-mostRests):], left)
}

// drop forgets what chat could ask for, and ends what is being said of it. It
// reports whether anything was.
func (r *rests) drop(chat string) (saying bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range r.byChat[chat] {
		if each.stop != nil {
			each.stop()
			saying = true
		}
	}
	delete(r.byChat, chat)
	return saying
}

// Stop implements [channels.Stopper].
func (c *Channel) Stop(k channels.Key) bool { return c.rests.drop(k.Chat()) }

// take returns what is left for who in chat, or else for whoever was answered
// last. The caller says it within the returned context and then calls done with
// what it could not say.
func (r *rests) take(chat, who string) (text string, ctx context.Context, done func(left string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken *rest
	for _, each := range r.byChat[chat] {
		switch {
		case each.stop != nil && each.who == who:
			return "", nil, nil // They see it already.
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
		r.byChat[chat] = slices.DeleteFunc(r.byChat[chat], func(each *rest) bool { return each == taken })
		newer := slices.ContainsFunc(r.byChat[chat], func(each *rest) bool { return each.who == taken.who })
		if left != "" && !stopped && !newer {
			r.put(chat, &rest{who: taken.who, text: left})
		}
	}
}

// more says the next lines of what chat has not seen, because the message with
// that handle asks for them. It reports false if there is nothing.
func (s *session) more(chat, handle string) bool {
	rest, ctx, done := s.ch.rests.take(chat, s.ch.Asker(handle))
	if done == nil {
		return false
	}
	s.wg.Go(func() { s.sayMore(ctx, chat, handle, rest, done) })
	return true
}

// sayMore says as many lines of rest as a room is shown at once, and calls done
// with what is left before it says that there is more: who reads that may ask for
// it at once.
func (s *session) sayMore(ctx context.Context, chat, handle, rest string, done func(left string)) {
	k, err := channels.NewKey(s.ch.name, chat)
	if err != nil {
		done("")
		return
	}
	left := strings.Split(rest, "\n")
	most := len(left)
	if most > s.ch.opts.MaxLines+fewLines {
		most = s.ch.opts.MaxLines
	}
	for said := 0; said < most && err == nil; {
		n := min(max(1, s.ch.limits().lines), most-said)
		text := strings.ReplaceAll(strings.Join(left[:n], "\n"), "\n"+rendered, "\n")
		if err = s.sayNow(ctx, channels.Outbound{Key: k, Text: text, ReplyTo: handle, GoesOn: said > 0}); err == nil {
			said, left = said+n, left[n:]
		}
	}
	stopped := ctx.Err() != nil
	unseen := strings.Join(left, "\n")
	done(unseen)
	if err == nil && unseen != "" && !stopped {
		err = s.sayNow(context.Background(), channels.Outbound{Key: k, Text: hint(unseen), ReplyTo: handle, GoesOn: true})
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("could not send the rest of an answer", "key", k.String(), "err", err)
	}
}

// sayNow sends m beside what the gateway sends.
func (s *session) sayNow(ctx context.Context, m channels.Outbound) error {
	ctx, cancel := context.WithTimeout(ctx, moreTime)
	defer cancel()
	_, err := s.ch.Send(ctx, m)
	return err
}
