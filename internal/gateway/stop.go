package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// The answers to /stop while no turn runs.
const (
	// sayGivenUp: a message waits because the model does not answer.
	sayGivenUp = "Stopped. Your message was waiting, because the model is not answering yet. I will not answer it now; ask again whenever you like."
	// sayNotAsked: a message waits for its turn to begin.
	sayNotAsked = "Stopped. Your message was still waiting. I will not answer it now; ask again whenever you like."
	// sayKept: a turn is parked.
	sayKept = "Stopped. Your message was kept for later. I will not answer it now; ask again whenever you like."
	// sayNothing: no message waits.
	sayNothing = "Nothing is running now."
)

// looks is how often control looks what waits, if that changes before it is done.
const looks = 4

// control ends the running turn with /stop or /new and keeps its text so far.
//
// /stop also ends the answer that is being delivered. Messages that wait after the
// running turn are answered next; only if no turn runs, /stop closes them and says so.
// /new closes all waiting messages and begins a new generation.
//
// What it says of the waiting messages is so when it is stored: if a turn answers one of
// them meanwhile, or another comes, it looks again. In a chat where that goes on and on,
// the last look has to do.
//
// /stop also ends the commands in the background.
func (g *Gateway) control(ctx context.Context, m channels.Inbound, c sessions.Control, stoppedDelivery bool) (err error) {
	ended := ""
	if c == sessions.ControlStop {
		said, only := g.stopRunning(ctx, m)
		if only {
			return g.answerCommand(ctx, sessions.Entry{Inbound: m}, said)
		}
		ended = said
	}
	for look := range looks {
		err = g.controlNow(ctx, m, c, stoppedDelivery, look == looks-1, ended)
		if !errors.Is(err, sessions.ErrConflict) {
			return err
		}
	}
	return err
}

// controlNow is one look of control, whatever waits when it is stored if it is the last. ended
// says which commands were ended.
func (g *Gateway) controlNow(ctx context.Context, m channels.Inbound, c sessions.Control, stoppedDelivery, last bool, ended string) error {
	e := sessions.Entry{Inbound: m, Answered: true, Control: c}
	defer g.chats.turn(m.Key).hold(ctx)()
	var turn, partial, preview string
	var seqs []int64
	whose, spared := "", false
	if c == sessions.ControlStop {
		whose, spared = g.stops(m)
	}
	if !spared {
		turn, partial, preview, seqs = g.chats.partial(ctx, m.Key)
	}
	text := "Stopped."
	switch {
	case len(seqs) > 0:
	case c == sessions.ControlStop && g.chats.partlySent(m.Key, whose):
		e.Control = sessions.ControlNone // it ends the delivery; the waiting messages are answered next
	default:
		waits, err := g.sayWaits(ctx, m.Key)
		if err != nil {
			return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
		}
		text = waits
		if (stoppedDelivery || ended != "") && waits == sayNothing {
			text = "Stopped."
		}
		if c == sessions.ControlStop && waits != sayNothing {
			dropped, waiting, own, err := g.unanswered(ctx, m, nil)
			if err != nil {
				return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
			}
			e.Waiting = waiting
			if !own { // the sentence speaks of one message, which its author knows
				text = strings.TrimSpace(text + " " + dropped)
			}
		}
	}
	if c == sessions.ControlStop && len(seqs) > 0 {
		e.Ends = seqs
		e.Waiting = seqs
	}
	if strings.TrimSpace(partial) != "" {
		partial = closeMarkup(partial)
		stopped := sessions.StoppedAnswer(partial)
		stopped.At = g.opts.Now()
		e.Append = []sessions.Message{stopped}
		text = partial + sayStopped
	}
	if ended != "" {
		text += "\n\n" + ended
	}
	if c == sessions.ControlStop || strings.TrimSpace(partial) != "" {
		e.Replies = g.stoppedReplies(stoppedLabel(turn, e.Append != nil), m, partial, text)
		e.Replies[0].Edit = preview
	}
	if c == sessions.ControlNew { // a message apart from the edited preview: networks do not notify about edits
		shown := seqs // the person has what there is of their answer
		if e.Append == nil {
			shown = nil
		}
		dropped, waiting, _, err := g.unanswered(ctx, m, shown)
		if err != nil {
			return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
		}
		e.Waiting = waiting
		say := strings.TrimSpace("A new conversation begins. The old one is kept. " + dropped)
		e.Replies = append(e.Replies, g.split(sessions.Label{Kind: channels.KindCommand}, m.Key, say, m)...)
	}
	got, err := g.acceptControl(ctx, e, last)
	if err != nil {
		return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
	}
	if got.Outcome == sessions.Done {
		g.overtakeLines(m.Key, c, whose, got.Seq, len(e.Replies))
		g.takeBack(ctx, e, preview)
	}
	g.controlled(ctx, m.Key, got.Outcome)
	return nil
}

// acceptControl stores the command e, and what the turn used that it ends.
func (g *Gateway) acceptControl(ctx context.Context, e sessions.Entry, last bool) (sessions.Acceptance, error) {
	if last { // perhaps that turn has just ended, and counted this itself
		e.Waiting = nil
		return g.store.Accept(ctx, e)
	}
	if e.Control != sessions.ControlNone {
		counts, err := g.stoppedCounts(ctx, e)
		if err != nil {
			return sessions.Acceptance{}, err
		}
		e.Counts = counts
	}
	return g.store.Accept(ctx, e)
}

// takeBack removes the preview with this id, if there is one that no reply of the command e
// edits: that of an answer without words, after a /new.
func (g *Gateway) takeBack(ctx context.Context, e sessions.Entry, preview string) {
	k := e.Inbound.Key
	from, able := channelAs[channels.Retractor](g, k)
	if preview == "" || e.Replies[0].Edit == preview || !able {
		return
	}
	if err := retract(ctx, from, k, preview); err != nil {
		g.log(k).Warn("could not remove the preview of an unfinished answer", "err", err)
	}
}

// overtakeLines lets the n replies to a /stop or /new, which was stored as seq, go before
// the rest of long answers. A /stop cancels that rest, if it is of an answer to whose.
func (g *Gateway) overtakeLines(k channels.Key, c sessions.Control, whose string, seq int64, n int) {
	long := g.chats.partlySent(k, whose)
	if c == sessions.ControlStop {
		g.chats.cancelRest(k, whose, seq)
	}
	if long || g.interleaver(k) != nil {
		g.chats.expedite(k, seq, n)
	}
}

// controlled lets everybody know of a command that is stored.
func (g *Gateway) controlled(ctx context.Context, k channels.Key, outcome sessions.Outcome) {
	g.settled(ctx, k, false)
	err := g.closeQuestions(ctx, k)
	if err != nil && ctx.Err() == nil {
		g.log(k).Error("questions of an ended turn stay open until they are late", "err", err)
	}
	g.chats.welcome(k)
	g.chats.goesOn(k)
	g.countCommand(k, outcome)
	g.chats.kick(k)
}

// sayStopped is at the end of what a stopped answer had.
const sayStopped = "\n\n*(stopped)*"

const (
	// stoppedParts are as many messages as a stopped answer may take.
	stoppedParts = 2
	// stoppedBytes are shown of a longer one.
	stoppedBytes = 3000
)

// stoppedReplies are the replies with text, which is the answer so far, partial, or a
// sentence. Whoever stopped a long answer does not want it in many messages: they get its
// beginning, and all of it as a file where the network has files.
func (g *Gateway) stoppedReplies(l sessions.Label, m channels.Inbound, partial, text string) []sessions.Reply {
	replies := g.split(l, m.Key, text, m)
	_, files := channelAs[channels.Filer](g, m.Key)
	if len(replies) <= stoppedParts || !files || partial == "" {
		return replies
	}
	beginning := clipText(partial, stoppedBytes)
	short := g.split(l, m.Key, closeMarkup(beginning)+sayStopped, m)
	whole := replies[0]
	whole.Text = text
	whole.File = fileName
	whole.Form = channels.FormMarkdown
	return labelled(append(short, whole))
}

// labelled numbers the replies of one answer anew.
func labelled(replies []sessions.Reply) []sessions.Reply {
	for i := range replies {
		replies[i].Part = i + 1
		replies[i].Parts = len(replies)
	}
	return replies
}

// stoppedLabel is that of the reply to a /stop of turn, which may have written something.
func stoppedLabel(turn string, wrote bool) sessions.Label {
	if wrote {
		return sessions.Label{Kind: channels.KindAnswer, Turn: turn}
	}
	return sessions.Label{Kind: channels.KindCommand, Turn: turn}
}

// stops returns whose answers the /stop m ends, "" for everybody's, and whether
// the running turn goes on. Where answers take turns, people stop their own;
// those who wait for no answer stop everything.
func (g *Gateway) stops(m channels.Inbound) (whose string, sparesTurn bool) {
	who := g.asker(m.Key, m.MessageID)
	t := g.chats.turn(m.Key)
	switch {
	case who == "", t != nil && t.asker == who:
		return who, false
	case g.chats.partlySent(m.Key, who):
		return who, t != nil
	}
	return "", false
}

// sayWaits answers a /stop when no turn runs, depending on what waits in k.
func (g *Gateway) sayWaits(ctx context.Context, k channels.Key) (string, error) {
	items, err := g.store.QueueOf(ctx, k)
	text := sayNothing
	for _, it := range items {
		switch {
		case it.Lane != sessions.LaneIn:
		case it.State == sessions.QueuePostponed:
			return sayGivenUp, err
		case it.State == sessions.QueueParked:
			return sayKept, err
		case it.State == sessions.QueueWaiting:
			text = sayNotAsked
		}
	}
	return text, err
}

const (
	// droppedLooksBack is how many items of the feed are searched for messages that a
	// command closes.
	droppedLooksBack = 200
	// maxDroppedNamed is how many of them are named, each with its beginning.
	maxDroppedNamed = 5
	maxDroppedBytes = 80
)

// unanswered names the messages that the command m closes without an answer; "" if there
// are none. The messages numbered shown have at least the beginning of an answer.
// waiting are the numbers of all, named or shown, and own says that one message of m's
// author is named.
func (g *Gateway) unanswered(ctx context.Context, m channels.Inbound, shown []int64) (said string, waiting []int64, own bool, err error) {
	feed, err := g.store.Feed(ctx, m.Key, 0, droppedLooksBack)
	if err != nil {
		return "", nil, false, err
	}
	waiting = []int64{}
	var named []string
	for _, it := range feed {
		if it.From != "person" || !it.Waiting {
			continue
		}
		waiting = append(waiting, it.Seq)
		if slices.Contains(shown, it.Seq) {
			continue
		}
		what := "“" + clipText(strings.Join(strings.Fields(cmp.Or(it.Text, "a file")), " "), maxDroppedBytes) + "”"
		if !m.Private && it.Name != "" {
			what += " (" + it.Name + ")"
		}
		named = append(named, what)
		own = len(named) == 1 && it.Name == m.Sender.Name
	}
	switch n := len(named); {
	case n == 0:
		return "", waiting, false, nil
	case n > maxDroppedNamed:
		named = append(named[:maxDroppedNamed:maxDroppedNamed], fmt.Sprintf("and %d more", n-maxDroppedNamed))
	}
	return "I have not answered " + strings.Join(named, ", ") + ".", waiting, own, nil
}
