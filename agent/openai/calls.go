package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// calls puts tool calls together from their pieces. The protocol says: the
// first piece of a call has its id and name, and every piece its index.
// Servers were seen to leave the index out, to use index 0 for every call, to
// repeat id and name in each piece, to make up a new id for each piece, to
// send names in pieces, and to send no ids at all.
type calls struct {
	list []*partial
}

type partial struct {
	index int
	id    string
	name  string
	args  strings.Builder
	extra json.RawMessage // what the provider attached
}

// add takes the piece at position pos of the count pieces in its chunk. It
// reports whether there is anything in it.
func (c *calls) add(d *toolCall, pos, count int) (progress bool) {
	args := argumentText(d.Function.Arguments)
	p, index := c.find(d, pos, count)
	if p == nil || p.over(d) {
		p = &partial{index: index}
		c.list = append(c.list, p)
	}
	if p.id == "" {
		p.id = string(d.ID)
	}
	// A name that comes again is repeated; another is the rest of it.
	if d.Function.Name != p.name {
		p.name += d.Function.Name
	}
	p.args.WriteString(args)
	if present(d.Extra) {
		p.extra = bytes.Clone(d.Extra)
	}
	return args != "" || d.ID != "" || d.Function.Name != ""
}

// extras are what is attached to the calls, by position; nil if that is nothing.
func (c *calls) extras() []json.RawMessage {
	var out []json.RawMessage
	for i, p := range c.list {
		if p.extra != nil {
			if out == nil {
				out = make([]json.RawMessage, len(c.list))
			}
			out[i] = p.extra
		}
	}
	return out
}

// find returns the call that the piece may belong to, or nil, and the index of
// a new one.
func (c *calls) find(d *toolCall, pos, count int) (p *partial, index int) {
	switch {
	case d.Index.Said:
		index = int(d.Index.Value)
	case count > 1:
		index = pos
	default:
		// Without any index a piece continues the call of its id or
		// the newest one.
		for _, p := range c.list {
			if d.ID != "" && p.id == string(d.ID) {
				return p, p.index
			}
		}
		if n := len(c.list); n > 0 {
			return c.list[n-1], n
		}
		return nil, 0
	}
	for i := len(c.list) - 1; i >= 0; i-- {
		if c.list[i].index == index {
			return c.list[i], index
		}
	}
	return nil, index
}

// over reports whether d begins a new call instead of continuing p.
func (p *partial) over(d *toolCall) bool {
	name := d.Function.Name
	switch {
	case name == "":
		return false // a call has a name, so this is a piece of one
	case d.ID != "" && p.id != "" && string(d.ID) != p.id:
		// Another id; unless the server makes one up for each piece.
		return name != p.name || p.args.Len() == 0 || p.whole()
	case d.ID != "" && string(d.ID) == p.id:
		return false
	default:
		return p.whole()
	}
}

// whole reports whether the arguments so far are an object or a list. It reads
// them only if they end like one: it is asked for each piece, and there may be
// a megabyte of pieces.
func (p *partial) whole() bool {
	args := strings.TrimRight(p.args.String(), " \t\r\n")
	return (strings.HasSuffix(args, "}") || strings.HasSuffix(args, "]")) && json.Valid([]byte(args))
}
