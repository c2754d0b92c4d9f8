package sqlite

import (
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

const (
	// cacheMost is about how many bytes of messages are cached, and cacheOne how many of
	// one conversation.
	cacheMost = 8 << 20
	cacheOne  = cacheMost / 16
	// messageOverhead is what a message uses beside its texts.
	messageOverhead = 300
	// headsMost is how many heads of keys are cached.
	headsMost = 4096
	// idleMost is how long messages stay cached after their last use.
	idleMost = 30 * time.Minute
)

// cache has the newest messages of conversations that were read recently, and the heads
// of keys that changed recently, so that a turn reads nothing from the file. Messages are
// written once and seqs have no gaps, so the cache goes stale only when messages are
// changed, moved or removed. The writer then clears all of it: see [rewrites].
//
// A read that began before such a change must not cache what it found. It gets the
// version of the cache with the cached messages, and put refuses an old version.
//
// The messages of a key are young when they are used. While the cache is too large, and
// when half of the idle time is over, young ones become old, and old ones are dropped.
type cache struct {
	mu        sync.Mutex
	version   uint64
	rewriting bool
	tails     map[int64]*tail // by the ids of their keys
	size      int             // of all tails
	heads     map[channels.Key]keyRow
	timer     *time.Timer // ages the tails; nil while there are none
}

// tail is the newest messages of a key. They are never changed, only appended to;
// readers get copies.
type tail struct {
	messages []sessions.Message
	size     int
	young    bool
}

func (t *tail) last() int64 { return t.messages[len(t.messages)-1].Seq }

func (t *tail) add(m *sessions.Message) { t.size += rules.Bytes(*m) + messageOverhead }

// rewrite clears the cache. The writer calls it before readers can see a change, and
// after that. In between the cache stays empty, so that no reader combines new heads with
// old messages.
func (c *cache) rewrite(begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rewriting = begins
	c.version++
	c.tails = nil
	c.size = 0
	c.heads = nil
}

func (c *cache) head(k channels.Key) (r keyRow, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok = c.heads[k]
	return r, ok
}

// putHeads caches the heads that a commit changed. Those that are not in known are
// deleted.
func (c *cache) putHeads(changed map[channels.Key]bool, known map[channels.Key]*keyRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heads == nil || len(c.heads) >= headsMost {
		c.heads = map[channels.Key]keyRow{}
	}
	for k := range changed {
		if r := known[k]; r != nil && !c.rewriting {
			c.heads[k] = *r
		} else {
			delete(c.heads, k)
		}
	}
}

// messages returns the cached messages of a key, oldest first, and the version.
func (c *cache) messages(key int64) ([]sessions.Message, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tails[key]
	if t == nil {
		return nil, c.version
	}
	t.young = true
	return t.messages, c.version
}

// put caches the messages that a read has used, unless newer ones are cached. version is
// that of the cache when the read began.
func (c *cache) put(key int64, list []sessions.Message, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(list)
	if c.rewriting || version != c.version || n == 0 || list[n-1].Seq-list[0].Seq != int64(n-1) {
		return
	}
	t := &tail{messages: list}
	if old := c.tails[key]; old != nil && old.last() > t.last() {
		return // another read or a commit was faster
	}
	for i := range list {
		t.add(&list[i])
	}
	c.drop(key)
	c.keep(key, t)
}

// extend appends committed messages to the cached ones of their keys.
func (c *cache) extend(added []addedMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range added {
		t := c.tails[a.key]
		if t == nil || c.rewriting || t.last() != a.m.Seq-1 { // a read was faster
			continue
		}
		c.drop(a.key)
		t.messages = append(t.messages, rules.Clone(a.m))
		t.add(&a.m)
		c.keep(a.key, t)
	}
}

// keep keeps a tail that is not too large. The caller holds mu.
func (c *cache) keep(key int64, t *tail) {
	if t.size > cacheOne {
		return // the next read caches fewer messages
	}
	if c.tails == nil {
		c.tails = map[int64]*tail{}
	}
	t.young = true
	c.tails[key] = t
	for c.size += t.size; c.size > cacheMost; {
		c.age(cacheMost)
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(idleMost/2, c.ageAll)
	}
}

// drop drops the tail of a key, if there is one. The caller holds mu.
func (c *cache) drop(key int64) {
	if t := c.tails[key]; t != nil {
		c.size -= t.size
		delete(c.tails, key)
	}
}

// age drops old tails and makes young ones old, in no order, until most bytes are left.
// The caller holds mu.
func (c *cache) age(most int) {
	for key, t := range c.tails {
		if c.size <= most {
			return
		}
		if !t.young {
			c.drop(key)
		}
		t.young = false
	}
}

// ageAll is age for all tails, so that the words of a conversation do not stay in memory
// as long as the process lives.
func (c *cache) ageAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age(0)
	c.timer = nil
	if c.size > 0 {
		c.timer = time.AfterFunc(idleMost/2, c.ageAll)
	}
}

// close clears the cache and keeps it empty: there is no writer any more to clear it.
func (c *cache) close() {
	c.rewrite(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
