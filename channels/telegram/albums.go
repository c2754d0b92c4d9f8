package telegram

import (
	"slices"
	"strconv"
	"sync"

	"github.com/go-telegram/bot/models"
)

// mostAlbums is how many albums are remembered: their parts come one right
// after the other.
const mostAlbums = 64

// albums are those that address the bot. Telegram makes a message of each
// picture, and only one of them has the caption that says for whom they are.
type albums struct {
	mu    sync.Mutex
	names []string // oldest first
}

func (s *albums) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.names, name) {
		return
	}
	if s.names = append(s.names, name); len(s.names) > mostAlbums {
		s.names = slices.Delete(s.names, 0, 1)
	}
}

// has reports whether m is part of one of them.
func (s *albums) has(m *models.Message) bool {
	if m.MediaGroupID == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.names, albumName(m))
}

// albumName is unique over chats.
func albumName(m *models.Message) string {
	return strconv.FormatInt(m.Chat.ID, 10) + "/" + m.MediaGroupID
}

// addressAlbums looks which albums of a batch address the bot, before their
// parts are handed in: the caption need not stand under the first one. What
// trips a bug of ours here does so again in understand, which says it.
func (c *Channel) addressAlbums(batch []arrived) {
	defer func() { _ = recover() }()
	for _, a := range batch {
		m, _ := a.message()
		if m == nil || m.MediaGroupID == "" {
			continue
		}
		if _, addressed, ok := c.address(m.Caption, m.CaptionEntities); ok && (addressed || c.answersMe(m)) {
			c.albums.add(albumName(m))
		}
	}
}
