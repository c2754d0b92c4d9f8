// Package tokens counts tokens as OpenAI's models do, for configurations that
// name the encoding of their model.
//
// The promise: a text of up to 128 KiB is counted as the model counts it,
// except that it is taken in pieces of a few KiB, which costs a token at a
// border now and then. Of a longer text as much is counted, in samples spread
// over it, and the rest is taken to be like them, so that no message, however
// long, makes a turn wait for more than about a tenth of a second. A text
// that was counted before is found again, which makes a conversation's next
// request cheap.
//
// Vocabularies are large: about 6 MB of heap for o200k_base, and as much of
// the binary comes into memory. They are loaded by the first [Open] of their
// encoding and stay. Nothing here starts a goroutine, reads a file or uses the
// network.
package tokens

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"dragoman/agent/window"
)

// encodings are the vocabularies by name.
var encodings = map[string]func() *codec.Codec{
	"o200k_base":  sync.OnceValue(codec.NewO200kBase),
	"cl100k_base": sync.OnceValue(codec.NewCl100kBase),
}

// Names are the encodings that [Open] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(encodings)) }

const (
	// mostCounted is how much of a text is counted, in pieces of pieceBytes.
	mostCounted = 128 << 10
	pieceBytes  = 4 << 10
	// mostKnown is how many counts are remembered; 16 bytes each.
	mostKnown = 1 << 15
	// shortText is not worth remembering.
	shortText = 64
)

// Counter counts in one encoding. It is safe for concurrent use.
type Counter struct {
	codec *codec.Codec
	seed  maphash.Seed

	mu    sync.Mutex
	known map[uint64]int
}

// Open returns a counter for the encoding with that name.
func Open(encoding string) (*Counter, error) {
	load, found := encodings[encoding]
	if !found {
		return nil, fmt.Errorf("tokens: open: no encoding is called %q; there are %s", encoding, strings.Join(Names(), " and "))
	}
	return &Counter{codec: load(), seed: maphash.MakeSeed(), known: make(map[uint64]int)}, nil
}

// Count returns how many tokens s has.
func (c *Counter) Count(s string) int {
	if len(s) < shortText {
		return c.count(s)
	}
	sum := maphash.String(c.seed, s)
	c.mu.Lock()
	n, found := c.known[sum]
	c.mu.Unlock()
	if found {
		return n
	}
	if len(s) > mostCounted {
		n = window.Sampled(s, mostCounted, pieceBytes, c.count)
	} else {
		n = c.count(s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostKnown {
		clear(c.known)
	}
	c.known[sum] = n
	return n
}

// count takes s in pieces, because the tokenizer's time and memory grow faster
// than a text does. Without one it answers with the estimate.
func (c *Counter) count(s string) int {
	total := 0
	for s != "" {
		piece := s[:border(s)]
		s = s[len(piece):]
		n, err := c.codec.Count(piece)
		if err != nil {
			n = window.EstimateText(piece)
		}
		total += n
	}
	return total
}

// border is where the first piece of s ends: before a blank near pieceBytes,
// where tokens begin too, or else between two runes.
func border(s string) int {
	if len(s) <= pieceBytes {
		return len(s)
	}
	if i := strings.LastIndexByte(s[pieceBytes/2:pieceBytes], ' '); i >= 0 {
		return pieceBytes/2 + i
	}
	i := pieceBytes
	for i > pieceBytes-utf8.UTFMax && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}
