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

// Plan is an import that has been checked and not begun.
type Plan struct {
	// Files counts those that were looked at.
	Files int    `json:"files"`
	Items []Item `json:"items"`
	// Others counts records that belong to no conversation: facts, pairings,
	// jobs. Dragoman's own JSONL has them.
	Others int `json:"others,omitempty"`
	// Notes name everything that is left out or changed within conversations.
	Notes []string `json:"notes,omitempty"`

	opts   Options
	chosen []chosen
}

// chosen is a file of which something is imported, be it only records that
// belong to no conversation.
type chosen struct {
	file string
	keys map[channels.Key]bool
}

// Survey reads everything at path, a file or the files of a folder, and
// returns the plan of an import. Conversations that the store has, as exists says,
// are left out. So is a file of a folder that cannot be read; a single such file is
// an error.
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
	seen, headed := map[channels.Key]bool{}, false
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
		if n := len(items); n == 0 || items[n-1].Key != k {
			if seen[k] {
				return nil, 0, fmt.Errorf("exchange: read %s: %w: the records of %s do not follow one another", file, ErrFormat, k)
			}
			seen[k], headed = true, false
			items = append(items, Item{File: file, Format: r.Format(), Key: k})
		}
		it := &items[len(items)-1]
		if rec.Conversation != nil {
			if headed {
				return nil, 0, fmt.Errorf("exchange: read %s: %w: it holds %s twice", file, ErrFormat, k)
			}
			headed = true
			it.Summary = len(rec.Conversation.Summaries) > 0
		}
		if rec.Messages != nil {
			it.Messages += len(rec.Messages.Messages)
			for _, m := range rec.Messages.Messages {
				it.Calls += len(m.ToolCalls)
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

// records reads all files again and yields the records to restore.
func (p *Plan) records(ctx context.Context) records {
	return func(yield func(sessions.Record, error) bool) {
		for _, c := range p.chosen {
			if !p.read(ctx, c, yield) {
				return
			}
		}
	}
}

// read hands the chosen records of one file to yield. It is false if yield was.
func (p *Plan) read(ctx context.Context, c chosen, yield func(sessions.Record, error) bool) bool {
	r, err := Open(ctx, c.file, p.opts)
	if err != nil {
		yield(sessions.Record{}, err)
		return false
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return true
		}
		k, has := KeyOf(rec)
		if (err != nil || !has || c.keys[k]) && (!yield(rec, err) || err != nil) {
			return false
		}
	}
}
