package crash_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// TestOlderNodes has a node of this version join two of one before labels, in the middle
// of what people say, with their /stops. The older ones leave while it goes on.
// DRAGOMAN_OLDER names their program, of commit 11dfcbe5.
func TestOlderNodes(t *testing.T) {
	older := os.Getenv("DRAGOMAN_OLDER")
	if older == "" {
		t.Skip("DRAGOMAN_OLDER names no older program")
	}
	c := newCluster(t, 3, seeded(t), "telegram")
	newest, before := c.nodes[0], c.nodes[1:]
	for _, n := range before {
		n.bin = older
		n.live()
		t.Cleanup(n.leave)
		if !testkit.Poll(time.Minute, n.listens) {
			keepLog(t, n.log())
			t.Fatalf("%s does not start", n.name)
		}
	}
	c.began = time.Now()
	ctx, stop := context.WithCancel(t.Context())
	wait := c.converse(ctx, 40*time.Millisecond)
	time.Sleep(20 * time.Second)
	newest.live()
	t.Cleanup(newest.leave)
	if !newest.ready() {
		keepLog(t, newest.log())
		t.Fatal("the node of this version does not start")
	}
	time.Sleep(35 * time.Second)
	for _, n := range before {
		n.leave()
		time.Sleep(5 * time.Second)
	}
	time.Sleep(25 * time.Second)
	stop()
	wait()
	c.nodes = c.nodes[:1]
	c.settle()
	talked := c.nets[0].talk
	t.Logf("%d messages, %d times /stop, %d edits", talked.messages, talked.stops, talked.edits)
	if talked.messages < 2000 {
		t.Errorf("people said %d things, want 2000", talked.messages)
	}
	for chat := range chats {
		for _, text := range c.nets[0].people.shown(chat) {
			if strings.Contains(text, "<!--") {
				t.Errorf("chat %d was told a mark: %.80q", chat, text)
			}
		}
	}
	c.judge(time.Since(c.began))
	for _, n := range before {
		n.judge()
	}
}

// listens reports whether the process has a socket, whatever it speaks there.
func (n *node) listens() bool {
	conn, err := net.DialTimeout("unix", filepath.Join(n.state, "dragoman.sock"), time.Second)
	return err == nil && conn.Close() == nil
}
