package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// stranger is somebody who may connect to the database, as everybody may by default, and
// nothing else.
type stranger struct {
	t    *testing.T
	conn *pgx.Conn
}

func newStranger(t *testing.T, url string) stranger {
	t.Helper()
	const make = `DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`
	must(t, pgtest.Do(t.Context(), url, make))
	conn, err := pgx.Connect(t.Context(), strings.Replace(url, "//dragoman:", "//stranger:", 1))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return stranger{t, conn}
}

func (s stranger) listens(channels ...string) {
	s.t.Helper()
	for _, c := range channels {
		_, err := s.conn.Exec(s.t.Context(), `LISTEN `+pgx.Identifier{c}.Sanitize())
		must(s.t, err)
	}
}

func (s stranger) sends(channel, payload string) {
	s.t.Helper()
	_, err := s.conn.Exec(s.t.Context(), `SELECT pg_notify($1, $2)`, channel, payload)
	must(s.t, err)
}

// hears returns what comes until nothing has come for a while.
func (s stranger) hears() (list []string) {
	s.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(s.t.Context(), 300*time.Millisecond)
		n, err := s.conn.WaitForNotification(ctx)
		cancel()
		if err != nil {
			return list
		}
		list = append(list, n.Payload)
	}
}

// plainCall is a call as nodes of versions before seals make it.
func plainCall(from, id, method string, args []byte) string {
	text, err := json.Marshal(map[string]any{"k": "call", "f": from, "i": id, "m": method, "d": args})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// called are the methods that a node was called with.
type called struct {
	mu   sync.Mutex
	list []string
}

func (c *called) answer(ctx context.Context, method string, args []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seal := ""
	if !sessions.Sealed(ctx) {
		seal = " without a seal"
	}
	c.list = append(c.list, method+seal)
	return []byte("words of the answer"), nil
}

func (c *called) so() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// channelsOf are the notification channels of all nodes, also those of earlier versions.
func channelsOf(t *testing.T, s *engine.Store) []string {
	t.Helper()
	return []string{postgres.AllNodes(s), postgres.AllFormer(s), "dragoman_" + idOf(t, s)}
}

// TestStrangerHearsNothing: who may only connect to the database hears no word, no
// method, no conversation and no node, although a node listens there.
func TestStrangerHearsNothing(t *testing.T) {
	c := &called{}
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	answers(t, a, c.answer)
	answers(t, b, c.answer)
	s := newStranger(t, url)
	s.listens(append(channelsOf(t, a), channelsOf(t, b)...)...)
	claims, _ := serve(t, b)
	_, err := b.Accept(t.Context(), one)
	must(t, err)
	h := next(t, claims)
	for _, to := range []sessions.Peer{{Node: idOf(t, b)}, {Key: k1}, {All: true}} {
		_, err := peers(a).Call(within(t), to, "channel.send", []byte("words of somebody"))
		must(t, err)
	}
	more := one
	more.Inbound.ID = "2"
	_, err = a.Accept(t.Context(), more) // tells b
	must(t, err)
	close(h.leave)
	testkit.Eventually(t, "four calls", func() bool { return len(c.so()) >= 4 })
	heard := s.hears()
	if len(heard) < 5 {
		t.Fatalf("the stranger heard %d notes; the test hears too little", len(heard))
	}
	secrets := []string{"words", "channel", "changed", k1.String(), idOf(t, a), idOf(t, b), "d29yZHM"} // the last is words in base64
	for _, note := range heard {
		for _, secret := range secrets {
			if strings.Contains(note, secret) {
				t.Errorf("a stranger hears %q in %.200q", secret, note)
			}
		}
	}
}

// TestStrangerCannotCall: who may only connect makes no node do anything, and gets no answer.
func TestStrangerCannotCall(t *testing.T) {
	c := &called{}
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	answers(t, a, c.answer)
	answers(t, b, c.answer)
	s := newStranger(t, url)
	s.listens("dragoman_me")
	for _, method := range []string{"channel.send", "chat.command", "page.logins", sessions.MethodChanged} {
		for _, from := range []string{"me", idOf(t, a)} {
			for _, channel := range channelsOf(t, b) {
				s.sends(channel, plainCall(from, method, method, []byte("{}")))
			}
		}
	}
	s.sends(postgres.AllNodes(b), `{"k":"fence","f":"me","key":"x:1","e":1}`)
	s.sends(postgres.AllNodes(b), strings.Repeat("A", 200))
	s.sends(postgres.AllNodes(b), "")
	if _, err := peers(a).Call(within(t), sessions.Peer{Node: idOf(t, b)}, "real", nil); err != nil { // comes after them
		t.Fatal(err)
	}
	if got := c.so(); !slices.Equal(got, []string{"real"}) {
		t.Errorf("a stranger made nodes do %q", got)
	}
	if heard := s.hears(); len(heard) > 0 {
		t.Errorf("a stranger was answered: %q", heard)
	}
}

// TestStrangerRepeats: what a stranger heard does nothing when it is sent again, wherever.
func TestStrangerRepeats(t *testing.T) {
	c := &called{}
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	answers(t, a, c.answer)
	answers(t, b, c.answer)
	s := newStranger(t, url)
	s.listens("dragoman_"+idOf(t, b), postgres.AllNodes(b))
	for _, to := range []sessions.Peer{{Node: idOf(t, b)}, {All: true}} {
		_, err := peers(a).Call(within(t), to, "once", nil)
		must(t, err)
	}
	testkit.Eventually(t, "two calls", func() bool { return len(c.so()) == 2 })
	heard := s.hears()
	late := openAt(t, url, postgres.Options{})
	answers(t, late, c.answer)
	for _, note := range heard {
		for _, node := range []*engine.Store{a, b} {
			for _, channel := range channelsOf(t, node) {
				s.sends(channel, note)
				s.sends(channel, note)
			}
		}
	}
	if _, err := peers(a).Call(within(t), sessions.Peer{Node: idOf(t, b)}, "last", nil); err != nil {
		t.Fatal(err)
	}
	if got := c.so(); !slices.Equal(got, []string{"once", "once", "last"}) || len(heard) < 2 {
		t.Errorf("of %d notes that were sent again, nodes did %q", len(heard), got)
	}
}

// former lists a node of a version before seals.
func former(t *testing.T, url string, nodes ...*engine.Store) {
	t.Helper()
	must(t, pgtest.Do(t.Context(), url, `INSERT INTO dragoman.nodes (id, host, labels, expires) VALUES ('old', 'old', true, clock_timestamp() + '1 hour')`))
	for _, s := range nodes {
		must(t, postgres.RefreshPeers(t.Context(), s))
	}
}

// TestStrangerFillsNoMemory: pieces without an end are not kept, whether or not a former
// node is listed.
func TestStrangerFillsNoMemory(t *testing.T) {
	for name, listed := range map[string]bool{"Alone": false, "BesideAFormerNode": true} {
		t.Run(name, func(t *testing.T) {
			c := &called{}
			url := database(t)
			a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
			answers(t, b, c.answer)
			if listed {
				former(t, url, a, b)
			}
			s := newStranger(t, url)
			before := heap()
			const pieces = 2000
			for i := range pieces {
				text := plainCall("old", fmt.Sprint(i), "channel.send", make([]byte, 5000))
				s.sends("dragoman_"+idOf(t, b), strings.Replace(text, `{`, `{"more":9,`, 1))
			}
			if _, err := peers(a).Call(within(t), sessions.Peer{Node: idOf(t, b)}, "real", nil); err != nil {
				t.Fatal(err)
			}
			if grown := int64(heap()) - int64(before); grown > pieces*5000/4 {
				t.Errorf("%d pieces of 5,000 bytes made the heap %d bytes larger", pieces, grown)
			}
			runtime.KeepAlive(b)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFormerNode: a node of a version before seals is understood while it is listed, but
// never what would let a stranger give commands.
func TestFormerNode(t *testing.T) {
	c := &called{}
	url := database(t)
	o := postgres.Options{}
	a, b := openAt(t, url, o), openAt(t, url, o)
	answers(t, b, c.answer)
	former(t, url, a, b)
	old := newStranger(t, url)
	old.listens("dragoman_old", postgres.AllFormer(b))
	to := "dragoman_" + idOf(t, b)

	old.sends(to, plainCall("old", "1", "channel.send", []byte("{}")))
	old.sends(to, plainCall("old", "2", "chat.command", []byte("{}")))
	old.sends(to, plainCall("old", "3", "page.logins", nil))
	heard := strings.Join(old.hears(), "\n")
	if got := c.so(); !slices.Equal(got, []string{"channel.send without a seal"}) {
		t.Errorf("a former node made the node do %q", got)
	}
	if !strings.Contains(heard, `"k":"answer"`) || strings.Count(heard, `"k":"failure"`) != 2 {
		t.Errorf("a former node heard %s", heard)
	}

	ended := make(chan error, 1)
	go func() { // it does not answer
		ctx, cancel := context.WithTimeout(within(t), time.Second)
		defer cancel()
		_, err := peers(a).Call(ctx, sessions.Peer{Node: "old"}, "channel.send", nil)
		ended <- err
	}()
	if heard := old.hears(); len(heard) != 1 || !strings.Contains(heard[0], `"m":"channel.send"`) {
		t.Errorf("a former node heard %q of a call", heard)
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Call = %v", err)
	}
	if _, err := peers(a).Call(within(t), sessions.Peer{Node: "old"}, "chat.command", nil); !errors.Is(err, sessions.ErrNoPeer) {
		t.Errorf("Call = %v, want ErrNoPeer", err)
	}
	old.hears()
	for _, method := range []string{"live:web", "channel.send"} {
		_, err := peers(a).Call(within(t), sessions.Peer{All: true}, method, []byte("words"))
		must(t, err)
	}
	if heard := old.hears(); len(heard) != 1 || !strings.Contains(heard[0], `"m":"channel.send"`) {
		t.Errorf("former nodes were told %q", heard)
	}

	must(t, pgtest.Do(t.Context(), url, `DELETE FROM dragoman.nodes WHERE id = 'old'`))
	must(t, postgres.RefreshPeers(t.Context(), b))
	before := len(c.so())
	old.sends(to, plainCall("old", "4", "channel.send", []byte("{}")))
	if _, err := peers(a).Call(within(t), sessions.Peer{Node: idOf(t, b)}, "last", nil); err != nil {
		t.Fatal(err)
	}
	if got := c.so()[before:]; !slices.Equal(got, []string{"last"}) {
		t.Errorf("after the last former node left, a note in the clear made the node do %q", got)
	}
}
