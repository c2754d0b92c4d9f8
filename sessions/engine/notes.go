package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Notes lists notes by kind, owner and name, or the soonest due first with DueBefore.
func (s *Store) Notes(ctx context.Context, f sessions.NoteFilter) (list []sessions.Note, err error) {
	if err := checkChosen(f.Kind, f.Owner); err != nil {
		return nil, s.wrap("notes", err)
	}
	like := sessions.Note{Kind: f.Kind, Owner: f.Owner, Name: f.Name, Due: rules.Time(f.DueBefore)}
	v := s.view(ctx)
	for r := range v.records(rows.Record{Note: &like}) {
		list = append(list, ownNote(r.Note))
		if len(list) == f.Limit {
			break
		}
	}
	return list, s.wrap("notes", v.err)
}

// ownNote is a copy of n for callers of the store.
func ownNote(n *sessions.Note) sessions.Note {
	own := *n
	own.Data = slices.Clone(n.Data)
	return own
}

// ChangeNotes calls change with all notes of a kind that owner has, by name, and stores
// what it returns, in one step: put are added or replace those with the same name, remove
// are names of notes to remove. Their Kind and Owner may be left empty. If change returns
// an error, nothing is stored. change must be quick, must not call a store, and may be
// called more than once. Steps on other kinds or owners do not wait.
//
// Errors: ErrTooMany if the owner would have more notes than the kind allows (at most
// sessions.MaxNotes).
func (s *Store) ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error {
	if err := cmp.Or(checkKind(kind), checkName("owner", owner)); err != nil {
		return s.wrap("change notes", err)
	}
	return s.update(ctx, "change notes", func(st *step) error {
		stored := map[string]sessions.Note{}
		var have []sessions.Note
		for r := range st.records(rows.Record{Note: &sessions.Note{Kind: kind, Owner: owner}}) {
			stored[r.Note.Name] = *r.Note
			have = append(have, ownNote(r.Note))
		}
		if st.err != nil {
			return st.err
		}
		put, remove, err := change(have)
		if err != nil {
			return err
		}
		return st.changeNotes(kind, owner, stored, put, remove)
	})
}

// ChangeAllNotes calls change with all notes of some kinds, whoever's they are, sorted by
// kind in the order of kinds, then by owner and name. It stores what change returns in one
// step: put are added or replace those with the same kind, owner and name; of remove only
// these three are read. Either may name only the given kinds. The rest is as for
// [Store.ChangeNotes], but steps on any notes may wait for this one: it is for what concerns
// several owners and is rare.
func (s *Store) ChangeAllNotes(ctx context.Context, kinds []string, change func(have []sessions.Note) (put, remove []sessions.Note, err error)) error {
	for _, kind := range kinds {
		if err := checkKind(kind); err != nil {
			return s.wrap("change notes", err)
		}
	}
	return s.update(ctx, "change notes", func(st *step) error {
		all := newOwnersNotes(kinds)
		var have []sessions.Note
		for _, kind := range kinds {
			for r := range st.records(rows.Record{Note: &sessions.Note{Kind: kind}}) {
				all.of(*r.Note).stored[r.Note.Name] = *r.Note
				have = append(have, ownNote(r.Note))
			}
		}
		if st.err != nil {
			return st.err
		}
		put, remove, err := change(have)
		if err != nil {
			return err
		}
		for _, n := range put {
			one := all.of(n)
			one.put = append(one.put, n)
		}
		for _, n := range remove {
			one := all.of(n)
			one.remove = append(one.remove, n.Name)
		}
		return all.change(st)
	})
}

// ownersNotes are the notes of several kinds and owners in a step.
type ownersNotes struct {
	kinds []string
	list  []*ownerNotes // in the order in which they were first named
	by    map[[2]string]*ownerNotes
}

// ownerNotes are those of one kind and owner, and what a step does to them.
type ownerNotes struct {
	kind, owner string
	stored      map[string]sessions.Note
	put         []sessions.Note
	remove      []string
}

func newOwnersNotes(kinds []string) *ownersNotes {
	return &ownersNotes{kinds: kinds, by: map[[2]string]*ownerNotes{}}
}

// of is those with which n belongs.
func (o *ownersNotes) of(n sessions.Note) *ownerNotes {
	place := [2]string{n.Kind, n.Owner}
	if o.by[place] == nil {
		o.by[place] = &ownerNotes{kind: n.Kind, owner: n.Owner, stored: map[string]sessions.Note{}}
		o.list = append(o.list, o.by[place])
	}
	return o.by[place]
}

// change makes all the changes in st.
func (o *ownersNotes) change(st *step) error {
	for _, one := range o.list {
		if !slices.Contains(o.kinds, one.kind) {
			return fmt.Errorf("the kind %q of a note is none of %q", one.kind, o.kinds)
		}
		err := checkName("owner", one.owner)
		if err != nil {
			return err
		}
		err = st.changeNotes(one.kind, one.owner, one.stored, one.put, one.remove)
		if err != nil {
			return err
		}
	}
	return nil
}

// AddNotes stores notes, in place of those with the same kind, owner and name, in one step.
// Unlike ChangeNotes it reads no others, so it costs the same however many there are, and
// does not see when an owner has too many: the caller makes room with ChangeNotes now and
// then.
func (s *Store) AddNotes(ctx context.Context, notes ...sessions.Note) error {
	clean, err := cleanNotes(notes)
	if err != nil {
		return s.wrap("add notes", err)
	}
	return s.update(ctx, "add notes", func(st *step) error {
		for i := range clean {
			n := clean[i]
			n.At = rules.Time(st.now)
			st.record(rows.Record{Note: &n})
		}
		return nil
	})
}

// changeNotes puts and removes notes of one kind and owner. stored are those that it has,
// by name.
func (st *step) changeNotes(kind, owner string, stored map[string]sessions.Note, put []sessions.Note, remove []string) error {
	left := len(stored)
	touched := map[string]bool{}
	for _, name := range remove {
		old, found := stored[name]
		if !found || touched[name] {
			continue
		}
		touched[name] = true
		st.changes.Removed = append(st.changes.Removed, rows.Record{Note: &old})
		left--
	}
	for _, n := range put {
		n, err := cleanNote(kind, owner, n)
		if err != nil {
			return err
		}
		if touched[n.Name] {
			return fmt.Errorf("the note %q is changed twice", n.Name)
		}
		touched[n.Name] = true
		old, found := stored[n.Name]
		if found && n.Due.Equal(old.Due) && bytes.Equal(n.Data, old.Data) {
			continue
		}
		if !found {
			left++
		}
		n.At = rules.Time(st.now)
		st.record(rows.Record{Note: &n})
	}
	if most := lifeOf(kind).most; left > most && left > len(stored) {
		return fmt.Errorf("%w: %s has %d notes of the kind %s, and may have %d", sessions.ErrTooMany, owner, len(stored), kind, most)
	}
	return nil
}

// cleanNotes checks the notes of a commit, each of a kind and owner of its own.
func cleanNotes(list []sessions.Note) ([]sessions.Note, error) {
	clean := make([]sessions.Note, 0, len(list))
	for _, n := range list {
		err := cmp.Or(checkKind(n.Kind), checkName("owner", n.Owner))
		if err != nil {
			return nil, err
		}
		n, err = cleanNote(n.Kind, n.Owner, n)
		if err != nil {
			return nil, err
		}
		clean = append(clean, n)
	}
	return clean, nil
}

// cleanNote checks a note of kind and owner, and makes it storable.
func cleanNote(kind, owner string, n sessions.Note) (sessions.Note, error) {
	if n.Kind == "" {
		n.Kind = kind
	}
	if n.Owner == "" {
		n.Owner = owner
	}
	err := checkName("name", n.Name)
	switch {
	case err != nil:
	case n.Kind != kind || n.Owner != owner:
		err = fmt.Errorf("the note %q belongs to another kind or owner", n.Name)
	case len(n.Data) > sessions.MaxNoteData:
		err = fmt.Errorf("the note %q has %d bytes of data, and may have %d", n.Name, len(n.Data), sessions.MaxNoteData)
	case len(n.Data) > 0 && !json.Valid(n.Data):
		err = fmt.Errorf("the data of the note %q is not JSON", n.Name)
	}
	n.Data = rules.JSON(n.Data)
	n.Due = rules.Time(n.Due)
	n.At = rules.Time(n.At)
	return n, err
}

// checkChosen refuses a filter that names neither a kind nor an owner, or an impossible one.
func checkChosen(kind, owner string) error {
	switch {
	case kind == "" && owner == "":
		return errors.New("neither a kind nor an owner is named")
	case kind == "":
		return checkName("owner", owner)
	case owner == "":
		return checkKind(kind)
	}
	return cmp.Or(checkKind(kind), checkName("owner", owner))
}

// checkKind refuses what is not the kind of a note or count.
func checkKind(kind string) error {
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' }
	if kind == "" || len(kind) > 32 || strings.ContainsFunc(kind, other) {
		return fmt.Errorf("%q is not a kind of notes or counts", kind)
	}
	return nil
}

// checkName refuses what cannot be the owner or name of a note. what says which it is.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a note or count without %s", what)
	case len(name) > sessions.MaxNoteName:
		return fmt.Errorf("the %s of a note or count has %d bytes, and may have %d", what, len(name), sessions.MaxNoteName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("the %s of a note or count is not text", what)
	}
	return nil
}

// Count adds to sums, in one step. Additions to one sum do not wait for each other.
func (s *Store) Count(ctx context.Context, add ...sessions.Count) error {
	if err := checkCounts(add); err != nil {
		return s.wrap("count", err)
	}
	if len(add) == 0 {
		return nil
	}
	return s.update(ctx, "count", func(st *step) error {
		st.changes.Add = add
		return nil
	})
}

// checkCounts refuses additions that no store may have.
func checkCounts(add []sessions.Count) error {
	for _, c := range add {
		if err := checkCount(c); err != nil {
			return err
		}
		if c.N > sessions.MaxCount || c.N < -sessions.MaxCount {
			return fmt.Errorf("%d is too much to add to a count", c.N)
		}
	}
	return nil
}

// checkCount refuses the name of a sum that no store may have.
func checkCount(c sessions.Count) error {
	return cmp.Or(checkKind(c.Kind), checkName("owner", c.Owner), checkDay(c.Day))
}

// dayForm is the form of Count.Day.
const dayForm = "20060102"

func checkDay(s string) error {
	if _, err := time.Parse(dayForm, s); err != nil {
		return fmt.Errorf("%q is not a day, like 20261128", s)
	}
	return nil
}

// Sum returns what owner has counted on the days from fromDay to toDay, both inclusive. A
// sum that was moved to the first day of its month counts as of that day.
func (s *Store) Sum(ctx context.Context, kind, owner, fromDay, toDay string) (n int64, err error) {
	if err := cmp.Or(checkKind(kind), checkName("owner", owner), checkDay(fromDay), checkDay(toDay)); err != nil {
		return 0, s.wrap("sum", err)
	}
	list, err := s.sums(ctx, sessions.SumFilter{Kind: kind, Owner: owner, From: fromDay, To: toDay})
	for _, c := range list {
		n += c.N
	}
	return n, s.wrap("sum", err)
}

// Sums lists sums by kind, owner and day.
func (s *Store) Sums(ctx context.Context, f sessions.SumFilter) ([]sessions.Count, error) {
	list, err := s.sums(ctx, f)
	return list, s.wrap("sums", err)
}

func (s *Store) sums(ctx context.Context, f sessions.SumFilter) (list []sessions.Count, err error) {
	err = checkChosen(f.Kind, f.Owner)
	if f.From != "" && f.To != "" && f.From > f.To {
		err = cmp.Or(err, fmt.Errorf("the days begin with %s and end before, with %s", f.From, f.To))
	}
	for _, bound := range []string{f.From, f.To} {
		if bound != "" {
			err = cmp.Or(err, checkDay(bound))
		}
	}
	if err != nil {
		return nil, err
	}
	v := s.view(ctx)
	for r := range v.records(rows.Record{Count: &sessions.Count{Kind: f.Kind, Owner: f.Owner}}) {
		c := *r.Count
		if c.Day >= f.From && (f.To == "" || c.Day <= f.To) {
			list = append(list, c)
		}
	}
	return list, v.err
}
