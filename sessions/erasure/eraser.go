// Package erasure decides what it means to erase a conversation or a person: what data
// is theirs, and how an interrupted erasure is finished. Which ids are one person's it
// asks internal/people.
//
// The promise: before anything is erased, a file lists what will be ([Options.File]),
// and the audit log says that the erasure began. When everything is erased, the log
// gets a second line, and the file is removed. So an interrupted erasure is always
// noticed. The next one, or [Eraser.Finish], repeats it from its beginning; erasing
// twice does no harm.
//
// Failures: if the file or the first line cannot be written, nothing is erased. If
// the store fails before it has changed anything, the file is removed. If files
// could not be removed, or the second line could not be written, the file stays, and
// the error says so. The package starts no goroutines.
package erasure

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Store is what an Eraser needs of the store. *engine.Store is one, but forgets no
// files of messages.
type Store interface {
	people.TraceStore
	Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error)
	Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error
	CountFacts(ctx context.Context, scopes ...string) (int, error)
	Owned(ctx context.Context, e sessions.Erasure) (notes, sums int, err error)
	Erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error)
}

// Options configure an Eraser. Only Store must be set.
type Options struct {
	Store Store
	// People says who is one person. Nil: nobody has joined identities.
	People *people.Directory
	// Log gets two lines about every erasure.
	Log Log
	// File lists what will be erased while an erasure runs. Without it (""), an
	// interrupted erasure is not finished, and only the log shows it.
	File string
	// FileName returns the name under which the i-th attachment of a message is
	// stored once it is fetched. Nil: attachments are not stored.
	FileName func(m channels.Inbound, i int) string
	// Leftovers lists files and folders that may hold conversations and that no
	// erasure touches. Nil: there are none.
	Leftovers func() ([]string, error)
	// Rooms lists the rooms of our own page that people with these identities opened. Nil:
	// nobody has any.
	Rooms func(ctx context.Context, identities []string) ([]channels.Key, error)
	// Gone is called for every conversation that was erased as a whole. It must not
	// block, and may be nil.
	Gone func(channels.Key)
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Eraser plans erasures and carries them out, one at a time.
type Eraser struct {
	Options
	running sync.Mutex // held during an erasure
}

// New returns an Eraser.
func New(o Options) *Eraser {
	if o.Gone == nil {
		o.Gone = func(channels.Key) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.People == nil {
		o.People = people.NewDirectory(nil, people.DirectoryOptions{})
	}
	return &Eraser{Options: o}
}

// Erase erases what a [Plan] names. It first finishes an interrupted erasure; if
// that one erased everything in what, there is no second one. Erase does not stop
// when ctx ends. It returns ErrNotFound if there was nothing to erase.
func (e *Eraser) Erase(ctx context.Context, what sessions.Erasure) (got sessions.Erased, err error) {
	ctx = context.WithoutCancel(ctx)
	e.running.Lock()
	defer e.running.Unlock()
	before, err := e.unfinished()
	again := false
	if before != nil {
		again, got, err = e.finish(ctx, before)
	}
	if err != nil {
		return sessions.Erased{}, fmt.Errorf("an earlier erasure was interrupted and could not be finished: %w", err)
	}
	if again && before.covers(what) {
		return got, nil
	}
	return e.begin(ctx, what)
}

// Finish finishes an interrupted erasure, and reports whether there was one. It does
// not stop when ctx ends.
func (e *Eraser) Finish(ctx context.Context) (found bool, err error) {
	e.running.Lock()
	defer e.running.Unlock()
	before, err := e.unfinished()
	if before == nil {
		return false, err
	}
	found, _, err = e.finish(context.WithoutCancel(ctx), before)
	return found, err
}

// CutOff reports whether an erasure was interrupted and is not being finished now.
func (e *Eraser) CutOff() bool {
	if !e.running.TryLock() {
		return false
	}
	defer e.running.Unlock()
	before, err := e.unfinished()
	return before != nil || err != nil
}

// begin saves the intention to erase what, and carries it out.
func (e *Eraser) begin(ctx context.Context, what sessions.Erasure) (got sessions.Erased, err error) {
	who, _ := people.From(ctx)
	i := intention{ID: rand.Text(), At: e.Now().UTC(), By: who.Name, Erasure: what}
	known, err := e.survey(ctx, &i)
	if err != nil {
		return got, err
	}
	if err := e.intend(i); err != nil {
		return got, fmt.Errorf("nothing was erased, because the plan for it could not be saved first: %w", err)
	}
	if err := e.logBegun(i); err != nil {
		return got, errors.Join(fmt.Errorf("nothing was erased, because the audit log could not be written: %w", err), e.forget())
	}
	got, err = e.carryOut(ctx, i, false)
	switch {
	case err != nil && got.Empty(): // nothing has changed
		err = errors.Join(err, e.forget())
	case err == nil && got.Empty() && !known:
		err = fmt.Errorf("erasure: %w", sessions.ErrNotFound)
	}
	return got, err
}

// finish carries out i again. again is false if i was complete, with only its file
// left.
func (e *Eraser) finish(ctx context.Context, i *intention) (again bool, got sessions.Erased, err error) {
	states := e.Log.states(i.ID)
	if slices.Contains(states, done) {
		return false, got, e.forget()
	}
	if len(states) == 0 {
		if err := e.logBegun(*i); err != nil {
			return false, got, err
		}
	}
	got, err = e.carryOut(ctx, *i, true)
	return true, got, err
}

// carryOut erases what i names, writes the second line of the log, and removes the
// intention's file if nothing is left to erase.
func (e *Eraser) carryOut(ctx context.Context, i intention, again bool) (got sessions.Erased, err error) {
	// A store that could not remove some files returns counts with an error.
	got, err = e.Store.Erase(ctx, i.Erasure)
	state := done
	switch {
	case err != nil && got.Empty():
		state = failed
	case err != nil:
		state = filesLeft
	}
	if state != failed {
		for _, k := range i.Deletes {
			e.Gone(k)
		}
	}
	second := entry{Action: "erase", State: state, ID: i.ID, By: i.By, Again: again, Targets: targets(i.Erasure), counts: &counts{Erased: got, Files: len(got.Files)}}
	if line := e.Log.write(second); line != nil {
		return got, errors.Join(err, fmt.Errorf("%s, but no line about it could be written: %w", state, line))
	}
	switch {
	case err == nil:
		err = e.forget()
	case state != failed && len(i.Deletes) > 0:
		i.Deletes = nil // so that Gone is not called twice
		err = errors.Join(err, e.intend(i))
	}
	return got, err
}

func (e *Eraser) logBegun(i intention) error {
	return e.Log.write(entry{At: i.At, Action: "erase", State: begun, ID: i.ID, By: i.By, Targets: targets(i.Erasure)})
}

// survey adds to i which conversations will be deleted, and the files of people's
// messages: once the messages are erased, nothing names these files. known reports
// whether the store has one of the keys, even if only its name, which Erased does not
// count.
func (e *Eraser) survey(ctx context.Context, i *intention) (known bool, err error) {
	what := &i.Erasure
	what.Files = slices.Clone(what.Files)
	keys, ids := slices.Clone(what.Keys), map[string][]string{}
	for _, s := range what.Senders {
		ids[s.Channel] = append(ids[s.Channel], s.ID)
	}
	for channel, mine := range ids {
		traces, err := people.ReadTraces(ctx, e.Store, channel, e.Now())
		if err != nil {
			return false, err
		}
		keys = append(keys, traces.ChatsOf(mine)...)
	}
	if len(keys) > 0 { // no keys would mean all of them
		err = e.Store.Dump(ctx, keys, func(r sessions.Record) error {
			if c := r.Conversation; c != nil && slices.Contains(what.Keys, c.Key) {
				known = true
				if !c.Created.IsZero() {
					i.Deletes = append(i.Deletes, c.Key)
				}
			}
			what.Files = append(what.Files, e.files(what, r)...)
			return nil
		})
	}
	slices.Sort(what.Files)
	what.Files = slices.Compact(what.Files)
	return known, err
}

// files returns the files of messages in r that the senders of what wrote.
func (e *Eraser) files(what *sessions.Erasure, r sessions.Record) (files []string) {
	mine := func(k channels.Key, id string) bool {
		return slices.Contains(what.Senders, sessions.Sender{Channel: k.Channel(), ID: id})
	}
	if r.Inbox != nil && e.FileName != nil {
		m := r.Inbox.Inbound
		if slices.ContainsFunc(m.Sender.IDs, func(id string) bool { return mine(m.Key, id) }) {
			for i := range m.Attachments {
				files = append(files, e.FileName(m, i))
			}
		}
	}
	if r.Messages != nil {
		for _, m := range r.Messages.Messages {
			for _, a := range m.Attachments {
				if a.File != "" && mine(r.Messages.Key, m.Sender) {
					files = append(files, a.File)
				}
			}
		}
	}
	return files
}
