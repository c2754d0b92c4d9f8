package exchange

import (
	"context"
	"errors"
	"fmt"
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

	opts Options
	// files are those of which something is imported, be it only records that
	// belong to no conversation; from is the one that each conversation is in.
	files []string
	from  map[channels.Key]string
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
	p := &Plan{opts: o, Files: len(files), from: map[channels.Key]string{}}
	for _, file := range files {
		items, others, err := p.survey(ctx, file)
		if err != nil && (!info.IsDir() || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			p.Items = append(p.Items, Item{File: file, LeftOut: strings.TrimPrefix(err.Error(), "exchange: ")})
			continue
		}
		wanted := others > 0
		for _, it := range items {
			there, err := exists(ctx, it.Key)
			if err != nil {
				return nil, err
			}
			switch {
			case p.from[it.Key] != "":
				it.LeftOut = "the same key as in " + p.from[it.Key]
			case there:
				it.LeftOut = "there is already a conversation with this key, or the rest of one (dragoman sessions erase removes it)"
			default:
				p.from[it.Key], wanted = file, true
			}
			p.Items = append(p.Items, it)
		}
		if p.Others += others; wanted {
			p.files = append(p.files, file)
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
	err = r.Each(func(rec sessions.Record) error {
		k, has := KeyOf(rec)
		if !has {
			others++
			return ctx.Err()
		}
		if n := len(items); n == 0 || items[n-1].Key != k {
			if seen[k] {
				return fmt.Errorf("exchange: read %s: %w: the records of %s do not follow one another", file, ErrFormat, k)
			}
			seen[k], headed = true, false
			items = append(items, Item{File: file, Format: r.Format(), Key: k})
		}
		it := &items[len(items)-1]
		if rec.Conversation != nil {
			if headed {
				return fmt.Errorf("exchange: read %s: %w: it holds %s twice", file, ErrFormat, k)
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
		return ctx.Err()
	})
	for _, n := range r.Notes() {
		p.Notes = append(p.Notes, file+": "+n)
	}
	return items, others, err
}

// Count is how many conversations will be imported, and how many items are
// left out.
func (p *Plan) Count() (imported, leftOut int) { return len(p.from), len(p.Items) - len(p.from) }

// Take hands the chosen records to take, in parts. Like [sessions.Copies.Restore],
// take stores a part whole or not at all. Records of no conversation come first,
// because a message may name the job that it came from, then a few whole
// conversations at a time, to bound memory and the time for which other writers wait.
// Take counts the new records, also when it returns an error: these are stored, and a
// second import continues after them.
func (p *Plan) Take(ctx context.Context, take Restore) (all sessions.Restored, err error) {
	for _, belongs := range []bool{false, true} {
		if err != nil || !belongs && p.Others == 0 {
			continue
		}
		err = inParts(func(emit Emit) error { return p.read(ctx, belongs, emit) }, func(next func() (sessions.Record, error)) error {
			got, err := take(ctx, next)
			if err == nil {
				all.Conversations += got.Conversations
				all.Others += got.Others
			}
			return err
		})
	}
	return all, err
}

// read reads the files again and emits the chosen records of conversations, or
// those of none.
func (p *Plan) read(ctx context.Context, belongs bool, emit Emit) error {
	for _, file := range p.files {
		r, err := Open(ctx, file, p.opts)
		if err != nil {
			return err
		}
		err = r.Each(func(rec sessions.Record) error {
			if k, has := KeyOf(rec); has != belongs || has && p.from[k] != file {
				return nil
			}
			return emit(rec)
		})
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}
