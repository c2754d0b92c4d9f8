package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// accept decides about one message and stores it. A nil error lets the adapter
// acknowledge it.
func (g *Gateway) accept(ctx context.Context, b *binding, m channels.Inbound) error {
	if g.busy.closed() {
		return errDraining
	}
	name := b.Channel.Name()
	if m.Key.Channel() != name || m.ID == "" {
		return fmt.Errorf("gateway: channel %s handed in a message with key %q and id %q", name, m.Key, m.ID)
	}
	m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	m.Attachments = cleanAttachments(m.Attachments)
	if strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0 && m.Deletes == "" {
		return nil
	}
	verdict, err := g.opts.Gate.MayTalk(ctx, m)
	if err != nil {
		return err
	}
	// An edit in a shared chat that does not address us concerns us only if the
	// edited message did, which the store knows.
	unaddressed := m.Edits != "" && !m.Private && !m.Addressed && g.opts.Gate.Policy(name).Groups != people.All
	switch {
	case verdict == people.NotAddressed, verdict == people.Stranger && unaddressed:
		return nil
	case verdict == people.Stranger:
		g.opts.Observer.Accepted(name, "refused")
		g.opts.Logger.Info("message refused: sender is not on the allow list",
			"channel", name, "key", m.Key.String(), "sender", m.Sender.ID())
		return nil
	case verdict == people.WantsPairing:
		return g.offerPairing(ctx, m)
	}
	switch {
	case unaddressed && len(m.Text) > g.opts.MaxMessageBytes:
		return nil // no refusal: it does not address us
	case unaddressed, m.Deletes != "":
		return g.enqueue(ctx, m, unaddressed) // deletions have no limit
	case m.Reaction != "":
		return g.noteReaction(ctx, m)
	}
	if cmd, ok := parseCommand(m.Text); ok && m.Edits == "" && m.Forwarded == nil {
		c := command{Message: m, Name: cmd}
		if s, able := b.Channel.(channels.Stopper); able && cmd == "stop" {
			c.StoppedDelivery = s.Stop(m.Key)
		}
		_, err := onNode(ctx, g, sessions.Peer{Key: m.Key}, callCommand, c, g.command)
		return err
	}
	if refusal := g.overLimit(ctx, m); refusal != "" {
		return g.refuse(ctx, m, refusal)
	}
	return g.enqueue(ctx, m, false)
}

// noteReaction writes a reaction into the conversation, where the next turn
// sees it. Those above the limit are dropped: their authors expect no answer.
func (g *Gateway) noteReaction(ctx context.Context, m channels.Inbound) error {
	if g.overLimit(ctx, m) != "" {
		g.opts.Observer.Accepted(m.Key.Channel(), "over_limit")
		return nil
	}
	if m.At.IsZero() {
		m.At = g.opts.Now()
	}
	e := sessions.Entry{Inbound: m, Answered: true, Append: []sessions.Message{sessions.ReactionNote(m)}}
	if _, err := g.store.Accept(ctx, e); err != nil {
		return fmt.Errorf("gateway: note a reaction on %s: %w", m.Key, err)
	}
	g.opts.Observer.Accepted(m.Key.Channel(), string(sessions.Noted))
	return nil
}

// enqueue puts m into the inbox and tells a running turn. With ifKnown it does
// so only if the message that m edits is there.
func (g *Gateway) enqueue(ctx context.Context, m channels.Inbound, ifKnown bool) error {
	quiet, most := g.bindings[m.Key.Channel()].albumPause(m)
	got, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: m, MaxWaiting: g.opts.MaxWaiting, ResetBefore: g.resetBefore(m), IfKnown: ifKnown, Quiet: quiet, Most: most,
	})
	if errors.Is(err, sessions.ErrFull) {
		return g.refuse(ctx, m, fmt.Sprintf(
			"I am still busy with your last %d messages, so I did not take this one. Please send it again later.", g.opts.MaxWaiting))
	}
	if err != nil {
		return fmt.Errorf("gateway: accept %s: %w", m.Key, err)
	}
	if got.Outcome == sessions.Unknown {
		return nil
	}
	g.refusals.clear(m.Key)
	g.opts.Observer.Accepted(m.Key.Channel(), string(got.Outcome))
	g.opts.Logger.Debug("accepted", "key", m.Key.String(), "msg_id", m.ID, "outcome", got.Outcome, "waiting", got.Waiting)
	switch got.Outcome {
	case sessions.Queued:
		g.live.arrived(m.Key, got.Seq, g.opts.Queue)
	case sessions.Replaced, sessions.Withdrawn:
		// The store would refuse the commit of a turn that reads it. The turn runs
		// again on the present messages.
		if t := g.live.get(m.Key); t != nil && t.reads(got.Seq) {
			t.cancel(errInterrupted)
		}
	}
	return nil
}

// overLimit is why m is refused; "" within the limits.
func (g *Gateway) overLimit(ctx context.Context, m channels.Inbound) string {
	if len(m.Text) > g.opts.MaxMessageBytes {
		return fmt.Sprintf("Your message is too long for me (%s; I can read at most %s). Please send it in parts.",
			size(len(m.Text)), size(g.opts.MaxMessageBytes))
	}
	if !g.withinRate(ctx, m) {
		return fmt.Sprintf("You sent more than %d messages in a minute. Please wait a little, then send the ones after the limit again.", g.opts.RatePerMinute)
	}
	return ""
}

// withinRate counts m against its author's rate: also on the other nodes, if
// the author can write on all of them.
func (g *Gateway) withinRate(ctx context.Context, m channels.Inbound) bool {
	who := m.Key.Channel() + " " + m.Sender.ID()
	if m.Sender.ID() == "" {
		// Authors for whom their network does not vouch, such as anonymous
		// administrators of a group, count together in each chat, so that one
		// chat cannot silence the others.
		who = m.Key.String()
	}
	if !g.rates.allow(who) {
		return false
	}
	if g.opts.Peers != nil && g.opts.RatePerMinute > 0 && g.bindings[m.Key.Channel()].Everywhere {
		if _, err := g.opts.Peers.Call(ctx, sessions.Peer{All: true}, callWrote, []byte(who)); err != nil {
			g.log(m.Key).Warn("a message counts against its author's rate on this node only", "err", err)
		}
	}
	return true
}

// refuse answers m with why. Further messages are refused in silence while the
// same reason goes on.
func (g *Gateway) refuse(ctx context.Context, m channels.Inbound, why string) error {
	g.opts.Observer.Accepted(m.Key.Channel(), "over_limit")
	e := sessions.Entry{Inbound: m, Answered: true}
	e.Inbound.Text, e.Inbound.Attachments = clipText(m.Text, 1000), nil
	if g.refusals.first(m.Key, why, g.opts.Now(), noticeEvery) {
		e.Replies = g.split(sessions.Label{Kind: channels.KindNotice}, m.Key, g.spellCommands(m.Key, why), m)
	}
	if _, err := g.store.Accept(ctx, e); err != nil {
		return fmt.Errorf("gateway: refuse %s: %w", m.Key, err)
	}
	g.live.kick(m.Key)
	return nil
}

func (g *Gateway) answerCommand(ctx context.Context, e sessions.Entry, text string) error {
	got, err := g.storeReply(ctx, e, channels.KindCommand, text)
	if err == nil {
		g.countCommand(e.Inbound.Key, got.Outcome)
	}
	return err
}

func (g *Gateway) countCommand(k channels.Key, outcome sessions.Outcome) {
	if outcome == sessions.Done {
		outcome = "command"
	}
	g.opts.Observer.Accepted(k.Channel(), string(outcome))
}

// storeReply stores e as answered by the gateway itself.
func (g *Gateway) storeReply(ctx context.Context, e sessions.Entry, kind channels.Kind, text string) (sessions.Acceptance, error) {
	e.Answered = true
	if text != "" {
		e.Replies = g.split(sessions.Label{Kind: kind}, e.Inbound.Key, g.spellCommands(e.Inbound.Key, text), e.Inbound)
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return got, fmt.Errorf("gateway: answer %s: %w", e.Inbound.Key, err)
	}
	if got.Outcome == sessions.Done {
		g.underway.expedite(e.Inbound.Key, got.Seq, len(e.Replies))
	}
	g.live.kick(e.Inbound.Key)
	return got, nil
}

// clipText cuts s to at most n bytes between two characters.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n]) + "…"
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

const (
	// albumQuiet is how soon after one part of an album the next one must come
	// for both to be answered together.
	albumQuiet = 500 * time.Millisecond
	// albumLimit bounds the wait for all parts from the first one on. With a
	// [channels.Pauser] it is at least four of its pauses.
	albumLimit = 3 * time.Second
)

// albumPause returns how long a turn waits after m for the rest of its album, and
// how long at most after the first part. Both are 0 if m belongs to no album.
func (b *binding) albumPause(m channels.Inbound) (quiet, most time.Duration) {
	if m.Album == "" || m.Edits != "" {
		return 0, 0
	}
	if p, ok := b.Channel.(channels.Pauser); ok {
		quiet = p.Pause(m)
		return quiet, max(albumLimit, 4*quiet)
	}
	return albumQuiet, albumLimit
}

// limiter allows each person a number of messages a minute.
type limiter struct {
	perMinute int // negative: no limit
	now       func() time.Time
	mu        sync.Mutex
	people    map[string]*rate.Limiter
}

// maxPeopleKept bounds the memory. Beyond it everybody starts afresh, which at
// worst grants one more minute's worth of messages.
const maxPeopleKept = 10_000

func (l *limiter) allow(person string) bool {
	if l.perMinute < 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.people == nil || len(l.people) > maxPeopleKept {
		l.people = make(map[string]*rate.Limiter)
	}
	lim := l.people[person]
	if lim == nil {
		lim = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.people[person] = lim
	}
	return lim.AllowN(l.now(), 1)
}

// recentNotices remembers what each chat was refused with last, so that somebody
// who goes on writing is told once and not each time.
type recentNotices struct {
	mu   sync.Mutex
	last map[channels.Key]notice
}

// notice is a refusal that a chat was sent.
type notice struct {
	text string
	at   time.Time
}

// noticeEvery is for how long a chat does not get the same refusal again.
const noticeEvery = time.Minute

// first reports whether k did not get text within every, and remembers it.
func (n *recentNotices) first(k channels.Key, text string, now time.Time, every time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.last) > maxPeopleKept {
		clear(n.last)
	}
	if last, ok := n.last[k]; ok && last.text == text && now.Sub(last.at) < every {
		return false
	}
	n.last[k] = notice{text, now}
	return true
}

func (n *recentNotices) clear(k channels.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.last, k)
}
