package story_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
)

// node is another daemon on the same machine, which has the same bot.
func (h *house) node(name, rest string) *house {
	n := &house{t: h.t, dir: h.dir, state: filepath.Join(h.dir, name), config: filepath.Join(h.dir, name+".yaml"), bin: h.bin, api: h.api, model: h.model}
	n.configure(plan{rest: rest})
	return n
}

// shared is the configuration of a store in the database at url.
func shared(url string) string {
	return fmt.Sprintf("store: {type: postgres, url: %q}\nqueue: {rate_per_minute: 0}", url)
}

// cluster is two nodes on the database at url.
func cluster(t *testing.T, url string) (l *house, nodes []*daemon) {
	l = newHouse(t, plan{})
	for _, name := range []string{"a", "b"} {
		nodes = append(nodes, l.node(name, shared(url)).start())
	}
	return l, nodes
}

// converse has people write, each when their last message is answered, until ctx
// ends. It returns the longest wait, for the log, and fails the test if an answer is missing,
// doubled or out of order.
func (h *house) converse(ctx context.Context, people int) func() (longest time.Duration, answers int) {
	var mu sync.Mutex
	var longest time.Duration
	var answers int
	var talking sync.WaitGroup
	for i := range people {
		who := botapi.User{ID: int64(6001 + i), FirstName: fmt.Sprint("P", i)}
		talking.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				text := fmt.Sprintf("message %d of %s", n, who.FirstName)
				asked := time.Now()
				h.tell(who, text)
				said := h.said(who.ID, n)
				if len(said) != n || !strings.HasSuffix(said[n-1], text) {
					h.t.Errorf("%s was told %q, want an answer to message %d", who.FirstName, said[n-1:], n)
					return
				}
				mu.Lock()
				longest, answers = max(longest, time.Since(asked)), answers+1
				mu.Unlock()
			}
		})
	}
	return func() (time.Duration, int) {
		talking.Wait()
		return longest, answers
	}
}

// Nodes are restarted one after the other while people write: no chat waits for
// longer than its own turn, and an answer that is being written is finished.
func TestRollingRestart(t *testing.T) {
	l, nodes := cluster(t, pgtest.Database(t, "", ""))
	ctx, stop := context.WithCancel(t.Context())
	end := l.converse(ctx, 6)
	var stopped []*daemon
	for i, d := range nodes {
		hold := fmt.Sprint("restart", i)
		asked := 0
		for asked < 4 { // on whichever node
			l.tell(botapi.User{ID: int64(7001 + 10*i + asked), FirstName: "Long"}, "tell me everything !hold "+hold)
			asked++
			l.until("the beginning of an answer", func() bool { return len(l.api.FromBot(int64(7000+10*i+asked))) > 0 })
		}
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		testkit.Eventually(t, "the node to stop", func() bool { return strings.Contains(d.out.String(), "msg=draining") })
		bystander := botapi.User{ID: int64(8001 + i), FirstName: "By"}
		l.tell(bystander, "and me?") // does not wait for them
		l.said(bystander.ID, 1)
		if strings.Contains(d.out.String(), "msg=drained") || strings.Contains(d.out.String(), "drain limit") {
			t.Errorf("nobody was answered until a node had finished its answers:\n%s", d.out)
		}
		l.gates.open(hold)
		d.wait()
		stopped = append(stopped, d)
		for n := range asked {
			if got := l.said(int64(7001+10*i+n), 1)[0]; !strings.Contains(got, "and the end of "+hold) {
				t.Errorf("an answer that was being written is %q", got)
			}
		}
		nodes[i] = d.start()
		testkit.Eventually(t, "both nodes to be there", func() bool {
			return strings.Count(d.dragoman("nodes"), "turns") >= 2
		})
	}
	stop()
	longest, answers := end()
	t.Logf("%d answers, the slowest after %s", answers, longest.Round(time.Millisecond))
	for _, d := range append(nodes, stopped...) {
		if strings.Contains(d.out.String(), "took over conversations") {
			t.Errorf("a node left conversations to others without a word, so people waited until it was given up:\n%s", d.out)
		}
	}
}

// A store goes into PostgreSQL, two nodes work on it, and it comes back, when none of
// them runs.
func TestToPostgresAndBack(t *testing.T) {
	l := newHouse(t, plan{})
	url := pgtest.Database(t, "", "")
	h := l.node("a", "")
	talk := func(n int) {
		text := fmt.Sprint("message ", n)
		l.tell(ann, text)
		if got := l.said(ann.ID, n)[n-1]; !strings.HasSuffix(got, text) {
			t.Errorf("the answer to %q is %q", text, got)
		}
	}
	d := h.start()
	talk(1)
	d.end(syscall.SIGTERM)
	h.configure(plan{rest: shared(url)})
	if out := h.dragoman("sessions", "migrate", "--from", "sqlite", "--to", "postgres"); !strings.Contains(out, "They are equal.") {
		t.Errorf("migrate says %s", out)
	}
	d = h.start()
	other := l.node("b", shared(url)).start()
	talk(2)
	if out := h.dragoman("nodes"); strings.Count(out, "turns") != 2 {
		t.Errorf("nodes says %s", out)
	}
	d.end(syscall.SIGTERM)
	db := filepath.Join(h.state, "dragoman.db")
	if err := os.Rename(db, db+".old"); err != nil {
		t.Fatal(err)
	}
	back := []string{"sessions", "migrate", "--from", "postgres", "--to", "sqlite"}
	if out, err := h.try(back...); err == nil || !strings.Contains(out, "stop all daemons first") {
		t.Errorf("migrate, while a node runs, says %s", out)
	}
	other.end(syscall.SIGTERM)
	if out := h.dragoman(back...); !strings.Contains(out, "1 conversation, 4 messages") || !strings.Contains(out, "They are equal.") {
		t.Errorf("migrate says %s", out)
	}
	h.configure(plan{})
	h.start()
	talk(3)
}
