package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
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

// besideOthers lets a campaign run at the same time as other tests. "make crash" measures it, so
// it is alone there.
func besideOthers(t *testing.T) {
	t.Helper()
	if wanted(t, 0) == 0 {
		t.Parallel()
	}
}

// stepsOf are the steps at which a test kills a daemon of its own: with "make crash" all, and with
// the ordinary tests every third, from the second on. A short run skips the test.
func stepsOf(t *testing.T, all ...string) (some []string) {
	t.Helper()
	if wanted(t, 0) > 0 {
		return all
	}
	for i := 1; i < len(all); i += 3 {
		some = append(some, all[i])
	}
	return some
}

// disturb kills the daemon again and again while people talk to it, and counts
// the kills at each step and those at random moments.
func (c *campaign) disturb(kills int) (atStep map[string]int, random int) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	defer stop()
	var around sync.WaitGroup
	around.Go(func() { c.converse(ctx, 40*time.Millisecond) })
	around.Go(func() { c.trouble(ctx) })
	around.Go(func() { c.troubleTopics(ctx) })
	atStep = make(map[string]int)
	order := c.dice.kills.Perm(len(steps)) // a campaign with few kills has other steps each time
	for i := range kills {
		// Two of three kills are at a step, each step in its turn.
		step := ""
		if i%3 != 2 {
			step = steps[order[(i-i/3)%len(steps)]]
		}
		if c.killed(step) {
			atStep[step]++
		} else {
			random++
		}
	}
	stop()
	around.Wait()
	return atStep, random
}

// killed runs the daemon until it dies, and says whether it died at the step.
// Without a step it is killed at a random moment.
func (c *campaign) killed(step string) (atStep bool) {
	c.t.Helper()
	if step == "" {
		cmd := c.start("")
		time.Sleep(50*time.Millisecond + upTo(c.dice.kills, 700*time.Millisecond))
		_ = cmd.Process.Kill()
		c.mustBeKilled(cmd.Wait())
		return false
	}
	cmd := c.start(fmt.Sprintf("%s@%d", step, 1+c.dice.kills.IntN(6)))
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
	c.deaths = append(c.deaths, time.Now())
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() && st.Signal() == syscall.SIGKILL {
			return
		}
	}
	keepLog(c.t, c.log.Name())
	c.t.Fatalf("the daemon ended with %v, not by SIGKILL", err)
}

// settle runs the daemon undisturbed until nothing is left to do, then stops
// it as an operator would.
func (c *campaign) settle() time.Duration {
	c.t.Helper()
	began := time.Now()
	cmd := c.start("")
	admin := api.Dial(filepath.Join(filepath.Dir(c.config), "state", "dragoman.sock"))
	defer admin.Close()
	var left api.Status
	idle := testkit.Poll(2*time.Minute, func() (ok bool) {
		if !c.people.idle() {
			return false
		}
		var err error
		left, err = api.ReadStatus.Call(c.t.Context(), admin, api.None{})
		return err == nil && left.QueueCounts != nil && left.Waiting+left.Postponed+left.Unsent+left.Unknown == 0
	})
	took := time.Since(began)
	if !idle {
		c.t.Errorf("not everything was answered after %s: %+v %+v", took.Round(time.Second), left.QueueCounts, left.Info)
	}
	// What is sent twice comes after what was sent: give it time to show.
	time.Sleep(2 * time.Second)
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("the daemon ended with %v after SIGINT", err)
	}
	return took
}
