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

// Item is a conversation that an import found, or a file that it cannot read.
type Item struct {
	File     string       `json:"file"`
	Format   Format       `json:"format,omitempty"`
	Key      channels.Key `json:"key,omitzero"`
	Messages int          `json:"messages"`
	Calls    int          `json:"calls"`
	Summary  bool         `json:"summary,omitempty"`
	// LeftOut is the reason why it is not imported, or "".
	LeftOut string `json:"left_out,omitempty"`
	// Fine: it is left out, and nothing is missing by that. It is there already, or
	// nobody's conversation.
	Fine bool `json:"fine,omitempty"`

	print fingerprint // of its messages
}

// Plan is an import that has been checked and not begun.
type Plan struct {
	// Files counts the files that were read.
	Files int    `json:"files"`
	Items []Item `json:"items"`
	// Others counts records that belong to no conversation: facts, pairings,
	// jobs. Dragoman's own JSONL has them.
	Others int `json:"others,omitempty"`
	// Notes name everything that is left out or changed within conversations.
	Notes []string `json:"notes,omitempty"`

	opts  Options
	files []string                // that have something to import
	from  map[channels.Key]string // the file of each conversation
}

// Survey reads the file at path, or the files of the folder there, and returns the plan
// of an import. It leaves out conversations that exists reports, and files of a folder
// that it cannot read. If path is such a file, it returns an error.
func Survey(ctx context.Context, path string, o Options, exists func(context.Context, Item) (Presence, error)) (*Plan, error) {
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
			p.Items = append(p.Items, Item{File: file, LeftOut: strings.TrimPrefix(err.Error(), "exchange: "), Fine: errors.Is(err, ErrNobody)})
			continue
		}
		wanted := others > 0
		for _, it := range items {
			there, err := exists(ctx, it)
			if err != nil {
				return nil, err
			}
			switch {
			case p.from[it.Key] != "":
				it.LeftOut = "the same key as in " + p.from[it.Key]
			case there == Same:
				it.LeftOut = "it is there already"
				it.Fine = true
			case there == Taken:
				it.LeftOut = "there is already a conversation with this key, or the rest of one (dragoman sessions erase removes it)"
			default:
				p.from[it.Key], wanted = file, true
			}
			p.Items = append(p.Items, it)
		}
		p.Others += others
		if wanted {
			p.files = append(p.files, file)
		}
	}
	return p, nil
}

// survey reads one file to its end. others counts its records of no conversation.
func (p *Plan) survey(ctx context.Context, file string) (items []Item, others int, err error) {
	r, err := Open(ctx, file, p.opts)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	seen, headed := map[channels.Key]bool{}, false
	err = r.Each(func(rec sessions.Record) error {
		k := keyOf(rec)
		if k == nil {
			others++
			return ctx.Err()
		}
		if n := len(items); n == 0 || items[n-1].Key != *k {
			if seen[*k] {
				return fmt.Errorf("exchange: read %s: %w: the records of %s do not follow one another", file, ErrFormat, *k)
			}
			seen[*k], headed = true, false
			items = append(items, Item{File: file, Format: r.Format(), Key: *k})
		}
		it := &items[len(items)-1]
		if rec.Conversation != nil {
			if headed {
				return fmt.Errorf("exchange: read %s: %w: it holds %s twice", file, ErrFormat, *k)
			}
			headed = true
			it.Summary = len(rec.Conversation.Summaries) > 0
		}
		if rec.Messages != nil {
			it.Messages += len(rec.Messages.Messages)
			for _, m := range rec.Messages.Messages {
				it.Calls += len(m.ToolCalls)
				it.print.add(m)
			}
		}
		return ctx.Err()
	})
	for _, n := range r.Notes() {
		p.Notes = append(p.Notes, file+": "+n)
	}
	return items, others, err
}

// Count returns how many conversations will be imported, how many items are left out
// for a reason that somebody should know, and how many because that is right.
func (p *Plan) Count() (imported, leftOut, fine int) {
	for _, it := range p.Items {
		switch {
		case it.Fine:
			fine++
		case it.LeftOut != "":
			leftOut++
		}
	}
	return len(p.from), leftOut, fine
}

// Import passes the records of the plan to restore, in batches. Records of no
// conversation come first, because a message may name the job that it came from. Then
// come a few complete conversations at a time, to bound memory and the time for which
// other writers wait. Import returns the counts of what was new also with an error: that
// much is stored, and another import continues after it.
func (p *Plan) Import(ctx context.Context, restore Restore) (all sessions.Restored, err error) {
	for _, conversations := range []bool{false, true} {
		if err != nil || !conversations && p.Others == 0 {
			continue
		}
		err = inBatches(func(emit Emit) error { return p.read(ctx, conversations, emit) }, func(next func() (sessions.Record, error)) error {
			got, err := restore(ctx, next)
			if err == nil {
				all.Conversations += got.Conversations
				all.Others += got.Others
			}
			return err
		})
	}
	return all, err
}

// read reads the files again and emits the records of the plan's conversations, or
// those of no conversation.
func (p *Plan) read(ctx context.Context, conversations bool, emit Emit) error {
	for _, file := range p.files {
		r, err := Open(ctx, file, p.opts)
		if err != nil {
			return err
		}
		err = r.Each(func(rec sessions.Record) error {
			if k := keyOf(rec); (k != nil) != conversations || k != nil && p.from[*k] != file {
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
