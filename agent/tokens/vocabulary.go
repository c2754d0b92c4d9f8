package tokens

import (
	"compress/gzip"
	_ "embed"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"strings"
)

// Each file is one encoding's tokens in the order of their ranks, as a byte with the
// length and then the token. UPDATE=1 go test -run Vocabularies ./agent/tokens makes
// them from tiktoken-go's maps (MIT licence). Those weigh 9.3 MB in a binary, these 1.5.
var (
	//go:embed o200k_base.gz
	o200kBase string
	//go:embed cl100k_base.gz
	cl100kBase string
)

// noRank is the rank of what is no token.
const noRank = math.MaxUint32

// vocabulary finds the rank of a token: a hash table of ranks with open addressing,
// over one string with all tokens. A map of strings would need twice the memory, and
// the collector would look at each of them.
type vocabulary struct {
	text string
	// ends[rank] is where in text that token ends, and the next one begins.
	ends []uint32
	// slots has a power of two of entries: a rank, or noRank where it is empty.
	slots []uint32
	seed  maphash.Seed
}

// load reads one of the embedded files. That they can be read is a promise of the
// tests, so it panics if not.
func load(file string) *vocabulary {
	unpacked, err := gzip.NewReader(strings.NewReader(file))
	if err != nil {
		panic(fmt.Errorf("tokens: load: %w", err))
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		panic(fmt.Errorf("tokens: load: %w", err))
	}
	v := &vocabulary{seed: maphash.MakeSeed()}
	var text strings.Builder
	text.Grow(len(data))
	for len(data) > 0 {
		next := 1 + int(data[0])
		text.Write(data[1:next])
		v.ends = append(v.ends, uint32(text.Len()))
		data = data[next:]
	}
	v.text = text.String()
	v.index()
	return v
}

// index fills the slots, of which at most half are used.
func (v *vocabulary) index() {
	size := 1
	for size < 2*len(v.ends) {
		size *= 2
	}
	v.slots = make([]uint32, size)
	for i := range v.slots {
		v.slots[i] = noRank
	}
	for rank := range v.ends {
		slot := v.find(v.token(uint32(rank)))
		v.slots[slot] = uint32(rank)
	}
}

// token returns the token with that rank.
func (v *vocabulary) token(rank uint32) string {
	begin := uint32(0)
	if rank > 0 {
		begin = v.ends[rank-1]
	}
	return v.text[begin:v.ends[rank]]
}

// find returns the slot that has the rank of s, or the empty one where it would be.
func (v *vocabulary) find(s string) uint64 {
	last := uint64(len(v.slots) - 1)
	slot := maphash.String(v.seed, s) & last
	for v.slots[slot] != noRank && v.token(v.slots[slot]) != s {
		slot = (slot + 1) & last
	}
	return slot
}

// rank returns the rank of s, or noRank.
func (v *vocabulary) rank(s string) uint32 { return v.slots[v.find(s)] }
