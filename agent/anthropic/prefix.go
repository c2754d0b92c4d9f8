package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"dragoman/agent/wire"
)

// prefixHash hashes everything before an answer, as the API compares it before
// it accepts a thought. Cache marks are left out.
type prefixHash struct{ hash.Hash }

func newPrefixHash(system []block, tools []tool) *prefixHash {
	p := &prefixHash{sha256.New()}
	data, err := json.Marshal(struct {
		System []block
		Tools  []tool
	}{system, tools})
	if err == nil { // on an error, Encode fails too
		p.Write(data)
	}
	return p
}

// prefixSum returns the hash of all messages so far.
func (e *encoder) prefixSum() string {
	for i := range e.list {
		m := &e.list[i]
		for ; m.hashed < len(m.blocks); m.hashed++ {
			b := m.blocks[m.hashed]
			b.Cache = nil
			e.hash.Write([]byte(m.role))
			e.hash.Write(e.encodeBlock(b))
		}
	}
	return hex.EncodeToString(e.hash.Sum(nil)[:8])
}

// requestSum returns the hash of the whole request. The answer to it keeps that
// hash.
func requestSum(in *wire.Input) string {
	e := newEncoder(in)
	e.addMessages()
	return e.prefixSum()
}
