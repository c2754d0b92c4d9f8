package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// The kill test runs this binary again as a child that works a store and says
// on its standard output what was acknowledged to it, one line each, after
// the method returned:
//
//	accepted KEY N      the store has message N of KEY
//	network  KEY TEXT   the network got a reply (between MarkSending and MarkSent)
//	sent     KEY TEXT   MarkSent returned
//	idle                nothing is open any more
const (
	childPath  = "DRAGOMAN_KILL_CHILD"
	childFrom  = "DRAGOMAN_KILL_FROM"  // the last acknowledged number of each key, with commas
	childDrain = "DRAGOMAN_KILL_DRAIN" // work off what is open, then say idle
	killKeys   = 8
)

// KillChild is what TestMain of a backend that runs [RunKills] calls first: in
// the child it works the store that open opens and reports true, in the parent
// it does nothing.
func KillChild(open func(ctx context.Context, path string) (sessions.Store, error)) bool {
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

func child(open func(context.Context, string) (sessions.Store, error), path string, from []string, drain bool) error {
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
			// The network repeats what it is not sure about.
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
			}
		})
	}
	senders.Wait()
	return nil
}

// childTurn answers what waits with a journal, and delivers.
func childTurn(ctx context.Context, s sessions.Store, c sessions.Claim) error {
	p, err := s.Pending(ctx, c, 5)
	if err != nil {
		return err
	}
	if len(p.Messages) > 0 {
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
		if err := s.CommitTurn(ctx, c, turn); err != nil {
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

// record is what the parent has seen acknowledged over all lives.
type record struct {
	accepted [killKeys]int   // the highest number; all below were acknowledged too
	network  [killKeys][]int // what the network got, in order
	sent     [killKeys]map[int]bool
}

// live runs a child until it is killed after d, or for d 0 until it is idle.
func (r *record) live(t *testing.T, path string, d time.Duration) {
	t.Helper()
	var from []string
	for _, n := range r.accepted {
		from = append(from, strconv.Itoa(n))
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childFrom+"="+strings.Join(from, ","))
	if d == 0 {
		cmd.Env = append(cmd.Env, childDrain+"=1")
	}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if d > 0 {
		timer := time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	} else {
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	idle := r.read(t, out)
	err = cmd.Wait()
	if d == 0 && (err != nil || !idle) {
		t.Fatalf("the last child ended with %v, idle %v", err, idle)
	}
	if d > 0 && (err == nil || cmd.ProcessState.ExitCode() != -1) {
		t.Fatalf("the child was not killed, it ended by itself: %v", err)
	}
}

func (r *record) read(t *testing.T, out io.Reader) (idle bool) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 1 && f[0] == "idle" {
			return true
		}
		if len(f) != 3 {
			t.Fatalf("the child says %q", lines.Text())
		}
		k, _ := strconv.Atoi(f[1])
		n, _ := strconv.Atoi(f[2])
		switch f[0] {
		case "accepted":
			r.accepted[k] = max(r.accepted[k], n)
		case "network":
			r.network[k] = append(r.network[k], n)
			if r.sent[k][n] {
				t.Errorf("reply %d of x:%d went out again after MarkSent had returned", n, k)
			}
		case "sent":
			if r.sent[k] == nil {
				r.sent[k] = map[int]bool{}
			}
			r.sent[k][n] = true
		}
	}
	return false
}

// RunKills works a store at path in a child process that is killed at random
// moments, and looks whether what was acknowledged is there, once and in
// order. check looks at the files between two lives, with the store closed;
// open opens it after the last.
func RunKills(t *testing.T, path string, check func(t *testing.T), open func(t *testing.T) sessions.Store) {
	t.Helper()
	kills := 25
	if s := os.Getenv("DRAGOMAN_KILLS"); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil || kills < 1 {
			t.Fatalf("DRAGOMAN_KILLS=%q, want a number of kills", s)
		}
	} else if testing.Short() {
		kills = 3
	}
	var r record
	for i := range kills {
		r.live(t, path, 40*time.Millisecond+rand.N(250*time.Millisecond))
		// The check may repair on its way; every second life finds the files
		// as the killed one has left them. On a busy machine the first lives
		// end before there are any.
		if _, err := os.Stat(path); i%2 == 1 && err == nil {
			check(t)
		}
	}
	r.live(t, path, 0)
	check(t)
	r.compare(t, open(t), kills)
}

// compare looks whether s has what was acknowledged.
func (r *record) compare(t *testing.T, s sessions.Store, kills int) {
	t.Helper()
	repeats, messages := 0, 0
	for k := range killKeys {
		ms, err := s.Messages(t.Context(), channels.MustKey(fmt.Sprintf("x:%d", k)), 0, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		// The store may know one more than was acknowledged: it died with the
		// answer on its lips.
		if n := len(ms); n < r.accepted[k] {
			t.Errorf("x:%d has %d messages, %d were acknowledged", k, n, r.accepted[k])
		}
		for i, m := range ms {
			if m.Content != strconv.Itoa(i+1) {
				t.Fatalf("x:%d has %q as message %d", k, m.Content, i+1)
			}
		}
		messages += len(ms)
		distinct := slices.Compact(slices.Clone(r.network[k]))
		for i, n := range distinct {
			if n != i+1 {
				t.Fatalf("x:%d: the network got %d as number %d: %v", k, n, i+1, distinct)
			}
		}
		if len(distinct) != len(ms) {
			t.Errorf("x:%d: the network got %d of %d replies", k, len(distinct), len(ms))
		}
		repeats += len(r.network[k]) - len(distinct)
	}
	if most := kills * killKeys; repeats > most {
		t.Errorf("%d replies went out twice, at most one for each key and kill can: %d", repeats, most)
	}
	if messages < 2*kills { // a life is short on a busy machine
		t.Errorf("only %d messages in %d lives: the test does not test", messages, kills)
	}
	t.Logf("%d kills, %d messages: none lost, doubled or reordered; %d replies repeated in the marked window", kills, messages, repeats)
}
