package sqlite

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
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
	byKey   map[int64]*list.Element    // of *stretch
	used    list.List                  // the last used in front
	ids     map[channels.Key]int64     // of keys that were asked for
	heads   map[channels.Key]rows.Head // of keys that were changed

	timer *time.Timer    // nil: none runs
	aging sync.WaitGroup // what the timer starts
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
	c.byKey, c.ids, c.heads = nil, nil, nil
	c.used.Init()
}

// id is that of a key, if it is known, and the number of the changes.
func (c *recent) id(k channels.Key) (id int64, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[k], c.changes
}

// putID remembers the id of a key that was read since changes.
func (c *recent) putID(k channels.Key, id int64, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy || changes != c.changes {
		return
	}
	if c.ids == nil || len(c.ids) >= keysMost {
		c.ids = map[channels.Key]int64{}
	}
	c.ids[k] = id
}

// head is that of k, if it is known.
func (c *recent) head(k channels.Key) (h rows.Head, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok = c.heads[k]
	return h, ok
}

// putHeads remembers the heads of keys as a commit left them; known are those
// that the writer still knows.
func (c *recent) putHeads(touched map[channels.Key]bool, known map[channels.Key]*keyRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heads == nil || len(c.heads) >= keysMost {
		c.heads = map[channels.Key]rows.Head{}
	}
	for k := range touched {
		if r := known[k]; r != nil && !c.busy {
			c.heads[k] = r.head()
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

// put holds what a read has found: rows behind those that [recent.stretch] had
// from first on, or all from first on. changes is the number when it began.
func (c *recent) put(key, first int64, rows []sessions.Message, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(rows); c.busy || changes != c.changes || n == 0 || rows[n-1].Seq-rows[0].Seq != int64(n-1) {
		return
	}
	s := &stretch{key: key}
	if e := c.byKey[key]; e != nil {
		s = e.Value.(*stretch)
		c.drop(e)
	}
	begin := rows[0].Seq
	// Another read of the same key may have been faster, or have begun elsewhere.
	if n := len(s.rows); n == 0 || s.rows[0].Seq > first || s.rows[n-1].Seq != begin-1 {
		if begin != first {
			return
		}
		s.rows, s.size = nil, 0
	}
	for len(s.rows) > 0 && s.rows[0].Seq < first {
		s.size -= sizeOf(&s.rows[0])
		s.rows = s.rows[1:]
	}
	s.rows = append(s.rows, rows...)
	for i := range rows {
		s.size += sizeOf(&rows[i])
	}
	if s.size > recentOne {
		return
	}
	if c.byKey == nil {
		c.byKey = make(map[int64]*list.Element)
	}
	s.at = time.Now()
	c.byKey[key] = c.used.PushFront(s)
	for c.size += s.size; c.size > recentMost; {
		c.drop(c.used.Back())
	}
	if c.timer == nil {
		c.wake(c.idle)
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
	for c.size > recentMost {
		c.drop(c.used.Back())
	}
}

// trim drops of a key what is older than first, which its turns no longer read.
func (c *recent) trim(key, first int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return
	}
	s := e.Value.(*stretch)
	for len(s.rows) > 1 && s.rows[0].Seq < first {
		n := sizeOf(&s.rows[0])
		s.size, c.size = s.size-n, c.size-n
		s.rows = s.rows[1:]
	}
}

// wake has age called after d, under the lock.
func (c *recent) wake(d time.Duration) {
	c.aging.Add(1)
	c.timer = time.AfterFunc(d, c.age)
}

// age drops what was not used for a while: the words of a conversation are not
// to lie in memory for as long as the process lives. While something is held a
// timer runs up to the first moment at which that may be, so that it also goes
// where nothing else happens, and nobody is woken for nothing.
func (c *recent) age() {
	defer c.aging.Done()
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
// more that would end what it begins. No timer runs when it returns.
func (c *recent) close() {
	c.begin()
	c.mu.Lock()
	if c.timer != nil && c.timer.Stop() {
		c.timer = nil
		c.aging.Done()
	}
	c.mu.Unlock()
	c.aging.Wait()
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
