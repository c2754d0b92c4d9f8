package telegram

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

const (
	// longUnits is the length, in UTF-16 units, from which a message may be a piece of a
	// longer one: Telegram's apps cut what people paste at 4096, or a little before, at
	// the end of a line.
	longUnits = 3900
	// longPause is how long the next piece may take. The apps send them within a tenth
	// of a second; a slow connection needs more.
	longPause = time.Second
	// maxPieceGap is the greatest difference between the times that Telegram gives two
	// pieces, in seconds.
	maxPieceGap = 2
	// maxPastes bounds the people whose last long message is remembered.
	maxPastes = 1000
	// pasteAlbum begins the Inbound.Album of the pieces of one long message.
	pasteAlbum = "long/"
	// pictureQuiet is how far apart the pictures of an album arrive.
	pictureQuiet = 500 * time.Millisecond
)

// writer is a person, or a chat that speaks, in a chat.
type writer struct {
	chat   int64
	topic  int
	author string
}

// paste is the long message of a writer, as far as it has arrived.
type paste struct {
	album     string
	addressed bool // its first piece addresses the bot
	last      int  // the message id of its newest piece
	date      int  // of that piece
	open      bool // that piece is long, so that another may follow
}

// pastes are the newest long messages. They are only in memory: after a restart the
// pieces of one are messages that wait together.
type pastes struct {
	mu sync.Mutex
	m  map[writer]paste
}

// take returns the paste to which m belongs, and whether it does. It gives the same
// answer when m is handed in again.
func (p *pastes) take(m *models.Message, who channels.Person, addressed bool) (paste, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := writer{m.Chat.ID, m.MessageThreadID, who.ID() + "/" + who.Name}
	known, has := p.m[at]
	long := units(m.Text) >= longUnits
	follows := has && known.open && m.ID > known.last && m.Date-known.date <= maxPieceGap
	switch {
	case has && known.last == m.ID:
		return known, true
	case follows:
		known.last = m.ID
		known.date = m.Date
		known.open = long
	case long:
		known = paste{album: fmt.Sprintf("%s%d/%d", pasteAlbum, m.Chat.ID, m.ID), addressed: addressed, last: m.ID, date: m.Date, open: true}
	default:
		return paste{}, false
	}
	if p.m == nil || len(p.m) >= maxPastes {
		p.m = map[writer]paste{}
	}
	p.m[at] = known
	return known, true
}

// isPiece reports whether m may be a piece of a long message: words that a person has
// just written.
func isPiece(m *models.Message, edited bool) bool {
	return m.Text != "" && !edited && m.ForwardOrigin == nil && m.MediaGroupID == ""
}

var _ channels.Pauser = (*Channel)(nil)

// Pause implements [channels.Pauser]: only a piece of a long message that is long itself
// waits for another.
func (c *Channel) Pause(m channels.Inbound) time.Duration {
	switch {
	case !strings.HasPrefix(m.Album, pasteAlbum):
		return pictureQuiet
	case units(m.Text) >= longUnits-100: // the bot's name was cut off
		return longPause
	}
	return 0
}
