package sqlite

import (
	"container/list"
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
)

// recent holds the newest messages of conversations that were read of late and
// the heads of those that were changed, so that a turn reads nothing from the
// file. Rows of a transcript
// are written once, and seqs have no gaps: what is held can only become wrong
// when rows are changed, moved or removed. All that is rare, and done by the
// one writer, so it forgets everything then: see [writer.stmt].
//
// A read that began before such a change must not put here what it found. It
// takes the number of the changes with it, and is refused if that has grown.
//
// What nobody used for a while goes too: see [recent.age].
type recent struct {
	idle time.Duration // how long that is

	mu      sync.Mutex
	changes uint64
	busy    bool // between begin and forget
	size    int
	byKey   map[int64]*list.Element // of *stretch
	used    list.List               // the last used in front
	heads   map[channels.Key]keyRow // of keys that were changed
	timer   *time.Timer             // nil: none runs
}

// stretch is the newest messages of a key, without gaps. They are never changed,
// only others put behind them; readers get copies.
type stretch struct {
	key  int64
	rows []sessions.Message
	size int
	at   time.Time // of its last use
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
	c.size = 0
	c.byKey, c.heads = nil, nil
	c.used.Init()
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
	if c.heads == nil || len(c.heads) >= keysMost {
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

// stretch returns what it has of the messages of a key, without gaps, oldest
// first.
func (c *recent) stretch(key int64) []sessions.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	s := e.Value.(*stretch)
	s.at = time.Now()
	return s.rows
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
	if e := c.byKey[key]; e != nil {
		if held := e.Value.(*stretch).rows; held[len(held)-1].Seq > rows[n-1].Seq {
			return // another read of the same key, or a commit, was faster
		}
		c.drop(e)
	}
	s := &stretch{key: key, rows: rows, at: time.Now()}
	for i := range rows {
		s.size += sizeOf(&rows[i])
	}
	if s.size > recentOne {
		return
	}
	if c.byKey == nil {
		c.byKey = make(map[int64]*list.Element)
	}
	c.byKey[key] = c.used.PushFront(s)
	c.size += s.size
	c.shrink()
	if c.timer == nil {
		c.wake(c.idle)
	}
}

// shrink drops what was not used for longest, under the lock.
func (c *recent) shrink() {
	for c.size > recentMost {
		c.drop(c.used.Back())
	}
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
	for i := range said {
		e := c.byKey[said[i].key]
		if e == nil || c.busy {
			continue
		}
		s, m := e.Value.(*stretch), &said[i].m
		if s.rows[len(s.rows)-1].Seq != m.Seq-1 {
			continue // a read was faster
		}
		s.rows = append(s.rows, rules.Clone(*m))
		s.size += sizeOf(m)
		c.size += sizeOf(m)
		if s.size > recentOne {
			c.drop(e) // the next read holds fewer
		}
	}
	c.shrink()
}

// wake has age called after d, under the lock.
func (c *recent) wake(d time.Duration) { c.timer = time.AfterFunc(d, c.age) }

// age drops what was not used for a while: the words of a conversation are not
// to lie in memory for as long as the process lives. While something is held a
// timer runs up to the first moment at which that may be, so that it also goes
// where nothing else happens, and nobody is woken for nothing.
func (c *recent) age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	for now := time.Now(); c.used.Len() > 0; {
		oldest := c.used.Back()
		if left := c.idle - now.Sub(oldest.Value.(*stretch).at); left > 0 {
			c.wake(left)
			return
		}
		c.drop(oldest)
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

// drop takes e out, under the lock.
func (c *recent) drop(e *list.Element) {
	s := c.used.Remove(e).(*stretch)
	c.size -= s.size
	delete(c.byKey, s.key)
}

// rewrites reports whether a statement changes, moves or removes messages that
// are there.
func rewrites(query string) bool {
	return strings.HasPrefix(query, `UPDATE messages`) || strings.HasPrefix(query, `DELETE FROM messages`)
}
