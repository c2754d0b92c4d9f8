package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"dragoman/agent/wire"
)

// prefix is a running sum of all that comes before an answer: what the API
// compares before it takes a thought back. Marks for caching are no part of it.
type prefix struct{ hash.Hash }

func newPrefix(system []block, tools []tool) *prefix {
	p := &prefix{sha256.New()}
	data, err := json.Marshal(struct {
		System []block
		Tools  []tool
	}{system, tools})
	if err == nil { // else the request is an error
		p.Write(data)
	}
	return p
}

// prefix is the sum of all messages so far.
func (e *encoder) prefix() string {
	for i := range e.list {
		m := &e.list[i]
		for ; m.summed < len(m.blocks); m.summed++ {
			b := m.blocks[m.summed]
			b.Cache = nil
			e.sum.Write([]byte(m.role))
			e.sum.Write(e.one(b))
		}
	}
	return hex.EncodeToString(e.sum.Sum(nil)[:8])
}

// before is the sum of all that the request in has. An answer to it keeps that.
func before(in *wire.Input) string {
	e := newEncoder(in)
	e.messages()
	return e.prefix()
}
