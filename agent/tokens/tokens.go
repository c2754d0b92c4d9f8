// Package tokens counts tokens as OpenAI's models do, for configurations that
// name the encoding of their model.
//
// The promise: a text of up to 128 KiB is counted as the model counts it, except that
// it is counted in pieces of a few KiB, which sometimes costs a token at a border. A
// longer text is estimated from samples of 128 KiB in all, so no message, however
// long, delays a turn by more than about a tenth of a second. Counts are cached by
// text, which makes a conversation's next request cheap.
//
// Vocabularies are large: o200k_base takes about 6 MB of heap and as much of the
// binary's pages. The first [Open] of an encoding loads it, and it stays loaded.
// Nothing here starts a goroutine, reads a file or uses the network.
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

var encodings = map[string]func() *codec.Codec{
	"o200k_base":  sync.OnceValue(codec.NewO200kBase),
	"cl100k_base": sync.OnceValue(codec.NewCl100kBase),
}

// Names returns the encodings that [Open] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(encodings)) }

const (
	// maxCounted is how many bytes of a text are counted, in pieces of pieceBytes.
	maxCounted = 128 << 10
	pieceBytes = 4 << 10
	// maxKnown is how many counts are cached, at 16 bytes each.
	maxKnown = 1 << 15
	// shortText: shorter texts are not worth caching.
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
		return nil, fmt.Errorf("tokens: open: unknown encoding %q; the known ones are %s", encoding, strings.Join(Names(), " and "))
	}
	return &Counter{codec: load(), seed: maphash.MakeSeed(), known: make(map[uint64]int)}, nil
}

// Count returns the number of tokens in s.
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
	if len(s) > maxCounted {
		n = window.Sampled(s, maxCounted, pieceBytes, c.count)
	} else {
		n = c.count(s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[sum] = n
	return n
}

// count counts s in pieces, because the tokenizer's time and memory grow faster than
// the text. If the tokenizer fails, it uses the estimate.
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

// border returns the end of the first piece of s: before a space near pieceBytes,
// where tokens begin too, otherwise between two runes.
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
