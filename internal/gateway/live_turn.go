package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/sessions"
)

// errInterrupted cancels a turn because of a new message, or because a message
// that it reads was changed.
var errInterrupted = errors.New("gateway: interrupted by a new message")

// liveTurn is one running turn: its answer so far, and what came meanwhile.
type liveTurn struct {
	claim  sessions.Claim
	turn   string         // its id
	asked  admission.Turn // for whom it counts
	began  time.Time
	cancel context.CancelCauseFunc
	bound  func() []sessions.Answered // the inbox messages that it answers
	asks   func(id string) bool       // whether one of them has that id
	asker  string                     // see [Gateway.asker]
	news   chan struct{}              // capacity 1: progress to show
	kicked chan struct{}              // capacity 1: deliveries to make
	ending chan struct{}              // capacity 1: held by whatever ends the turn: its commit, or a command

	alive    atomic.Int64 // the model's last sign of life, in Unix nanoseconds; 0: none yet
	mu       sync.Mutex
	progress agent.Progress
	thoughts channels.Thoughts // not shown in a preview yet
	preview  string            // the id of the message that shows the answer
	noteOnly bool              // that message shows nothing but a note
	showing  chan struct{}     // closed when the preview in flight has ended; nil: none
	muted    bool              // no more previews: a command ends the turn
	over     bool              // its answer is committed: commands no longer end it
	more     bool              // messages came that it has not read
}

func (s *chats) begin(c sessions.Claim, asked admission.Turn, began time.Time, bound func() []sessions.Answered, asks func(string) bool, cancel context.CancelCauseFunc, asker string) *liveTurn {
	t := &liveTurn{
		claim: c, turn: asked.ID, asked: asked, began: began, cancel: cancel, bound: bound, asks: asks, asker: asker,
		news: make(chan struct{}, 1), kicked: make(chan struct{}, 1), ending: make(chan struct{}, 1),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(c.Key).turn = t
	return t
}

func (s *chats) end(t *liveTurn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[t.claim.Key]
	if c == nil || c.turn != t {
		return
	}
	c.turn = nil
	s.tidy(t.claim.Key)
}

// turn is the turn of k that runs here, nil if none does.
func (s *chats) turn(k channels.Key) *liveTurn {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c == nil {
		return nil
	}
	return c.turn
}

// kick makes the attendant of a running turn deliver command answers. Without a
// running turn the store has woken the key already.
func (s *chats) kick(k channels.Key) {
	if t := s.turn(k); t != nil {
		signal(t.kicked)
	}
}

// arrived tells a running turn of k that message seq was stored. It may read it
// already.
func (s *chats) arrived(k channels.Key, seq int64, mode Mode) {
	if t := s.turn(k); t != nil && !t.reads(seq) {
		t.hasMore(mode)
	}
}

func (t *liveTurn) hasMore(mode Mode) {
	t.mu.Lock()
	t.more = t.more || mode == Steer || mode == Interrupt
	t.mu.Unlock()
	if mode == Interrupt {
		t.cancel(errInterrupted)
	}
}

func (t *liveTurn) reads(seq int64) bool { return slices.Contains(seqsOf(t.bound()), seq) }

func seqsOf(answers []sessions.Answered) (seqs []int64) {
	for _, a := range answers {
		seqs = append(seqs, a.Seq)
	}
	return seqs
}

// hold keeps a turn's commit and the commands that end the turn apart.
// Otherwise the person could read the same text twice, as an answer and as the
// stopped part of one. It waits for the other one at most holdTimeout.
func (t *liveTurn) hold(ctx context.Context) (release func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, holdTimeout)
	defer cancel()
	select {
	case t.ending <- struct{}{}:
		return func() { <-t.ending }
	case <-ctx.Done():
		return func() {}
	}
}

func (t *liveTurn) committed() {
	if t != nil {
		t.mu.Lock()
		t.over = true
		t.mu.Unlock()
	}
}

// partial returns the turn of k, its answer so far, the message that shows it, and
// the numbers of the messages that it answers; nothing if no turn of k runs. It
// ends the previews. It waits for one in flight, because the final text edits
// its message.
func (s *chats) partial(ctx context.Context, k channels.Key) (turn, text, preview string, seqs []int64) {
	t := s.turn(k)
	if t == nil {
		return "", "", "", nil
	}
	t.mu.Lock()
	t.muted = true
	showing := t.showing
	t.mu.Unlock()
	if showing != nil {
		wait, cancel := context.WithTimeout(ctx, muteTimeout)
		defer cancel()
		select {
		case <-showing:
		case <-wait.Done():
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return "", "", "", nil
	}
	return t.turn, t.progress.Text, t.preview, seqsOf(t.bound())
}

// Saying returns the answer of k's running turn so far and the turn's id, if it runs in this
// process and is not stored; else "". It is all that [stream.Text] told, or more.
func (g *Gateway) Saying(k channels.Key) (turn, text string) {
	t := g.chats.turn(k)
	if t == nil {
		return "", ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return "", ""
	}
	return t.turn, t.progress.Text
}

func (s *chats) age(k channels.Key, now time.Time) (time.Duration, bool) {
	t := s.turn(k)
	if t == nil {
		return 0, false
	}
	return now.Sub(t.began), true
}

func (s *chats) running(now time.Time) (n int, oldest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.m {
		if c.turn != nil {
			n++
			oldest = max(oldest, now.Sub(c.turn.began))
		}
	}
	return n, oldest
}

// show takes the agent's progress. Like addThought, it never blocks.
func (t *liveTurn) show(p agent.Progress) {
	t.mu.Lock()
	t.progress = p
	t.mu.Unlock()
	signal(t.news)
}

func (t *liveTurn) addThought(piece string) {
	t.mu.Lock()
	t.thoughts.Add(piece)
	t.mu.Unlock()
	signal(t.news)
}

func (t *liveTurn) current() (agent.Progress, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress, t.preview
}

// beginPreview returns what to show. If it reports true, endPreview must be called.
func (t *liveTurn) beginPreview() (p channels.Preview, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p = channels.Preview{Key: t.claim.Key, MessageID: t.preview, Text: t.progress.Text, Note: t.progress.Note, Thoughts: t.thoughts.Take()}
	if t.muted || p.Text == "" && p.Note == "" && p.Thoughts == "" {
		return p, false
	}
	t.noteOnly = p.Text == "" && p.Thoughts == ""
	t.showing = make(chan struct{})
	return p, true
}

// beginNoteRemoval returns the message that shows a note which no longer holds, and nothing
// else; "" if there is none. If there is one, the answer no longer edits it, and
// endNoteRemoval must be called.
func (t *liveTurn) beginNoteRemoval() (id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.muted || !t.noteOnly || t.progress.Text != "" || t.progress.Note != "" {
		return ""
	}
	id = t.preview
	if id != "" {
		t.preview = ""
		t.showing = make(chan struct{})
	}
	return id
}

func (t *liveTurn) endNoteRemoval() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.showing)
	t.showing = nil
}

// endPreview notes the id of the message that shows the preview, "" if there is
// none, and reports whether it is a new one.
func (t *liveTurn) endPreview(id string) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.showing)
	t.showing = nil
	if id == "" || id == t.preview {
		return false
	}
	t.preview = id
	return true
}

// dropPreview forgets the message of the preview: the answer does not edit it.
func (t *liveTurn) dropPreview() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.preview = ""
}

// mute ends the previews of t.
func (t *liveTurn) mute() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = true
}

// takeMore reports, once, whether messages came that the turn has not read.
func (t *liveTurn) takeMore() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := t.more
	t.more = false
	return more
}

// signal wakes the reader of a channel of capacity 1. A wake-up that waits
// already is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
