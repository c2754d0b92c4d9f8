package whatsapp

import (
	"slices"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/types"
)

const (
	mostSeen   = 2000 // messages
	mostChats  = 2000
	mostUnread = 100 // per chat
)

// memory is what is known about recent messages, for quoting them, for
// marking them as read, and for telling whether a deleted one concerned us. It
// is lost at a restart, and everything works without it, only plainer.
type memory struct {
	mu    sync.Mutex
	seen  map[string]seenMessage
	order []string // ids in seen, oldest first
	chats map[string]*chatMemory
	queue []string // keys of chats, oldest first
	// joined are the chats whose conversations were joined. A person is a few
	// bytes here, so it has no limit.
	joined map[string]bool
}

// seenMessage is one message that is or was handed in.
type seenMessage struct {
	chat, sender types.JID
	text         string
	addressed    bool
	// unmarked: it can be marked as read; not what we wrote ourselves.
	unmarked bool
}

// chatMemory is one conversation, by the chat of its key.
type chatMemory struct {
	jid types.JID // how WhatsApp addressed its newest message
	// expires is how long messages live there, in seconds; 0: for ever.
	expires uint32
	unread  []unreadMessage
}

type unreadMessage struct {
	id     string
	sender types.JID
	at     time.Time
}

func newMemory() *memory {
	return &memory{seen: map[string]seenMessage{}, chats: map[string]*chatMemory{}, joined: map[string]bool{}}
}

// remember takes a message that is handed in as part of the conversation chat.
// One that is handed in again is not marked as read again.
func (m *memory) remember(chat, id string, s seenMessage, expires uint32, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, again := m.seen[id]
	if !again {
		if m.order = append(m.order, id); len(m.order) > mostSeen {
			delete(m.seen, m.order[0])
			m.order = m.order[1:]
		}
	}
	m.seen[id] = s
	c := m.chats[chat]
	if c == nil {
		c = &chatMemory{}
		m.chats[chat] = c
		if m.queue = append(m.queue, chat); len(m.queue) > mostChats {
			delete(m.chats, m.queue[0])
			m.queue = m.queue[1:]
		}
	}
	c.jid, c.expires = s.chat, expires
	if again || !s.unmarked {
		return
	}
	if c.unread = append(c.unread, unreadMessage{id, s.sender, at}); len(c.unread) > mostUnread {
		c.unread = c.unread[1:]
	}
}

func (m *memory) recall(id string) (seenMessage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[id]
	return s, ok
}

// chatOf is what is known about a conversation; zero if nothing.
func (m *memory) chatOf(chat string) (jid types.JID, expires uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.chats[chat]; c != nil {
		return c.jid, c.expires
	}
	return types.JID{}, 0
}

// takeUnread returns what was not marked as read yet and forgets it.
func (m *memory) takeUnread(chat string) (types.JID, []unreadMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.chats[chat]
	if c == nil {
		return types.JID{}, nil
	}
	unread := c.unread
	c.unread = nil
	return c.jid, unread
}

func (m *memory) isJoined(chat string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined[chat]
}

// join notes that one chat's conversation is another's now, and what was not
// marked as read in it with it.
func (m *memory) join(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined[to] = true
	old := m.chats[from]
	if old == nil || from == to {
		return
	}
	delete(m.chats, from)
	m.queue = slices.DeleteFunc(m.queue, func(chat string) bool { return chat == from })
	if m.chats[to] == nil {
		m.chats[to] = old
		m.queue = append(m.queue, to)
	}
}
