package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// stickers is a subject that only this suite has: people collect stickers, and lend them
// for a while. It proves that a subject costs no store anything.
type stickers struct {
	store *engine.Store
}

// sticker is the data of a note. Its name is the note's.
type sticker struct {
	Colour string `json:"colour"`
	Lent   int    `json:"lent,omitempty"` // how often
}

const stickerKind = "stickers"

// errMissing: a sticker that its owner does not have.
var errMissing = errors.New("no such sticker")

// collect adds a sticker, and counts it on the day of at.
func (s stickers) collect(ctx context.Context, owner, name, colour string, at time.Time) error {
	data, err := json.Marshal(sticker{Colour: colour})
	if err != nil {
		return err
	}
	err = s.store.ChangeNotes(ctx, stickerKind, owner, func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return []sessions.Note{{Name: name, Data: data}}, nil, nil
	})
	if err != nil {
		return err
	}
	return s.store.Count(ctx, sessions.Count{Kind: stickerKind, Owner: owner, Day: at.Format("20060102"), N: 1})
}

// lend gives a sticker away until back.
func (s stickers) lend(ctx context.Context, owner, name string, back time.Time) error {
	return s.store.ChangeNotes(ctx, stickerKind, owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		for _, n := range have {
			if n.Name != name {
				continue
			}
			var data sticker
			if err := json.Unmarshal(n.Data, &data); err != nil {
				return nil, nil, err
			}
			data.Lent++
			n.Due = back
			n.Data, err = json.Marshal(data)
			return []sessions.Note{n}, nil, err
		}
		return nil, nil, errMissing
	})
}

// album shows the stickers of an owner.
func (s stickers) album(t *testing.T, owner string) (list []string) {
	t.Helper()
	notes, err := s.store.Notes(t.Context(), sessions.NoteFilter{Kind: stickerKind, Owner: owner})
	must(t, err)
	for _, n := range notes {
		var data sticker
		must(t, json.Unmarshal(n.Data, &data))
		list = append(list, fmt.Sprintf("%s %s %d", n.Name, data.Colour, data.Lent))
	}
	return list
}

// collected is how many stickers an owner collected in summer.
func (s stickers) collected(t *testing.T, owner string) int64 {
	t.Helper()
	n, err := s.store.Sum(t.Context(), stickerKind, owner, "20260601", "20260831")
	must(t, err)
	return n
}

const (
	ann = "x:42"
	bob = "x:7"
)

// fillStickers has ann collect two stickers and lend one, and bob collect one.
func fillStickers(t *testing.T, r *rig) stickers {
	t.Helper()
	s := stickers{r.Store}
	ctx := t.Context()
	must(t, s.collect(ctx, ann, "star", "gold", noon))
	must(t, s.collect(ctx, ann, "moon", "grey", noon.AddDate(0, 0, 1)))
	must(t, s.collect(ctx, bob, "star", "red", noon))
	must(t, s.lend(ctx, ann, "star", noon.Add(time.Hour)))
	return s
}

var stickerTests = map[string]func(*testing.T, *rig){
	"Stickers/AreKept": func(t *testing.T, r *rig) {
		s := fillStickers(t, r)
		same(t, "the album of ann", s.album(t, ann), []string{"moon grey 0", "star gold 1"})
		same(t, "the album of bob", s.album(t, bob), []string{"star red 0"})
		same(t, "what ann collected", s.collected(t, ann), 2)
		is(t, "lend", s.lend(t.Context(), bob, "moon", noon), errMissing)
		due, err := r.Notes(t.Context(), sessions.NoteFilter{Kind: stickerKind, DueBefore: noon.Add(2 * time.Hour)})
		must(t, err)
		if len(due) != 1 || due[0].Owner != ann || due[0].Name != "star" {
			t.Errorf("due are %+v", due)
		}
	},
	"Stickers/AreErasedWithTheirPerson": func(t *testing.T, r *rig) {
		s := fillStickers(t, r)
		got, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}})
		must(t, err)
		same(t, "Erase", got, sessions.Erased{Notes: 2, Counts: 2})
		same(t, "the album of ann", s.album(t, ann), nil)
		same(t, "what ann collected", s.collected(t, ann), 0)
		same(t, "the album of bob", s.album(t, bob), []string{"star red 0"})
		if left := strings.Join(dump(t, r.Store), "\n"); strings.Contains(left, ann) || strings.Contains(left, "gold") {
			t.Errorf("the store still has a trace of ann:\n%s", left)
		}
	},
	"Stickers/AreErasedByOwner": func(t *testing.T, r *rig) {
		s := fillStickers(t, r)
		must(t, s.collect(t.Context(), "club", "sun", "gold", noon))
		must(t, s.collect(t.Context(), sessions.ChatScope(key("x:1")), "sun", "gold", noon))
		got, err := r.Erase(t.Context(), sessions.Erasure{Owners: []string{"club", "club", ""}, Keys: []channels.Key{key("x:1")}})
		must(t, err)
		same(t, "Erase", got, sessions.Erased{Notes: 2, Counts: 2})
		same(t, "the album of bob", s.album(t, bob), []string{"star red 0"})
	},
	"Stickers/ACountInATurn": countsInATurn,
	"Stickers/ANoteInATurn":  notesInATurn,
}

// countsInATurn: a turn's counts are added with its commit, and not without it.
func countsInATurn(t *testing.T, r *rig) {
	seq := r.accept(t, "x:1", "1", "hi")
	h := r.claim(t)
	turn := sessions.Turn{
		ID: "t", Answers: []sessions.Answered{{Seq: seq, Rev: 9}},
		Counts: []sessions.Count{{Kind: stickerKind, Owner: ann, Day: "20260601", N: 3}, {Kind: stickerKind, Owner: ann, Day: "20260831", N: 4}},
	}
	is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, turn), sessions.ErrConflict)
	s := stickers{r.Store}
	same(t, "the sum of a turn that was refused", s.collected(t, ann), 0)
	turn.Answers[0].Rev = 0
	bad := turn
	bad.Counts = []sessions.Count{{Kind: stickerKind, Owner: ann, Day: "May", N: 3}}
	if err := r.CommitTurn(t.Context(), h.Claim, bad); err == nil {
		t.Error("a turn with an impossible count was taken")
	}
	must(t, r.CommitTurn(t.Context(), h.Claim, turn))
	same(t, "the sum", s.collected(t, ann), 7)
}

// notesInATurn: a turn's notes are stored with its commit, and not without it.
func notesInATurn(t *testing.T, r *rig) {
	seq := r.accept(t, "x:1", "1", "hi")
	h := r.claim(t)
	turn := sessions.Turn{
		ID: "t", Answers: []sessions.Answered{{Seq: seq, Rev: 9}},
		Notes: []sessions.Note{{Kind: stickerKind, Owner: ann, Name: "star", Due: noon}, {Kind: stickerKind, Owner: sessions.ChatScope(key("x:1")), Name: "moon"}},
	}
	of := sessions.NoteFilter{Kind: stickerKind}
	is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, turn), sessions.ErrConflict)
	same(t, "the notes of a turn that was refused", noteNames(t, r, of), nil)
	turn.Answers[0].Rev = 0
	bad := turn
	bad.Notes = []sessions.Note{{Kind: stickerKind, Owner: ann}}
	if err := r.CommitTurn(t.Context(), h.Claim, bad); err == nil {
		t.Error("a turn with a note without a name was taken")
	}
	must(t, r.CommitTurn(t.Context(), h.Claim, turn))
	same(t, "the notes", noteNames(t, r, of), []string{"moon", "star"})
	of.DueBefore = noon.Add(time.Hour)
	same(t, "the due note", noteNames(t, r, of), []string{"star"})
}

// stickersMove: they are the same in a copy, also in one that is restored twice.
func stickersMove(t *testing.T, a, b *rig) {
	fillStickers(t, a)
	lines := dump(t, a.Store)
	for range 2 {
		must(t, restore(t, b, feed(lines, nil)))
		same(t, "the dump of the copy", dump(t, b.Store), lines)
	}
	s := stickers{b.Store}
	same(t, "the album of ann", s.album(t, ann), []string{"moon grey 0", "star gold 1"})
	same(t, "what ann collected", s.collected(t, ann), 2)
	must(t, s.collect(t.Context(), ann, "sun", "gold", noon))
	same(t, "what ann collected after that", s.collected(t, ann), 3)
}

// stickersStay: they are there after a restart.
func stickersStay(t *testing.T, reopen func() *rig) {
	fillStickers(t, reopen())
	s := stickers{reopen().Store}
	same(t, "the album of ann", s.album(t, ann), []string{"moon grey 0", "star gold 1"})
	same(t, "what ann collected", s.collected(t, ann), 2)
}

// stickersRace: changes of one owner's notes do not overwrite each other, and no addition
// is lost.
func stickersRace(t *testing.T, r *rig) {
	s := stickers{r.Store}
	ctx := context.WithoutCancel(t.Context())
	must(t, s.collect(ctx, ann, "star", "gold", noon))
	const lenders, each = 4, 10
	var all sync.WaitGroup
	for i := range lenders {
		all.Go(func() {
			for n := range each {
				if err := s.lend(ctx, ann, "star", noon); err != nil {
					t.Error(err)
				}
				if err := s.collect(ctx, ann, fmt.Sprint("s", i, "-", n), "red", noon); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	album := s.album(t, ann)
	if last := album[len(album)-1]; len(album) != lenders*each+1 || last != fmt.Sprint("star gold ", lenders*each) {
		t.Errorf("%d stickers, the last is %q", len(album), last)
	}
	same(t, "what ann collected", s.collected(t, ann), lenders*each+1)
}
