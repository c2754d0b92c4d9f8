package exchange

import (
	"context"
	"fmt"
	"io"
	"os"

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

	files []string
	opts  Options
	taken map[chosen]bool
	// scattered: the records of a conversation do not follow one another.
	scattered bool
}

type chosen struct {
	file string
	key  channels.Key
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
	p := &Plan{opts: o, taken: map[chosen]bool{}, files: []string{path}}
	if info.IsDir() {
		if p.files, err = candidates(path); err != nil {
			return nil, err
		}
		if len(p.files) == 0 {
			return nil, fmt.Errorf("exchange: open %s: no file in it could hold conversations (.json, .jsonl, .db)", path)
		}
	}
	p.Files = len(p.files)
	owner := map[channels.Key]string{}
	for _, file := range p.files {
		items, err := p.survey(ctx, file)
		if err != nil && (!info.IsDir() || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			p.Items = append(p.Items, Item{File: file, LeftOut: err.Error()})
			continue
		}
		for _, it := range items {
			if other, ok := owner[it.Key]; ok {
				it.LeftOut = "the same key as in " + other
			} else if there, err := exists(ctx, it.Key); err != nil {
				return nil, err
			} else if there {
				it.LeftOut = "there is a conversation with this key already, or what is left of one (dragoman sessions erase forgets it)"
			} else {
				owner[it.Key] = file
				p.taken[chosen{file, it.Key}] = true
			}
			p.Items = append(p.Items, it)
		}
	}
	return p, nil
}

// survey reads one file to its end.
func (p *Plan) survey(ctx context.Context, file string) (items []Item, err error) {
	r, err := Open(ctx, file, p.opts)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	at, headed, others := map[channels.Key]int{}, map[channels.Key]bool{}, 0
	var before channels.Key
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
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
				return nil, fmt.Errorf("exchange: read %s: %w: it holds %s twice", file, ErrFormat, k)
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
	p.Others += others
	for _, n := range r.Notes() {
		p.Notes = append(p.Notes, file+": "+n)
	}
	return items, nil
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
	files := p.wanted()
	done = func() {
		if r != nil {
			_ = r.Close()
			r = nil
		}
	}
	next = func() (sessions.Record, error) {
		for {
			if r == nil {
				if len(files) == 0 {
					return sessions.Record{}, io.EOF
				}
				var err error
				if r, err = Open(ctx, files[0], p.opts); err != nil {
					return sessions.Record{}, err
				}
			}
			rec, err := r.Next()
			if err == io.EOF {
				done()
				files = files[1:]
				continue
			}
			if err != nil {
				return rec, err
			}
			if k, has := KeyOf(rec); !has || p.taken[chosen{files[0], k}] {
				return rec, nil
			}
		}
	}
	return next, done
}

// wanted are the files of which something is imported, be it only records that
// belong to no conversation, in order.
func (p *Plan) wanted() (files []string) {
	read, chosen := map[string]bool{}, map[string]bool{}
	for _, it := range p.Items {
		read[it.File] = true
		chosen[it.File] = chosen[it.File] || it.LeftOut == ""
	}
	for _, file := range p.files {
		if chosen[file] || !read[file] {
			files = append(files, file)
		}
	}
	return files
}
