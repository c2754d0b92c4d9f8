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
// A read that began before such a change must not cache what it found. It takes the
// version of the cache first, and put refuses an old version.
//
// Messages are young when they are used. All of them become old when they fill the cache,
// and when half of the idle time is over. A full cache drops old ones, in no order, until
// there is room. Those still old after the other half are dropped, too.
type cache struct {
	mu         sync.Mutex
	version    uint64
	rewriting  bool
	young, old tails
	heads      map[channels.Key]keyRow
	timer      *time.Timer // calls age; nil while nothing is cached
}

// tail is the newest messages of a key. They are never changed, only appended to;
// readers get copies.
type tail struct {
	messages []sessions.Message
	size     int
}

func (t *tail) last() int64 { return t.messages[len(t.messages)-1].Seq }

// tails has the tails of keys, by their ids.
type tails struct {
	byKey map[int64]*tail
	size  int
}

func (l *tails) put(key int64, t *tail) {
	if l.byKey == nil {
		l.byKey = map[int64]*tail{}
	}
	l.byKey[key] = t
	l.size += t.size
}

func (l *tails) drop(key int64) {
	if t := l.byKey[key]; t != nil {
		l.size -= t.size
		delete(l.byKey, key)
	}
}

func cachedSize(m *sessions.Message) int { return rules.Bytes(*m) + messageOverhead }

// now is the version, for a read that begins.
func (c *cache) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// beginRewrite clears the cache before readers can see a change, and keeps it empty until
// endRewrite, so that no reader combines new heads with old messages.
func (c *cache) beginRewrite() { c.clear(true) }

func (c *cache) endRewrite() { c.clear(false) }

func (c *cache) clear(rewriting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rewriting = rewriting
	c.version++
	c.young, c.old, c.heads = tails{}, tails{}, nil
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

// messages returns the cached messages of a key, oldest first.
func (c *cache) messages(key int64) []sessions.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.use(key); t != nil {
		return t.messages
	}
	return nil
}

// use returns the tail of a key and makes it young. The caller holds mu.
func (c *cache) use(key int64) *tail {
	if t := c.old.byKey[key]; t != nil {
		c.old.drop(key)
		c.putYoung(key, t)
	}
	return c.young.byKey[key]
}

// putYoung keeps a tail that is not too large. The caller holds mu.
func (c *cache) putYoung(key int64, t *tail) {
	if t.size > cacheOne {
		return // the next read caches fewer messages
	}
	if c.young.size+t.size > cacheMost {
		c.young, c.old = tails{}, c.young
	}
	for other := range c.old.byKey {
		if c.young.size+c.old.size+t.size <= cacheMost {
			break
		}
		c.old.drop(other)
	}
	c.young.put(key, t)
	if c.timer == nil {
		c.timer = time.AfterFunc(idleMost/2, c.age)
	}
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
	if old := c.use(key); old != nil && old.last() > t.last() {
		return // another read or a commit was faster
	}
	for i := range list {
		t.size += cachedSize(&list[i])
	}
	c.young.drop(key)
	c.putYoung(key, t)
}

// extend appends committed messages to the cached ones of their keys.
func (c *cache) extend(added []addedMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range added {
		t := c.use(a.key)
		if t == nil || c.rewriting || t.last() != a.m.Seq-1 { // a read was faster
			continue
		}
		c.young.drop(a.key)
		t.messages = append(t.messages, rules.Clone(a.m))
		t.size += cachedSize(&a.m)
		c.putYoung(a.key, t)
	}
}

// age drops old messages, so that the words of a conversation do not stay in memory as
// long as the process lives.
func (c *cache) age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = tails{}, c.young
	if c.timer = nil; c.old.size > 0 {
		c.timer = time.AfterFunc(idleMost/2, c.age)
	}
}

// close clears the cache and keeps it empty: there is no writer any more to clear it.
func (c *cache) close() {
	c.beginRewrite()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
