package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

// An erasure has an intention and an outcome, and both are durable. Before
// anything is taken away, a file says what is to go ([AdminOptions.Erasing]),
// and a line of the audit log that it began. When all is gone a second line
// says so, and the file is removed. So an erasure that was cut off anywhere is
// seen, and is carried out from its beginning by the next one or by the next
// start: to erase what is gone already changes nothing.

// intention is an erasure that is not known to be complete. Its file names
// people, so it exists no longer than that.
type intention struct {
	ID      string           `json:"id"`
	At      time.Time        `json:"at"`
	Told    bool             `json:"told"` // the audit log is to have a line that it began
	Erasure sessions.Erasure `json:"erasure"`
	// Deletes are those of Erasure.Keys that were conversations: hooks are told
	// of them, and of no others.
	Deletes []channels.Key `json:"deletes,omitempty"`
}

// covers reports whether e asks for nothing that i did not erase.
func (i *intention) covers(e sessions.Erasure) bool {
	in := func(all []string, some []string) bool {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	return in(targets(i.Erasure), targets(e)) && in(i.Erasure.Scopes, e.Scopes)
}

// carryOut erases e: intention, erasure, outcome. Known says that the store knew
// something of it, at least a name, which no count has, or that a copy may.
func (a *admin) carryOut(ctx context.Context, e sessions.Erasure) (got sessions.Erased, known bool, err error) {
	i := intention{ID: rand.Text(), At: a.Now().UTC(), Erasure: e}
	if err := a.survey(ctx, &i); err != nil {
		return got, false, err
	}
	if err := a.intend(i); err != nil {
		return got, i.Told, fmt.Errorf("nothing was erased, because it could not be noted before: %w", err)
	}
	if i.Told {
		if err := a.auditBegun(i); err != nil {
			return got, i.Told, errors.Join(fmt.Errorf("nothing was erased, because no line about it could be written: %w", err), a.intended())
		}
	}
	got, err = a.erased(ctx, i, false)
	if err != nil && nothing(got) { // all is as it was, and who asked is told
		return got, i.Told, errors.Join(err, a.intended())
	}
	return got, i.Told, err
}

// finish carries out again what was cut off, if there is anything. Without an
// intention i is nil.
func (a *admin) finish(ctx context.Context) (i *intention, got sessions.Erased, err error) {
	if i, err = a.unfinished(); err != nil || i == nil {
		return nil, got, err
	}
	switch told := a.told(i.ID); {
	case slices.Contains(told, "done"): // only the file was left
		return nil, got, a.intended()
	case i.Told && len(told) == 0:
		if err := a.auditBegun(*i); err != nil {
			return nil, got, err
		}
	default:
		i.Told = i.Told || len(told) > 0 // a first line wants a second
	}
	got, err = a.erased(ctx, *i, true)
	return i, got, err
}

// erased takes away what i names, tells of it, and forgets the intention when
// nothing is left.
func (a *admin) erased(ctx context.Context, i intention, again bool) (got sessions.Erased, err error) {
	// A store may have erased everything but the files that came with it, and
	// says so with an error beside the counts.
	got, err = a.Store.Erase(ctx, i.Erasure)
	state := "done"
	switch {
	case err != nil && nothing(got):
		state = "failed"
	case err != nil:
		state = "files left"
	}
	if state != "failed" {
		for _, k := range i.Deletes {
			a.emit(event.Event{Event: event.SessionDelete, Key: k, Why: "erased"})
		}
	}
	if !i.Told && !nothing(got) { // channels had notes of it, and no survey sees those
		i.Told = true
		err = errors.Join(err, a.auditBegun(i))
	}
	if i.Told {
		if line := a.auditErased(i, got, state, again); line != nil {
			return got, errors.Join(err, fmt.Errorf("%s, but no line about it could be written: %w", state, line))
		}
	}
	switch {
	case err == nil:
		err = a.intended()
	case state != "failed" && len(i.Deletes) > 0:
		i.Deletes = nil // no hook is told twice
		err = errors.Join(err, a.intend(i))
	}
	return got, err
}

// survey notes whether the store knows anything of what is to be erased, which
// conversations go, and the files of people's messages, which nobody could name
// afterwards. Copies of the store go whoever is erased, because they may hold
// what it does not know any more: where there are some, there is something to do.
func (a *admin) survey(ctx context.Context, i *intention) (err error) {
	e := &i.Erasure
	e.Files = []string{} // not nil: they were looked for
	known := newKnown(*e)
	keys, err := sessions.KeysOf(ctx, a.Store, e.Senders)
	if err != nil {
		return err
	}
	people, err := a.Store.Pairings(ctx, time.Time{}) // requests that expired as well
	for _, p := range people {
		i.Told = i.Told || known.people[sessions.Sender{Channel: p.Channel, ID: p.PersonID}]
	}
	if keys = append(keys, e.Keys...); len(keys) > 0 && err == nil { // no keys are all of them
		err = a.Store.Dump(ctx, keys, func(r sessions.Record) error {
			mine, attached := known.record(r, a.FileName)
			i.Told, e.Files = i.Told || mine, append(e.Files, attached...)
			if c := r.Conversation; c != nil && mine && !c.Created.IsZero() {
				i.Deletes = append(i.Deletes, c.Key)
			}
			return nil
		})
	}
	for _, scope := range e.Scopes {
		if i.Told || err != nil {
			break
		}
		var facts []sessions.Fact
		facts, err = a.Store.Recall(ctx, scope, "", 1)
		i.Told = len(facts) > 0
	}
	slices.Sort(e.Files)
	e.Files = slices.Compact(e.Files)
	if a.Beside != nil && err == nil {
		var copies []string
		copies, _, err = a.Beside()
		i.Told = i.Told || len(copies) > 0
	}
	return err
}

// known recognizes what belongs to an erasure.
type known struct {
	keys   map[channels.Key]bool
	people map[sessions.Sender]bool
}

func newKnown(e sessions.Erasure) known {
	k := known{map[channels.Key]bool{}, map[sessions.Sender]bool{}}
	for _, key := range e.Keys {
		k.keys[key] = true
	}
	for _, s := range e.Senders {
		k.people[s] = true
	}
	return k
}

// record reports whether r is about what is erased, and names the files that
// people's messages in it have.
func (k known) record(r sessions.Record, name func(channels.Inbound, int) string) (mine bool, files []string) {
	switch {
	case r.Conversation != nil:
		return k.keys[r.Conversation.Key], nil
	case r.Outbox != nil:
		return k.keys[r.Outbox.Key], nil
	case r.Inbox != nil:
		in := r.Inbox.Inbound
		wrote := slices.ContainsFunc(in.Sender.IDs, func(id string) bool { return k.people[sessions.Sender{Channel: in.Key.Channel(), ID: id}] })
		for i := range in.Attachments {
			if wrote && name != nil {
				files = append(files, name(in, i))
			}
		}
		return wrote || k.keys[in.Key], files
	case r.Messages != nil:
		for _, m := range r.Messages.Messages {
			if !k.people[sessions.Sender{Channel: r.Messages.Key.Channel(), ID: m.Sender}] {
				continue
			}
			mine = true
			for _, a := range m.Attachments {
				if a.File != "" {
					files = append(files, a.File)
				}
			}
		}
		return mine || k.keys[r.Messages.Key], files
	}
	return false, nil
}

// unfinished reads the intention that was left; nil if there is none.
func (a *admin) unfinished() (*intention, error) {
	if a.Erasing == "" {
		return nil, nil
	}
	data, err := os.ReadFile(a.Erasing)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	i := &intention{}
	if err == nil {
		err = json.Unmarshal(data, i)
	}
	if err != nil {
		return nil, fmt.Errorf("httpapi: read what was to be erased: %w", err)
	}
	return i, nil
}

// intend writes i down, whole or not at all.
func (a *admin) intend(i intention) (err error) {
	if a.Erasing == "" {
		return nil
	}
	data, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("httpapi: encode an erasure: %w", err)
	}
	temp := a.Erasing + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("httpapi: note an erasure: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, a.Erasing)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("httpapi: note an erasure: %w", err), os.Remove(temp))
	}
	return syncFolder(a.Erasing)
}

// intended removes the intention: it was carried out, or nothing came of it.
func (a *admin) intended() error {
	if a.Erasing == "" {
		return nil
	}
	if err := os.Remove(a.Erasing); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("httpapi: remove the note of an erasure: %w", err)
	}
	return syncFolder(a.Erasing)
}

// syncFolder makes the name of a file durable.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("httpapi: sync a folder: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// told lists the states that the audit log has of an erasure. A log that cannot
// be read says nothing: to erase twice does no harm.
func (a *admin) told(id string) (states []string) {
	data, _ := os.ReadFile(a.AuditFile)
	for line := range bytes.Lines(data) {
		var l struct{ ID, State string }
		if json.Unmarshal(line, &l) == nil && l.ID == id {
			states = append(states, l.State)
		}
	}
	return states
}
