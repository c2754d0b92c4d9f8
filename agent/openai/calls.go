package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/agent/wire"
)

// calls joins the pieces of tool calls. By the protocol, the first piece of a
// call has its id and name, and every piece has its index. Real servers leave
// out the index, use index 0 for every call, repeat id and name in each piece,
// make up a new id for each piece, split names, or send no ids at all. Others send a
// call again, at another index or in a whole message.
type calls struct {
	list []*partialCall
	// whole are the calls of the newest whole message. They count if no pieces came.
	whole []*partialCall
}

// partialCall is a tool call while its pieces arrive.
type partialCall struct {
	index int
	id    string
	name  string
	args  wire.Args
	extra json.RawMessage // attached by the provider
}

// add adds one piece: number pos of the count pieces in its chunk. It reports
// whether the piece had any content.
func (c *calls) add(d *toolCall, pos, count int) (progress bool) {
	args := argumentText(d.Function.Arguments)
	p, index := c.find(d, pos, count)
	if p == nil || p.superseded(d) {
		p = &partialCall{index: index}
		c.list = append(c.list, p)
	}
	if p.id == "" {
		p.id = string(d.ID)
	}
	// The same name again is a repetition; another text is the rest of the name.
	if d.Function.Name != p.name {
		p.name += d.Function.Name
	}
	p.args.Add(args)
	if present(d.Extra) {
		p.extra = bytes.Clone(d.Extra)
	}
	return args != "" || d.ID != "" || d.Function.Name != ""
}

// addWhole takes the calls of a whole message. It reports whether there are more than
// before.
func (c *calls) addWhole(list []toolCall) (progress bool) {
	if len(list) == 0 {
		return false
	}
	progress = len(c.list) == 0 && len(list) > len(c.whole)
	var now calls
	for i := range list {
		now.list = append(now.list, &partialCall{index: i})
		now.add(&list[i], i, len(list))
	}
	c.whole = now.list
	return progress
}

// finish returns the calls, each of them once.
func (c *calls) finish() []*partialCall {
	if len(c.list) == 0 {
		c.list = c.whole
	}
	var out []*partialCall
	for _, p := range c.list {
		same := slices.IndexFunc(out, func(q *partialCall) bool { return q.id != "" && q.id == p.id && q.name == p.name })
		if same < 0 {
			out = append(out, p)
			continue
		}
		before, now := out[same].args.String(), p.args.String()
		switch {
		case wire.SameArguments(now, before):
		case wire.SameArguments(before, now):
			out[same] = p
		default:
			out = append(out, p) // this server gives all calls one id
		}
	}
	c.list = out
	return out
}

// extras returns the attached data of the calls by position, or nil if there is
// none.
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

// find returns the call that the piece probably belongs to, or nil, and the
// index for a new call.
func (c *calls) find(d *toolCall, pos, count int) (p *partialCall, index int) {
	switch {
	case d.Index.Valid:
		index = int(d.Index.Value)
	case count > 1:
		index = pos
	default:
		// Without an index, a piece continues the call with its id, or else the
		// newest call.
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

// superseded reports whether d begins a new call instead of continuing p.
func (p *partialCall) superseded(d *toolCall) bool {
	name := d.Function.Name
	switch {
	case name == "":
		return false // a new call would have a name
	case d.ID != "" && p.id != "" && string(d.ID) != p.id:
		// Another id means another call, unless the server makes up an id for each
		// piece.
		return name != p.name || p.args.Empty() || p.complete()
	case d.ID != "" && string(d.ID) == p.id:
		return false
	default:
		return p.complete()
	}
}

// complete reports whether the arguments so far are an object or a list. It
// parses them only if they end like one: complete is called for each piece, and
// the pieces may add up to a megabyte.
func (p *partialCall) complete() bool {
	args := strings.TrimRight(p.args.String(), " \t\r\n")
	return (strings.HasSuffix(args, "}") || strings.HasSuffix(args, "]")) && json.Valid([]byte(args))
}
