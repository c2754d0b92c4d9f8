package crash_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// wanted is how many kills DRAGOMAN_KILLS asks for, or so many.
func wanted(t *testing.T, otherwise int) int {
	t.Helper()
	s := os.Getenv("DRAGOMAN_KILLS")
	if s == "" {
		if testing.Short() {
			t.Skip("short: no crash campaign")
		}
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("DRAGOMAN_KILLS=%q, want a number of kills", s)
	}
	return n
}

// restless reports whether people say /stop and the servers fail meanwhile:
// in the long campaign.
func restless() bool { return os.Getenv("DRAGOMAN_KILLS") != "" }

// disturb kills the daemon again and again while people talk to it, and counts
// the kills at each step and those at random moments. say says text in one of
// the chats, which have numbers from 0 on, and returns its id.
func (c *campaign) disturb(kills int, say func(chat int, text string) (id int64)) (atStep map[string]int, random int) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	defer stop()
	talked := make(chan struct{})
	go func() {
		defer close(talked)
		c.talk(ctx, 40*time.Millisecond, say)
	}()
	troubled := make(chan struct{})
	go func() {
		defer close(troubled)
		if restless() {
			c.trouble(ctx)
		}
	}()
	atStep = make(map[string]int)
	for i := range kills {
		// Two of three kills are at a step, each step in its turn.
		step := ""
		if i%3 != 2 {
			step = steps[(i-i/3)%len(steps)]
		}
		if c.killed(step) {
			atStep[step]++
		} else {
			random++
		}
	}
	stop()
	<-talked
	<-troubled
	return atStep, random
}

// talk writes messages into random chats until ctx ends. After some of them it
// says /stop soon.
func (c *campaign) talk(ctx context.Context, every time.Duration, say func(chat int, text string) (id int64)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	type due struct{ at, chat int }
	var stop []due // in the order in which they are said, or nearly
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			chat := rand.N(chats)
			if len(stop) > 0 && n >= stop[0].at {
				id := say(stop[0].chat, "/stop")
				c.sent[id] = append(c.sent[id], stopped)
				c.stops.Add(1)
				stop = stop[1:]
			}
			id := say(chat, fmt.Sprintf("message #%d", n))
			c.sent[id] = append(c.sent[id], n)
			c.count.Add(1)
			if restless() && n%14 == 0 { // slow to answer
				stop = append(stop, due{n + 3 + rand.N(8), chat})
			}
		}
	}
}

// killed runs the daemon until it dies, and says whether it died at the step.
// Without a step it is killed at a random moment.
func (c *campaign) killed(step string) (atStep bool) {
	c.t.Helper()
	if step == "" {
		cmd := c.start("")
		time.Sleep(50*time.Millisecond + rand.N(700*time.Millisecond))
		_ = cmd.Process.Kill()
		c.mustBeKilled(cmd.Wait())
		return false
	}
	cmd := c.start(fmt.Sprintf("%s@%d", step, 1+rand.N(6)))
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	select {
	case err := <-died:
		c.mustBeKilled(err)
		return true
	case <-time.After(4 * time.Second): // that step was not passed so often: kill it like the others
		_ = cmd.Process.Kill()
		c.mustBeKilled(<-died)
		return false
	}
}

// mustBeKilled ends the campaign if the daemon ended in another way than by
// SIGKILL: then nothing was tested.
func (c *campaign) mustBeKilled(err error) {
	c.t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() && st.Signal() == syscall.SIGKILL {
			return
		}
	}
	keepLog(c.t, c.log.Name())
	c.t.Fatalf("the daemon ended with %v, not by SIGKILL", err)
}

// settle runs the daemon undisturbed until every message is answered, then
// stops it as an operator would.
func (c *campaign) settle(answered func(context.Context) error) time.Duration {
	c.t.Helper()
	began := time.Now()
	cmd := c.start("")
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	err := answered(ctx)
	took := time.Since(began)
	if err != nil {
		c.t.Errorf("not everything was answered after %s: %v", took.Round(time.Second), err)
	}
	// What is sent twice comes after what was sent: give it time to show.
	time.Sleep(2 * time.Second)
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("the daemon ended with %v after SIGINT", err)
	}
	return took
}
