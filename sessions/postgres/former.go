package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"dragoman/sessions"
)

// Nodes of versions before seals may work beside this one. They understand notes in the
// clear only, and send such notes. Everybody who may connect to the database can hear those,
// and can write others like them. So while such a node is listed, it gets, and may send,
// only what makes a node look into the store, and calls of sessions.FormerMethods, whose
// functions check in the store what they are asked. As soon as none is listed, a note in
// the clear is refused.

// formerCallsMost is how many calls without a seal this node answers at once. It drops more.
const formerCallsMost = 64

// readFormers reads which nodes seal nothing.
func (b *backend) readFormers(ctx context.Context) error {
	list, err := all(ctx, b.pool, pgx.RowTo[string], `SELECT id FROM nodes WHERE NOT sealed AND expires > clock_timestamp()`)
	if err != nil {
		return err
	}
	formers := map[string]bool{}
	for _, id := range list {
		formers[id] = true
	}
	b.formers.Store(&formers)
	return nil
}

func (b *backend) isFormer(node string) bool {
	list := b.formers.Load()
	return list != nil && (*list)[node]
}

func (b *backend) someFormer() bool {
	list := b.formers.Load()
	return list != nil && len(*list) > 0
}

// formerMay reports whether a note may be sent in the clear, and heeded.
func formerMay(n *note) bool {
	switch n.Kind {
	case isFence, isJobs, isLeaseFree, isAnswer, isFailure:
		return true
	case isCall:
		return slices.Contains(sessions.FormerMethods, n.Method)
	}
	return false
}

// plain returns the payloads of a note for a former node.
func (n note) plain(data []byte) (list []string) {
	for {
		part := data[:min(len(data), maxPart)]
		data = data[len(part):]
		n.Data = part
		n.More = (len(data) + maxPart - 1) / maxPart
		list = append(list, encode(n))
		if n.More == 0 {
			return list
		}
	}
}

// readFormer reads a note without a seal. Error: errNote, if no former node that is listed
// may have sent it. A call that it may not make is answered as by a node that does not
// know it.
func (b *backend) readFormer(payload string) (n note, err error) {
	if !b.someFormer() || json.Unmarshal([]byte(payload), &n) != nil || !b.isFormer(n.From) {
		return note{}, errNote
	}
	n.former = true
	if !formerMay(&n) {
		n.Data = nil // startCall refuses a call, and handle ignores the rest
	}
	return n, nil
}

// lastHolder is the node that had a lease when this process last called it.
func (b *backend) lastHolder(lease string) callee {
	last, _ := b.holders.Load(lease)
	c, _ := last.(callee)
	return c
}

func (b *backend) noteHolder(lease string, c callee) { b.holders.Store(lease, c) }
