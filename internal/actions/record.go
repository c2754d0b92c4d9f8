package actions

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Store keeps the records: an engine.Store.
type Store interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

const (
	// recordKind are the notes that are records. The owner of one is the chat in which it
	// is asked; its name is its id.
	recordKind = "approval"
	// keptRecords is how many records of a chat are kept that are over.
	keptRecords = 200
)

// State is how far a record is.
type State string

// The states.
const (
	Pending State = "pending"
	Allowed State = "allowed"
	Used    State = "used"
	Denied  State = "denied"
	Expired State = "expired"
	Closed  State = "closed"
)

// Shown is the state of an [Event] alone: the network has the question.
const Shown State = "shown"

// record is the data of a note: one question. It only gains fields.
type record struct {
	N         int64        `json:"n"` // orders the records of a chat
	Code      string       `json:"code"`
	State     State        `json:"state"`
	Chat      channels.Key `json:"chat"`
	Item      string       `json:"item"` // of the queue: makes its turn due
	Turn      string       `json:"turn"`
	Call      string       `json:"call"`
	Tool      string       `json:"tool"`
	Hash      string       `json:"hash"`
	Standing  string       `json:"standing,omitempty"` // the hash for "always"; "": that is not offered
	Shown     string       `json:"shown"`              // the canonical arguments, perhaps cut
	Length    int          `json:"length"`             // of all of them, in characters
	Files     []File       `json:"files,omitempty"`
	Origins   []string     `json:"origins,omitempty"`
	Why       string       `json:"why"`
	Requester string       `json:"requester"`
	Deciders  []string     `json:"deciders"` // identities like telegram:42
	Asked     time.Time    `json:"asked"`
	Until     time.Time    `json:"until"`
	Decided   time.Time    `json:"decided,omitzero"`
	By        string       `json:"by,omitempty"`      // the identity that decided
	ByName    string       `json:"by_name,omitempty"` // for people
	Always    bool         `json:"always,omitempty"`  // it was allowed for the future, too
	Settled   bool         `json:"settled,omitempty"` // its turn has read how it ended
	Wrong     int          `json:"wrong,omitempty"`   // wrong codes while it was pending
	Message   string       `json:"message,omitempty"` // the network's id of what shows it
	Private   bool         `json:"private,omitempty"` // the chat has one person
	Runs      bool         `json:"runs,omitempty"`    // it runs a program
	Plain     bool         `json:"plain,omitempty"`   // Shown is in words, in place of the arguments
	Parts     []Part       `json:"parts,omitempty"`   // the arguments, if Shown is cut

	id string // the note's name
}

// note is how the store keeps r. While something may still come of it the note is due,
// and so a backup leaves it out.
func (r *record) note() (sessions.Note, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return sessions.Note{}, fmt.Errorf("actions: encode a record: %w", err)
	}
	n := sessions.Note{Name: r.id, Data: data}
	if !r.Settled {
		n.Due = r.Until
	}
	return n, nil
}

// recordOf reads a note; nil if it is none that this version understands.
func recordOf(n sessions.Note) *record {
	var r record
	if json.Unmarshal(n.Data, &r) != nil || r.Turn == "" {
		return nil
	}
	r.id = n.Name
	return &r
}

// page are the records of one chat inside a step, the oldest first.
type page struct {
	now     time.Time
	all     []*record
	changed map[*record]bool
}

// on changes the records of a chat, all in one step. f may be called more than once.
func (b *Book) on(ctx context.Context, chat channels.Key, f func(*page) error) error {
	return b.store.ChangeNotes(ctx, recordKind, sessions.ChatScope(chat), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		p := &page{now: b.o.Now(), changed: map[*record]bool{}}
		for _, n := range have {
			r := recordOf(n)
			if r != nil {
				p.all = append(p.all, r)
			}
		}
		p.sort()
		err := f(p)
		if err != nil {
			return nil, nil, err
		}
		return p.changes()
	})
}

func (p *page) sort() {
	slices.SortStableFunc(p.all, func(a, b *record) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.N, b.N)) })
}

// changes are the notes to put, and the names of old records to remove.
func (p *page) changes() (put []sessions.Note, remove []string, err error) {
	over := 0
	for _, r := range slices.Backward(p.all) {
		if r.Settled {
			over++
		}
		if r.Settled && over > keptRecords {
			remove = append(remove, r.id)
			continue
		}
		if !p.changed[r] {
			continue
		}
		n, err := r.note()
		if err != nil {
			return nil, nil, err
		}
		put = append(put, n)
	}
	return put, remove, nil
}

// put notes that r is new or changed.
func (p *page) put(r *record) { p.changed[r] = true }

// add adds a record with an id and a code that none of the chat has.
func (p *page) add(r *record) {
	r.id = strings.ToLower(rand.Text()[:16])
	for r.Code == "" || p.byCode(r.Code) != nil {
		r.Code = newCode()
	}
	if n := len(p.all); n > 0 {
		r.N = p.all[n-1].N
	}
	r.N++
	p.all = append(p.all, r)
	p.put(r)
}

// end moves a pending record to a state in which nothing more is asked about it.
func (p *page) end(r *record, s State) {
	r.State = s
	r.Decided = p.now
	p.put(r)
}

// settle notes that the turn of r has read how it ended.
func (p *page) settle(r *record) {
	r.Settled = true
	p.put(r)
}

// pending reports whether r can still be answered.
func (p *page) pending(r *record) bool { return r.State == Pending && p.now.Before(r.Until) }

// waiting are the records that can still be answered.
func (p *page) waiting() (list []*record) {
	for _, r := range p.all {
		if p.pending(r) {
			list = append(list, r)
		}
	}
	return list
}

func (p *page) byID(id string) *record {
	return p.find(func(r *record) bool { return r.id == id })
}

func (p *page) byCode(code string) *record {
	return p.find(func(r *record) bool { return r.Code == code })
}

func (p *page) byCall(turn, call string) *record {
	return p.find(func(r *record) bool { return r.Turn == turn && r.Call == call })
}

// find returns the newest record for which is holds, or nil.
func (p *page) find(is func(*record) bool) *record {
	for _, r := range slices.Backward(p.all) {
		if is(r) {
			return r
		}
	}
	return nil
}

// codeLetters are those of codes, without letters and digits that look alike.
const codeLetters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"

// CodeLength is how long a code is.
const CodeLength = 4

// newCode is a random code.
func newCode() string {
	code := make([]byte, 0, CodeLength)
	random := make([]byte, 1)
	for len(code) < CodeLength {
		_, _ = rand.Read(random) // it never fails
		if n := int(random[0]); n < 256-256%len(codeLetters) {
			code = append(code, codeLetters[n%len(codeLetters)])
		}
	}
	return string(code)
}

// IsCode reports whether text can be a code, however its letters are written.
func IsCode(text string) bool {
	return len(text) == CodeLength && strings.Trim(strings.ToUpper(text), codeLetters) == ""
}
