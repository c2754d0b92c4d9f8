// Package tokens counts tokens as OpenAI's models do, for configurations that
// name the encoding of their model.
//
// The promise: a text of up to 128 KiB is counted as the model counts it, except that
// it is counted in pieces of a few KiB, which sometimes costs a token at a border. A
// longer text is estimated from samples of 128 KiB in all, so no message, however
// long, delays a turn by more than about a tenth of a second. Counts are cached by
// text, which makes a conversation's next request cheap.
//
// Vocabularies are large: o200k_base takes 4 MB of heap, packed 1 MB of the binary. The
// first [Open] of an encoding loads it, and it stays loaded. Nothing here starts a
// goroutine, reads a file or uses the network.
//
// A text is cut into pieces as the encoding's expression says (split.go), the vocabulary
// knows the tokens (vocabulary.go), and a piece that is none is merged from its bytes
// (merge.go). Tests compare all three with tiktoken-go, which would weigh 8 MB more.
package tokens

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"dragoman/agent/window"
)

// encoding is how a family of models makes tokens of a text.
type encoding struct {
	vocabulary func() *vocabulary
	// split returns the length of the first piece of a text that is not empty.
	split func(s string) int
}

var encodings = map[string]encoding{
	"o200k_base":  {sync.OnceValue(func() *vocabulary { return load(o200kBase) }), splitO200k},
	"cl100k_base": {sync.OnceValue(func() *vocabulary { return load(cl100kBase) }), splitCl100k},
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
	vocabulary *vocabulary
	split      func(s string) int
	seed       maphash.Seed

	mu    sync.Mutex
	known map[uint64]int
}

// Open returns a counter for the encoding with that name.
func Open(name string) (*Counter, error) {
	e, found := encodings[name]
	if !found {
		return nil, fmt.Errorf("tokens: open: unknown encoding %q; the known ones are %s", name, strings.Join(Names(), " and "))
	}
	return &Counter{vocabulary: e.vocabulary(), split: e.split, seed: maphash.MakeSeed(), known: make(map[uint64]int)}, nil
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

// count counts s in parts of a few KiB, because a piece of megabytes, such as a text
// without spaces, would take megabytes of memory to merge.
func (c *Counter) count(s string) int {
	m := merger{vocabulary: c.vocabulary}
	total := 0
	for s != "" {
		part := s[:border(s)]
		s = s[len(part):]
		for part != "" {
			piece := part[:c.split(part)]
			part = part[len(piece):]
			total += m.count(piece)
		}
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
