package sqlite

import (
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

const (
	// recentMost is about how many bytes the newest messages of conversations
	// take in memory; recentOne is how many those of one may.
	recentMost = 8 << 20
	recentOne  = recentMost / 16
	// recentEach is what a message takes beside its texts.
	recentEach = 300
	// headsMost bounds how many heads of keys are in memory.
	headsMost = 4096
)

// recent holds the newest messages of conversations that were read of late and
// the heads of keys that were changed, so that a turn reads nothing from the
// file. Rows of a transcript are written once, and seqs have no gaps: what is held
// can only become wrong when rows are changed, moved or removed. All that is rare,
// and done by the one writer, so it forgets everything then: see [writer.changed].
//
// A read that began before such a change must not put here what it found. It
// takes the number of the changes with it, and is refused if that has grown.
//
// Messages are young when they are used. When the young ones take half of the
// room, or half of the idle time is over, they become old, and what was old and
// not used since is dropped.
type recent struct {
	idle time.Duration // after which nothing is held that was not used

	mu         sync.Mutex
	changes    uint64
	busy       bool // between begin and forget
	young, old stretches
	heads      map[channels.Key]keyRow // as the file has them
	timer      *time.Timer             // runs while messages are held
}

// stretch is the newest messages of a key, without gaps. They are never changed,
// only others put behind them; readers get copies.
type stretch struct {
	rows []sessions.Message
	size int
}

// stretches are those of keys, by their ids.
type stretches struct {
	byKey map[int64]*stretch
	size  int
}

func (l *stretches) put(key int64, s *stretch) {
	if l.byKey == nil {
		l.byKey = map[int64]*stretch{}
	}
	l.byKey[key] = s
	l.size += s.size
}

func (l *stretches) drop(key int64) {
	if s := l.byKey[key]; s != nil {
		l.size -= s.size
		delete(l.byKey, key)
	}
}

// sizeOf is about what a message takes here.
func sizeOf(m *sessions.Message) int { return rules.Bytes(*m) + recentEach }

// now is the number of changes so far.
func (c *recent) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// begin drops everything before a change becomes visible to readers, and takes
// nothing until forget: nobody may see new heads with old rows.
func (c *recent) begin() { c.clear(true) }

// forget ends what begin began, or drops everything after a change.
func (c *recent) forget() { c.clear(false) }

func (c *recent) clear(busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = busy
	c.changes++
	c.young, c.old, c.heads = stretches{}, stretches{}, nil
}

// head is what is known of k, if that is something.
func (c *recent) head(k channels.Key) (r keyRow, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok = c.heads[k]
	return r, ok
}

// putHeads remembers the heads of keys as a commit left them; known are those
// that the writer still knows.
func (c *recent) putHeads(touched map[channels.Key]bool, known map[channels.Key]*keyRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heads == nil || len(c.heads) >= headsMost {
		c.heads = map[channels.Key]keyRow{}
	}
	for k := range touched {
		if r := known[k]; r != nil && !c.busy {
			c.heads[k] = *r
		} else {
			delete(c.heads, k)
		}
	}
}

// messages returns what it has of the messages of a key, oldest first.
func (c *recent) messages(key int64) []sessions.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.use(key); s != nil {
		return s.rows
	}
	return nil
}

// use returns the stretch of a key, if there is one, and makes it young, under the
// lock.
func (c *recent) use(key int64) *stretch {
	if s := c.old.byKey[key]; s != nil {
		c.old.drop(key)
		c.hold(key, s)
	}
	return c.young.byKey[key]
}

// hold holds a stretch that is not too large, under the lock.
func (c *recent) hold(key int64, s *stretch) {
	if s.size > recentOne {
		return // the next read holds fewer messages
	}
	if c.young.size+s.size > recentMost/2 {
		c.young, c.old = stretches{}, c.young
	}
	c.young.put(key, s)
	if c.timer == nil {
		c.timer = time.AfterFunc(c.idle/2, c.age)
	}
}

// put holds what a read has used of a key, unless it is older than what is held.
// changes is the number when the read began.
func (c *recent) put(key int64, rows []sessions.Message, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(rows)
	if c.busy || changes != c.changes || n == 0 || rows[n-1].Seq-rows[0].Seq != int64(n-1) {
		return
	}
	if s := c.use(key); s != nil && s.rows[len(s.rows)-1].Seq > rows[n-1].Seq {
		return // another read of the same key, or a commit, was faster
	}
	s := &stretch{rows: rows}
	for i := range rows {
		s.size += sizeOf(&rows[i])
	}
	c.young.drop(key)
	c.hold(key, s)
}

// saidRow is a message that was added to a key.
type saidRow struct {
	key int64
	m   sessions.Message
}

// extend adds messages that were just committed to what is held of their keys.
func (c *recent) extend(said []saidRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, added := range said {
		s, m := c.use(added.key), &added.m
		if s == nil || c.busy || s.rows[len(s.rows)-1].Seq != m.Seq-1 { // a read was faster
			continue
		}
		c.young.drop(added.key)
		s.rows = append(s.rows, rules.Clone(*m))
		s.size += sizeOf(m)
		c.hold(added.key, s)
	}
}

// age makes what is young old, and drops what was: the words of a conversation are
// not to lie in memory for as long as the process lives. A timer runs while
// something is held, so that it also goes where nothing else happens, and nobody is
// woken for nothing.
func (c *recent) age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = stretches{}, c.young
	if c.timer = nil; c.old.size > 0 {
		c.timer = time.AfterFunc(c.idle/2, c.age)
	}
}

// close drops everything and takes nothing from now on: there is no writer any
// more that would end what it begins.
func (c *recent) close() {
	c.begin()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// rewrites reports whether a statement changes, moves or removes messages that
// are there.
func rewrites(query string) bool {
	return strings.HasPrefix(query, `UPDATE messages`) || strings.HasPrefix(query, `DELETE FROM messages`)
}
