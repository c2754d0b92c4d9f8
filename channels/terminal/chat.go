package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"

	"golang.org/x/term"
)

// ChatOptions change how [Chat] looks. The zero value is right on a terminal.
type ChatOptions struct {
	// NoColor leaves colours and bold out.
	NoColor bool
	// Ask is one question: it is asked, its answer is written and nothing else,
	// and nothing is read. An answer that says that there is none is an error.
	Ask string
	// History is how many of the last messages are shown at the beginning.
	// 0: 6; below 0: none.
	History int
	// Waits is told in a sentence why a message from a pipe or an Ask cannot be
	// handed in yet, such as a full disk; the chat keeps trying. A terminal
	// shows it anyway. nil: it is not told.
	Waits io.Writer
}

const (
	shownHistory = 6
	eventsAhead  = 256             // events that may wait to be shown
	lookAgain    = 2 * time.Second // when to ask what became of a message that no event tells of
	lookWithin   = 5 * time.Second
	longestWait  = 3 * time.Second  // between two attempts to reach the daemon
	reachWithin  = 10 * time.Second // at the beginning
)

// Chat talks in the room of c until the person leaves, the input ends and
// everything in it is answered, or ctx ends; all of these return nil. If in
// and out are terminals it edits lines and shows answers as they come. From a
// pipe it takes one message a line, each handed in when the one before it is
// answered; into a pipe it writes the answers and nothing else.
func Chat(ctx context.Context, c *live.Client, in io.Reader, out io.Writer, o ChatOptions) error {
	reach, cancelReach := context.WithTimeout(ctx, reachWithin)
	defer cancelReach()
	items, err := c.Feed(reach, 0, 50)
	if err != nil {
		return fmt.Errorf("terminal: reach the daemon: %w", err)
	}
	inFile, inTerminal := asTerminal(in)
	outFile, outTerminal := asTerminal(out)
	s := &session{
		client: c, piped: !inTerminal || !outTerminal || o.Ask != "", quiet: !outTerminal || o.Ask != "",
		screen: &screen{out: out, size: func() (int, int) { return 80, 24 }, styled: outTerminal && !o.NoColor},
		known:  map[string]bool{}, waits: o.Waits,
	}
	if outTerminal {
		s.screen.size = terminalSize(int(outFile.Fd()))
	}
	if !s.piped {
		before, err := term.MakeRaw(int(inFile.Fd()))
		if err != nil {
			return fmt.Errorf("terminal: set the terminal up: %w", err)
		}
		s.screen.live = true
		s.screen.pending.WriteString("\x1b[?2004h") // pasted text is marked as such
		defer func() {
			_, _ = io.WriteString(out, "\x1b[?2004l")
			_ = term.Restore(int(inFile.Fd()), before) // nothing else can be done about it
		}()
	}
	s.begin(items, o)
	if o.Ask != "" {
		in = strings.NewReader("")
		s.enter(o.Ask)
	}
	return s.run(ctx, in)
}

// asTerminal returns the file behind x, and whether it is a terminal.
func asTerminal(x any) (*os.File, bool) {
	f, ok := x.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// run starts what works beside the person and is the loop that owns s.
func (s *session) run(parent context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(parent)
	var work sync.WaitGroup
	events := make(chan live.Event, eventsAhead)
	posts := make(chan message)
	posted := make(chan outcome)
	input := make(chan []byte)
	s.posts = posts
	work.Go(func() { follow(ctx, s.client, s.last, events) })
	refused := make(chan string)
	work.Go(func() { s.post(ctx, posts, posted, refused) })
	go read(ctx, in, input)
	defer work.Wait()
	defer cancel()

	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		if s.due {
			s.look(ctx)
		}
		to, next := s.outgoing()
		s.refresh()
		if s.left || s.finished() || ctx.Err() != nil {
			s.farewell()
		}
		if err := s.screen.flush(); err != nil {
			return fmt.Errorf("terminal: write: %w", err)
		}
		if s.left || s.finished() || ctx.Err() != nil {
			if s.failed == nil && s.piped {
				return s.apology
			}
			return s.failed
		}
		select {
		case <-ctx.Done():
		case e := <-events:
			s.on(e)
		case o := <-posted:
			s.settle(o)
		case why := <-refused:
			s.keepsTrying(why)
		case to <- next:
			s.sending = true
		case b, more := <-s.ready(input):
			s.typed(b, more)
		case <-look.C:
			s.due = true
		}
	}
}

// ready is where input comes from: nowhere while a pipe's lines wait, so that
// a pipe is read no faster than it is answered.
func (s *session) ready(input <-chan []byte) <-chan []byte {
	if s.ended || (s.piped && len(s.queue) > 0) {
		return nil
	}
	return input
}

// follow keeps a stream of events open and hands them on. A stream that breaks
// is told as the event "lost".
func follow(ctx context.Context, c *live.Client, last int64, events chan<- live.Event) {
	hand := func(e live.Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	tries := channels.Backoff{Least: 100 * time.Millisecond, Most: longestWait}
	for ctx.Err() == nil {
		_ = c.Events(ctx, last, func(e live.Event) { // why it broke does not matter: we come back
			if e.Kind == "hello" {
				tries.Failed = 0
			}
			if e.Item != nil {
				last = max(last, e.Item.Seq)
			}
			hand(e)
		})
		hand(live.Event{Kind: "lost"})
		channels.Sleep(ctx, tries.Next())
	}
}

// message is a line on its way to the daemon. The id makes repeats harmless.
type message struct {
	id, text string
	stop     bool
	unseen   bool // it was typed while an answer came, and does not stand on the screen
}

// outcome is what became of it: nil, or a refusal for good.
type outcome struct {
	message
	err error
}

// post hands messages in, one after the other, each until the daemon has taken
// or refused it for good. Each new reason to try again goes to refused.
func (s *session) post(ctx context.Context, posts <-chan message, posted chan<- outcome, refused chan<- string) {
	for {
		var m message
		select {
		case m = <-posts:
		case <-ctx.Done():
			return
		}
		select {
		case posted <- outcome{m, s.handIn(ctx, m, refused)}:
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) handIn(ctx context.Context, m message, reasons chan<- string) error {
	told := ""
	for tries := (channels.Backoff{Least: 100 * time.Millisecond, Most: longestWait}); ; {
		err := s.client.Post(ctx, m.id, m.text)
		var refused *live.RefusedError
		if err == nil || (errors.As(err, &refused) && !refused.Temporary()) || ctx.Err() != nil {
			return err
		}
		if refused != nil && refused.Sentence != told {
			told = refused.Sentence
			select {
			case reasons <- told:
			case <-ctx.Done():
			}
		}
		channels.Sleep(ctx, tries.Next())
	}
}

// plain is a refusal in words for the person.
func plain(err error) string {
	var refused *live.RefusedError
	if errors.As(err, &refused) {
		return refused.Sentence
	}
	return strings.TrimSpace(err.Error())
}
