package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

const (
	// askLook is how often Ask looks for the answer although it heard nothing: a
	// question may also end without a turn (the operator dropped it, its conversation was
	// deleted), and the node whose turn ended may have died before it told the others.
	askLook = 5 * time.Second
	// askFeed is how many of the newest items of a conversation are searched
	// for the answer, which alone may have maxParts.
	askFeed = 2 * maxParts
	// askFew is how many of them, and of the transcript's messages, are looked at first:
	// mostly the question is the newest but for its answer, and a look costs as much as it
	// reads.
	askFew = 4
	// askTries and askPause are how often the transcript of an answered question is read.
	askTries = 4
	askPause = 20 * time.Millisecond
)

// ErrUnanswered: the question was accepted, and ended without an answer.
var ErrUnanswered = errors.New("the question was stopped before it was answered")

// RefusedError says in a sentence why a question was not accepted, or what the
// chat was told instead of an answer.
type RefusedError struct {
	Why string
	// Later says that the same question may be accepted in a while, and After in how long;
	// 0: unknown.
	Later bool
	After time.Duration
	// Spent says that a budget is used up until then.
	Spent bool
	// Told says that the turn failed, and that the chat was told so.
	Told bool
}

func (e *RefusedError) Error() string { return e.Why }

// Question is a question of somebody in a conversation.
type Question struct {
	Key      channels.Key
	ID, Text string
	// Sender is who asks; zero: whoever runs Dragoman. Others ask as if they wrote in the
	// conversation: only where they may talk, and within their rate.
	Sender channels.Person
	// Via is through what it came; "": the API.
	Via channels.Via
	// Attachments are files that came with it, and Instructions is that of
	// [channels.Inbound].
	Attachments  []channels.Attachment
	Instructions string
	// Model is the model that answers, one of Options.Models; "": the conversation's. A
	// message that joins a running turn does not change the model of that.
	Model string
	// Replaces, if not 0, is the seq in the transcript of an earlier message of the sender,
	// whose place this one takes: see [sessions.Entry]. Own are further ids of the sender.
	Replaces int64
	Own      []string
	// Show, if not nil, gets the progress of the turn that answers, if it runs on this
	// node. It must not block.
	Show func(agent.Progress)
	// Leave: whoever asks does not wait while the turn is parked. Converse returns then what the
	// chat was told of it. A message with the same id waits for the answer again.
	Leave bool
	// Owner: only whoever runs Dragoman reads the answer. Without an answer they are
	// also told how to fix it.
	Owner bool
}

// Answered is the answer to a [Question].
type Answered struct {
	// Text is what the chat receives, one line after another if that is several messages.
	Text string
	// Turn is the id of the turn that answered, and Usage what it used.
	Turn  string
	Usage sessions.Usage
	// Parked: there is no answer yet, because a turn waits for somebody, or for a time. Text
	// is what the chat was told of that. See [Question.Leave].
	Parked bool
}

// Ask is [Gateway.Converse] for those who want the text alone.
func (g *Gateway) Ask(ctx context.Context, q Question) (string, error) {
	answer, err := g.Converse(ctx, q)
	return answer.Text, err
}

// Converse puts q into its conversation and waits for the answer, which is also delivered
// there. A question with the id of an earlier one is not asked again: Converse waits for
// the earlier one's answer, also after a restart. When ctx ends first, the question is
// answered all the same. Errors: [*RefusedError], [ErrUnanswered], sessions.ErrFull,
// ctx's.
//
// A turn of this process hands over its answer. Any other answer is read from the store.
func (g *Gateway) Converse(ctx context.Context, q Question) (Answered, error) {
	m, former, err := g.asked(ctx, q)
	if err != nil {
		return Answered{}, err
	}
	w, end := g.chats.watch(m.Key, m.ID, q.Show)
	defer end()
	got, err := g.put(ctx, &q, m, former, "")
	if err != nil {
		return Answered{}, err
	}
	look := got.Outcome != sessions.Queued // else there is no answer to see yet
	for {
		if look {
			answer, over, err := g.answerTo(ctx, m, got.Seq, q.Owner)
			if !over && err == nil && q.Leave {
				answer, err = g.parkedAt(ctx, m.Key, got.Seq)
				over = answer.Parked
			}
			if over || err != nil {
				return answer, err
			}
		}
		look = true
		ended, err := w.wait(ctx)
		if err != nil {
			return Answered{}, err
		}
		if ended != nil {
			return g.answerOf(m.Key, ended, q.Owner)
		}
	}
}

// isShared reports whether k is a group or a room, as far as its channel can tell.
func (g *Gateway) isShared(k channels.Key) bool {
	s, can := channelAs[channels.Sharer](g, k)
	return can && s.Shared(k.Chat())
}

// mayAsk refuses a question of somebody who may not write it as a message.
func (g *Gateway) mayAsk(ctx context.Context, m channels.Inbound) error {
	verdict, err := g.opts.Gate.MayTalk(ctx, m)
	switch {
	case err != nil:
		return err
	case verdict != people.Welcome:
		return &RefusedError{Why: "you may not talk on " + m.Key.Channel()}
	case !g.withinRate(ctx, m):
		return &RefusedError{Why: fmt.Sprintf("that is more than %d messages in a minute; wait a little", g.opts.RatePerMinute), Later: true}
	}
	return nil
}

// answerTo looks for the answer to m, which has that number. over: there is one, or none
// will come.
func (g *Gateway) answerTo(ctx context.Context, m channels.Inbound, question int64, owner bool) (answer Answered, over bool, err error) {
	k := m.Key
	items, i, err := g.feedFrom(ctx, k, question)
	if err != nil {
		return answer, false, fmt.Errorf("gateway: look for a question in %s: %w", k, err)
	}
	if i >= 0 && items[i].Waiting {
		return answer, false, nil
	}
	msgs, asked, err := g.transcriptFrom(ctx, m, items, i)
	if err != nil {
		return answer, false, fmt.Errorf("gateway: look for an answer in %s: %w", k, err)
	}
	if asked < 0 {
		return answer, true, &RefusedError{Why: "it was asked long ago; to read the answer: dragoman sessions show " + k.String()}
	}
	answer, err = g.answerOf(k, &endedTurn{id: msgs[asked].Turn, messages: msgs[asked:], sent: items[i:]}, owner)
	return answer, true, err
}

// answerOf is the answer of a turn in k. Errors: [ErrUnanswered], [*RefusedError].
func (g *Gateway) answerOf(k channels.Key, e *endedTurn, owner bool) (answer Answered, err error) {
	answer.Turn = e.id
	said, last := answer.read(e.messages)
	if last.Role == "" || len(last.ToolCalls) > 0 {
		return answer, ErrUnanswered
	}
	answer.Text = g.sentAnswer(k, e)
	if answer.Text == "" {
		answer.Text = strings.Join(said, "\n\n")
	}
	answer.Text = strings.ToValidUTF8(answer.Text, "\uFFFD") // as the store keeps it
	if !last.Synthetic {
		return answer, nil
	}
	if cure := g.chats.cureOf(k, answer.Turn); owner && cure != "" {
		answer.Text += "\n\n" + cure
	}
	no := &RefusedError{Why: answer.Text, Told: true}
	if again := g.chats.spentUntil(k, answer.Turn); !again.IsZero() {
		no.Later, no.Spent = true, true
		no.After = again.Sub(g.opts.Now())
	}
	return Answered{}, no
}

// transcriptFrom returns what was said in the conversation of m, whose item is items[i], and
// where m is in it; -1 if it is not there any more. A store may show that a message is
// answered a moment before its transcript has it, so it looks more than once.
func (g *Gateway) transcriptFrom(ctx context.Context, m channels.Inbound, items []sessions.FeedItem, i int) (msgs []sessions.Message, asked int, err error) {
	if i < 0 {
		return nil, -1, nil
	}
	// A turn appends the messages that it answers, and then its answer.
	isAsked := func(one sessions.Message) bool {
		return one.Role == sessions.RoleUser && one.Sender == m.Sender.ID() && one.At.Equal(items[i].At)
	}
	for range askTries {
		h, err := g.store.History(ctx, m.Key, sessions.HistoryLimit{Messages: askFew})
		if err == nil && h.Omitted > 0 && !slices.ContainsFunc(h.Messages, isAsked) {
			h, err = g.store.History(ctx, m.Key, sessions.HistoryLimit{})
		}
		if err != nil {
			return nil, -1, err
		}
		asked := slices.IndexFunc(h.Messages, isAsked)
		if asked >= 0 {
			return h.Messages, asked, nil
		}
		select {
		case <-time.After(askPause):
		case <-ctx.Done():
			return nil, -1, ctx.Err()
		}
	}
	return nil, -1, nil
}

// feedFrom returns the newest items of k, and where among them the question of that number
// is; -1 if it is older.
func (g *Gateway) feedFrom(ctx context.Context, k channels.Key, question int64) (items []sessions.FeedItem, i int, err error) {
	for _, most := range []int{askFew, askFeed} {
		items, err = g.store.Feed(ctx, k, 0, most)
		if err != nil {
			return nil, -1, err
		}
		i = slices.IndexFunc(items, func(it sessions.FeedItem) bool { return it.From == "person" && it.Seq == question })
		if i >= 0 || len(items) < most {
			break
		}
	}
	return items, i, nil
}

// read returns what the turn said, and its last message, and sums up what it used.
func (a *Answered) read(msgs []sessions.Message) (said []string, last sessions.Message) {
	for _, m := range msgs {
		if a.Turn == "" || m.Turn != a.Turn || m.Role != sessions.RoleAssistant {
			continue
		}
		last = m
		if m.Content != "" {
			said = append(said, m.Content)
		}
		if m.Usage != nil {
			a.Usage.Add(*m.Usage)
		}
	}
	return said, last
}

// answersAsk reports whether the operator asked by [Gateway.Ask], which can return
// the cure of a failed model beside the answer.
func (r *run) answersAsk() bool {
	return slices.ContainsFunc(r.rows, func(w sessions.InboxRecord) bool { return w.Inbound.Sender.ID() == people.OperatorID })
}

// sentAnswer is the answer of e as it was sent to k, or "" if not all of it is there.
func (g *Gateway) sentAnswer(k channels.Key, e *endedTurn) string {
	var parts []string
	all := 0
	for i := range e.sent {
		it := &e.sent[i]
		answers := it.Kind == channels.KindAnswer || it.Kind == channels.KindApology
		switch {
		case it.Turn != e.id || !answers:
		case it.File != "" && it.Kept == "":
			return it.Text
		default:
			all = it.Parts
			parts = append(parts, g.plain(k, it.Text, it.Form))
		}
	}
	if len(parts) != all {
		return ""
	}
	return strings.Join(parts, "\n")
}

// cure is the advice for whoever runs Dragoman about a turn that failed to answer their
// question in somebody else's chat.
type cure struct{ turn, text string }

// keepCure notes what would cure a failed turn of k.
func (s *chats) keepCure(k channels.Key, turn, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(k).cure = cure{turn, text}
}

// cureOf is what would cure turn of k, "" if that is not known.
func (s *chats) cureOf(k channels.Key, turn string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c == nil || c.cure.turn != turn {
		return ""
	}
	return c.cure.text
}

// spent is a turn that a used up budget ended, and when it begins anew.
type spent struct {
	turn  string
	again time.Time
}

// keepSpent notes that a budget ended a turn of k.
func (s *chats) keepSpent(k channels.Key, turn string, again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(k).spent = spent{turn, again}
}

// spentUntil is when the budget that ended turn of k begins anew, zero if none did or that
// is not known any more.
func (s *chats) spentUntil(k channels.Key, turn string) (again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c != nil && c.spent.turn == turn {
		again = c.spent.again
	}
	return again
}
