package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// KillChild must be called first by the TestMain of a backend that runs [RunKills].
// In the child, it uses the store that open opens and reports true. In the parent, it
// does nothing.
func KillChild(open func(ctx context.Context, path string) (*engine.Store, error)) bool {
	path := os.Getenv(childPath)
	if path == "" {
		return false
	}
	if err := child(open, path, strings.Split(os.Getenv(childFrom), ","), os.Getenv(childDrain) != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func child(open func(context.Context, string) (*engine.Store, error), path string, from []string, drain bool) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := open(ctx, path)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func(ctx context.Context, c sessions.Claim) error { return childTurn(ctx, s, c) })
	}()
	if drain {
		for {
			if st, err := s.Stats(ctx); err != nil || st.Waiting+st.Unsent == 0 {
				fmt.Println("idle")
				cancel()
				<-ended
				return s.Close()
			}
			time.Sleep(5 * time.Millisecond) // polling a process's own state, as health checks do
		}
	}
	var senders sync.WaitGroup
	for k, last := range from {
		senders.Go(func() {
			n, _ := strconv.Atoi(last)
			// The network repeats messages that were not acknowledged.
			for n = max(n, 1); ; n++ {
				m := channels.Inbound{
					Key: channels.MustKey(fmt.Sprintf("x:%d", k)), ID: fmt.Sprintf("%d-%d", k, n),
					Text: strconv.Itoa(n), At: time.Now(), Sender: channels.Person{IDs: []string{"1"}},
				}
				if _, err := s.Accept(ctx, sessions.Entry{Inbound: m}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("accepted %d %d\n", k, n)
				if n%withdrawEvery == 0 {
					if err := childWithdraws(ctx, s, k, n); err != nil {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
				}
			}
		})
	}
	senders.Wait()
	return nil
}

// childWithdraws sends a message and withdraws it at once. The outcome says whether a
// turn was faster.
func childWithdraws(ctx context.Context, s *engine.Store, k, n int) error {
	text := fmt.Sprintf("w%d", n)
	m := channels.Inbound{
		Key: channels.MustKey(fmt.Sprintf("x:%d", k)), ID: fmt.Sprintf("%d-%s", k, text), MessageID: text,
		Text: text, At: time.Now(), Sender: channels.Person{IDs: []string{"1"}},
	}
	if _, err := s.Accept(ctx, sessions.Entry{Inbound: m}); err != nil {
		return err
	}
	m.ID += "-gone"
	m.Edits = text
	m.Deletes = channels.DeletedBySender
	a, err := s.Accept(ctx, sessions.Entry{Inbound: m})
	if err == nil && a.Outcome == sessions.Withdrawn {
		fmt.Printf("withdrawn %d %s\n", k, text)
	}
	return err
}

// childTurn answers the waiting messages with a journal, and delivers.
func childTurn(ctx context.Context, s *engine.Store, c sessions.Claim) error {
	p, err := s.Pending(ctx, c, 5)
	if err != nil {
		return err
	}
	if len(p.Messages) > 0 {
		err := childAnswers(ctx, s, c, p)
		if errors.Is(err, sessions.ErrConflict) {
			return nil // one of its messages was withdrawn meanwhile
		}
		if err != nil {
			return err
		}
	}
	ds, err := s.Unsent(ctx, c, 5)
	if err != nil {
		return err
	}
	for _, d := range ds {
		if err := s.MarkSending(ctx, c, d.ID); err != nil {
			return err
		}
		fmt.Printf("network %s %s\n", c.Key.Chat(), d.Text)
		if err := s.MarkSent(ctx, c, d.ID, channels.Receipt{}); err != nil {
			return err
		}
		fmt.Printf("sent %s %s\n", c.Key.Chat(), d.Text)
	}
	return nil
}

func childAnswers(ctx context.Context, s *engine.Store, c sessions.Claim, p sessions.Pending) error {
	turn := sessions.Turn{ID: p.Turn}
	if turn.ID == "" {
		turn.ID = fmt.Sprintf("t%d", p.Messages[0].Seq)
	}
	for _, w := range p.Messages {
		turn.Answers = append(turn.Answers, sessions.Answered{Seq: w.Seq, Rev: w.Rev})
		turn.Messages = append(turn.Messages, sessions.UserMessage(w.Inbound))
		turn.Replies = append(turn.Replies, sessions.Reply{Text: w.Inbound.Text})
	}
	if rand.N(2) == 0 {
		if err := s.AppendStep(ctx, c, turn.ID, turn.Answers, sessions.Step{Kind: sessions.StepNote}); err != nil {
			return err
		}
	}
	return s.CommitTurn(ctx, c, turn)
}
