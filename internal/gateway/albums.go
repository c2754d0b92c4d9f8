package gateway

import (
	"time"

	"dragoman/channels"
)

const (
	// albumQuiet is how soon after one part of an album the next one must come
	// for both to be answered together.
	albumQuiet = 500 * time.Millisecond
	// albumLimit bounds the wait for all parts from the first one on. With a
	// [channels.Pauser] it is at least four of its pauses.
	albumLimit = 3 * time.Second
)

// albumPause returns how long a turn waits after m for the rest of its album, and
// how long at most after the first part. Both are 0 if m belongs to no album.
func (b *binding) albumPause(m channels.Inbound) (quiet, most time.Duration) {
	if m.Album == "" || m.Edits != "" {
		return 0, 0
	}
	if p, ok := b.Channel.(channels.Pauser); ok {
		quiet = p.Pause(m)
		return quiet, max(albumLimit, 4*quiet)
	}
	return albumQuiet, albumLimit
}
