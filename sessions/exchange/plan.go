package exchange

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// Item is one conversation that an import found, or one file that it could not
// read.
type Item struct {
	File     string       `json:"file"`
	Format   Format       `json:"format,omitempty"`
	Key      channels.Key `json:"key,omitzero"`
	Messages int          `json:"messages"`
	Calls    int          `json:"calls"`
	Summary  bool         `json:"summary,omitempty"`
	// LeftOut says why it is not imported, or "".
	LeftOut string `json:"left_out,omitempty"`
}

// Plan is what an import will do.
type Plan struct {
	// Files counts those that were looked at.
	Files int    `json:"files"`
	Items []Item `json:"items"`
	// Others counts records that belong to no conversation: facts, pairings,
	// jobs. Dragoman's own JSONL has them.
	Others int `json:"others,omitempty"`
	// Notes are what was left out or changed inside of conversations.
	Notes []string `json:"notes,omitempty"`

	opts   Options
	chosen []chosen
	// scattered: the records of a conversation do not follow one another.
	scattered bool
}

// chosen is a file of which something is imported, be it only records that
// belong to no conversation.
type chosen struct {
	file string
	keys map[channels.Key]bool
}

// Survey reads everything at path, a file or the files of a folder, and
// returns what an import would do. exists tells whether the store has a
// conversation already: that one is left out. A file that cannot be read is
// left out of a folder; alone it is the error.
func Survey(ctx context.Context, path string, o Options, exists func(context.Context, channels.Key) (bool, error)) (*Plan, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("exchange: open: %w", err)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = candidates(path); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("exchange: open %s: no file in it could hold conversations (.json, .jsonl, .db)", path)
		}
	}
	p := &Plan{opts: o, Files: len(files)}
	owner := map[channels.Key]string{}
	for _, file := range files {
		items, others, err := p.survey(ctx, file)
		if err != nil && (!info.IsDir() || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			p.Items = append(p.Items, Item{File: file, LeftOut: strings.TrimPrefix(err.Error(), "exchange: ")})
			continue
		}
		c := chosen{file, map[channels.Key]bool{}}
		for _, it := range items {
			if other, ok := owner[it.Key]; ok {
				it.LeftOut = "the same key as in " + other
			} else if there, err := exists(ctx, it.Key); err != nil {
				return nil, err
			} else if there {
				it.LeftOut = "there is already a conversation with this key, or the rest of one (dragoman sessions erase removes it)"
			} else {
				owner[it.Key] = file
				c.keys[it.Key] = true
			}
			p.Items = append(p.Items, it)
		}
		if p.Others += others; others+len(c.keys) > 0 {
			p.chosen = append(p.chosen, c)
		}
	}
	return p, nil
}

// survey reads one file to its end.
func (p *Plan) survey(ctx context.Context, file string) (items []Item, others int, err error) {
	r, err := Open(ctx, file, p.opts)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	at, headed := map[channels.Key]int{}, map[channels.Key]bool{}
	var before channels.Key
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, 0, err
		}
		k, has := KeyOf(rec)
		if !has {
			others++
			continue
		}
		i, ok := at[k]
		p.scattered = p.scattered || ok && k != before
		before = k
		if !ok {
			i = len(items)
			at[k], items = i, append(items, Item{File: file, Format: r.Format(), Key: k})
		}
		if rec.Conversation != nil {
			if headed[k] {
				return nil, 0, fmt.Errorf("exchange: read %s: %w: it holds %s twice", file, ErrFormat, k)
			}
			headed[k] = true
			items[i].Summary = len(rec.Conversation.Summaries) > 0
		}
		if rec.Messages != nil {
			items[i].Messages += len(rec.Messages.Messages)
			for _, m := range rec.Messages.Messages {
				items[i].Calls += len(m.ToolCalls)
			}
		}
	}
	for _, n := range r.Notes() {
		p.Notes = append(p.Notes, file+": "+n)
	}
	return items, others, nil
}

// Count is how many conversations will be imported, and how many items are
// left out.
func (p *Plan) Count() (imported, leftOut int) {
	for _, it := range p.Items {
		if it.LeftOut == "" {
			imported++
		} else {
			leftOut++
		}
	}
	return imported, leftOut
}

// Records reads all again and returns what is to be restored, up to io.EOF.
// If a file is not any more what it was, that is an error. Done must be called.
func (p *Plan) Records(ctx context.Context) (next func() (sessions.Record, error), done func()) {
	var r *Reader
	rest := p.chosen
	done = func() {
		if r != nil {
			_ = r.Close()
			r = nil
		}
	}
	next = func() (rec sessions.Record, err error) {
		for {
			if r == nil {
				if len(rest) == 0 {
					return rec, io.EOF
				}
				if r, err = Open(ctx, rest[0].file, p.opts); err != nil {
					return rec, err
				}
			}
			rec, err = r.Next()
			if err == io.EOF {
				done()
				rest = rest[1:]
				continue
			}
			if k, has := KeyOf(rec); err != nil || !has || rest[0].keys[k] {
				return rec, err
			}
		}
	}
	return next, done
}
