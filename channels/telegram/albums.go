package telegram

import (
	"slices"
	"strconv"
	"sync"

	"github.com/go-telegram/bot/models"
)

// maxAlbums bounds the albums that are remembered. A few are enough, because the parts
// of an album arrive together.
const maxAlbums = 64

// albums are the albums that address the bot. Each picture of an album is a message,
// and only one of them has the caption with the bot's name.
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
	if s.names = append(s.names, name); len(s.names) > maxAlbums {
		s.names = slices.Delete(s.names, 0, 1)
	}
}

func (s *albums) has(m *models.Message) bool {
	if m.MediaGroupID == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.names, albumName(m))
}

// albumName is unique across chats.
func albumName(m *models.Message) string {
	return strconv.FormatInt(m.Chat.ID, 10) + "/" + m.MediaGroupID
}

// addressAlbums finds the albums in batch that address the bot. It runs before their
// parts go to the intake, because the caption need not be under the first one. A
// panic here comes again in inbound, which reports it.
func (c *Channel) addressAlbums(batch []update) {
	defer func() { _ = recover() }()
	for _, a := range batch {
		m, _ := a.message()
		if m == nil || m.MediaGroupID == "" {
			continue
		}
		if _, addressed, ok := c.spokenTo(m.Caption, m.CaptionEntities); ok && (addressed || c.answersMe(m)) {
			c.albums.add(albumName(m))
		}
	}
}
