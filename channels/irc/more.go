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
// shown: instead of that piece only a hint is said. [row.markdown] never
// writes it.
const restMark = "<!-- more -->\n"

// moreTime bounds how long one line of a rest may wait to be said.
const moreTime = time.Minute

// hint says that there is more, and how to see it.
func hint(rest string) string {
	return fmt.Sprintf("%d more lines (more: !more)", len(parse(rest)))
}

// rests are the ends of answers that rooms have not asked for yet: the newest
// for each person, and for mostRests people of a room. They are in memory; after
// a restart "!more" is a question like others, and the model, which knows its
// answer, goes on by itself.
type rests struct {
	mu     sync.Mutex
	byChat map[string][]*rest                      // the newest is the last
	stop   map[string]map[*rest]context.CancelFunc // what is being said
}

// rest is the end of an answer to who.
type rest struct{ who, text string }

const mostRests = 10

func (r *rests) keep(chat string, left *rest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byChat == nil {
		r.byChat, r.stop = map[string][]*rest{}, map[string]map[*rest]context.CancelFunc{}
	}
	all := slices.DeleteFunc(r.byChat[chat], func(old *rest) bool { return old.who == left.who })
	r.byChat[chat] = append(all[max(0, len(all)+1-mostRests):], left)
}

// drop forgets what chat could ask for, and ends what is being said of it. It
// reports whether anything was.
func (r *rests) drop(chat string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byChat, chat)
	for _, stop := range r.stop[chat] {
		stop()
	}
	return len(r.stop[chat]) > 0
}

// Stop implements [channels.Stopper].
func (c *Channel) Stop(k channels.Key) bool { return c.rests.drop(k.Chat()) }

// take returns what is left for who in chat, or else for whoever was answered
// last. The caller says it within the returned context and then calls done with
// what it could not say.
func (r *rests) take(chat, who string) (text string, ctx context.Context, done func(left string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.byChat[chat]
	for saying := range r.stop[chat] {
		if saying.who == who {
			return "", nil, nil // They see it already.
		}
	}
	if len(all) == 0 {
		return "", nil, nil
	}
	i := slices.IndexFunc(all, func(a *rest) bool { return a.who == who })
	if i < 0 {
		i = len(all) - 1
	}
	taken := all[i]
	r.byChat[chat] = slices.Delete(all, i, i+1)
	ctx, cancel := context.WithCancel(context.Background())
	if r.stop[chat] == nil {
		r.stop[chat] = map[*rest]context.CancelFunc{}
	}
	r.stop[chat][taken] = cancel
	return taken.text, ctx, func(left string) {
		r.mu.Lock()
		stopped := ctx.Err() != nil
		cancel()
		delete(r.stop[chat], taken)
		newer := slices.ContainsFunc(r.byChat[chat], func(a *rest) bool { return a.who == taken.who })
		r.mu.Unlock()
		if left != "" && !stopped && !newer {
			r.keep(chat, &rest{taken.who, left})
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
	rows := parse(rest)
	now, left := rows, ""
	if most := s.ch.opts.MaxLines; len(rows) > most+fewLines {
		now, left = rows[:most], markdownOf(rows[most:])
	}
	for i := 0; i < len(now) && err == nil; {
		n := min(max(1, s.ch.limits().lines), len(now)-i)
		if err = s.sayNow(ctx, channels.Outbound{Key: k, Text: markdownOf(now[i : i+n]), ReplyTo: handle, GoesOn: i > 0}); err != nil {
			left = markdownOf(rows[i:])
		}
		i += n
	}
	stopped := ctx.Err() != nil
	done(left)
	if err == nil && left != "" && !stopped {
		err = s.sayNow(context.Background(), channels.Outbound{Key: k, Text: hint(left), ReplyTo: handle, GoesOn: true})
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

func markdownOf(rows []row) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.markdown())
	}
	return strings.Join(out, "\n")
}
