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
	"dragoman/internal/respond"

	"golang.org/x/term"
)

// ChatOptions configure [Chat]. The zero value is right on a terminal.
type ChatOptions struct {
	// NoColor turns colours and bold off.
	NoColor bool
	// Ask is one question. Chat asks it, writes only its answer, and reads no input.
	// An apology in place of an answer is an error.
	Ask string
	// History is how many of the last messages are shown at the start.
	// 0: 6; below 0: none.
	History int
	// Waits gets a sentence that says why a message from a pipe or an Ask cannot be
	// stored yet, such as a full disk, while the chat keeps trying. A terminal shows
	// it anyway. nil: it is not shown.
	Waits io.Writer
}

const (
	shownHistory = 6
	eventsAhead  = 256             // events that may wait to be shown
	lookAgain    = 2 * time.Second // how often to check whether our message is answered
	lookWithin   = 5 * time.Second
	longestWait  = 3 * time.Second  // between two attempts to reach the daemon
	reachWithin  = 10 * time.Second // for the first call
)

// Chat talks in the room of c until the person quits, all of the input is answered, or
// ctx ends; in these cases it returns nil. If in and out are terminals, it edits lines
// and shows answers as they arrive. From a pipe it reads one message per line and sends
// each when the one before it is answered. To a pipe it writes only the answers.
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
		seen:   map[string]bool{}, retryNotices: o.Waits,
	}
	if outTerminal {
		s.screen.size = terminalSize(int(outFile.Fd()))
	}
	if !s.piped {
		before, err := term.MakeRaw(int(inFile.Fd()))
		if err != nil {
			return fmt.Errorf("terminal: set the terminal up: %w", err)
		}
		s.screen.raw = true
		s.screen.pending.WriteString("\x1b[?2004h") // pasted text is marked as such
		defer func() {
			_, _ = io.WriteString(out, "\x1b[?2004l")
			_ = term.Restore(int(inFile.Fd()), before) // on failure nothing can be done
		}()
	}
	s.showHistory(items, o)
	if o.Ask != "" {
		in = strings.NewReader("")
		s.enqueue(o.Ask)
	}
	return s.run(ctx, in)
}

func asTerminal(x any) (*os.File, bool) {
	f, ok := x.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// run starts the other goroutines and is the loop that owns s.
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
		if s.lookDue {
			s.checkAnswered(ctx)
		}
		to, next := s.outgoing()
		s.refresh()
		if s.leaving || s.finished() || ctx.Err() != nil {
			s.farewell()
		}
		if err := s.screen.flush(); err != nil {
			return fmt.Errorf("terminal: write: %w", err)
		}
		if s.leaving || s.finished() || ctx.Err() != nil {
			if s.failed == nil && s.piped {
				return s.apology
			}
			return s.failed
		}
		select {
		case <-ctx.Done():
		case e := <-events:
			s.handleEvent(e)
		case o := <-posted:
			s.handleOutcome(o)
		case why := <-refused:
			s.showRetrying(why)
		case to <- next:
			s.posting = true
		case b, more := <-s.inputIfReady(input):
			s.handleInput(b, more)
		case <-look.C:
			s.lookDue = true
		}
	}
}

// inputIfReady returns the channel to read input from; nil while a pipe's lines wait, so
// that a pipe is read no faster than it is answered.
func (s *session) inputIfReady(input <-chan []byte) <-chan []byte {
	if s.ended || (s.piped && len(s.queue) > 0) {
		return nil
	}
	return input
}

// follow keeps an event stream open and forwards its events. When the stream breaks it
// sends the event "lost".
func follow(ctx context.Context, c *live.Client, last int64, events chan<- live.Event) {
	hand := func(e live.Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	tries := channels.Backoff{Least: 100 * time.Millisecond, Most: longestWait}
	for ctx.Err() == nil {
		_ = c.Events(ctx, last, func(e live.Event) { // whatever the error, we reconnect
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

// message is a line on its way to the daemon. The id makes it safe to repeat.
type message struct {
	id, text string
	urgent   bool // it is one of the session's urgent messages
	unseen   bool // it was typed during an answer and is not on the screen
	ahead    bool // it was typed for the next question of a server
}

// outcome is the result of posting a message: nil, or a final refusal.
type outcome struct {
	message
	err error
}

// post sends messages one after the other, each until the daemon has accepted or
// finally refused it. Each new reason for a retry goes to refused.
func (s *session) post(ctx context.Context, posts <-chan message, posted chan<- outcome, refused chan<- string) {
	for {
		var m message
		select {
		case m = <-posts:
		case <-ctx.Done():
			return
		}
		select {
		case posted <- outcome{m, s.postWithRetry(ctx, m, refused)}:
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) postWithRetry(ctx context.Context, m message, notices chan<- string) error {
	last := ""
	for tries := (channels.Backoff{Least: 100 * time.Millisecond, Most: longestWait}); ; {
		err := s.client.Post(ctx, m.id, m.text)
		var refused *respond.Refusal
		if err == nil || (errors.As(err, &refused) && !refused.Temporary()) || ctx.Err() != nil {
			return err
		}
		if refused != nil && refused.Sentence != last {
			last = refused.Sentence
			select {
			case notices <- last:
			case <-ctx.Done():
			}
		}
		channels.Sleep(ctx, tries.Next())
	}
}

// errorText is what a person sees of err: a refusal's own sentence, without the
// attempts around it.
func errorText(err error) string {
	var refused *respond.Refusal
	if errors.As(err, &refused) {
		return refused.Sentence
	}
	return strings.TrimSpace(err.Error())
}
