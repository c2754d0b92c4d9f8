package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/sessions"
)

// codeLetters are hard to confuse.
var codeLetters = base32.NewEncoding("ABCDEFGHJKLMNPQRSTUVWXYZ23456789").WithPadding(base32.NoPadding)

// newCode returns 50 random bits: nobody tries half of them in ten minutes.
func newCode() string {
	var b [7]byte
	_, _ = rand.Read(b[:]) // never fails
	code := codeLetters.EncodeToString(b[:])[:codeSize]
	return code[:codeSize/2] + "-" + code[codeSize/2:]
}

// noteOfCode is the name of the notes of the two sides of a code, however it is written.
func noteOfCode(code string) string {
	var plain strings.Builder
	for _, r := range strings.ToUpper(code) {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			plain.WriteRune(r)
		}
	}
	return sidePrefix + hashOf(plain.String())
}

// Offer makes a code of s, in place of an earlier one. Errors: *Refusal.
func (c *Connections) Offer(ctx context.Context, s Side) (code string, err error) {
	code = newCode()
	s.Name = cleanSideName(s.Name)
	err = c.change(ctx, "make a code", func(st *connecting) error {
		err := st.mayBegin(s)
		if err != nil {
			return err
		}
		st.dropCodes(s)
		if st.offers() >= maxCodes {
			return refusef("Too many people are connecting their accounts right now. Please try again in ten minutes.")
		}
		st.add(half{name: noteOfCode(code), side: s, record: halfRecord{First: true, State: Offered, Until: st.now.Add(ConnectWithin)}})
		return nil
	})
	return code, err
}

// Redeem says a code of somebody else, as s, and asks both. Said again by the same side it
// returns the same. Errors: *Refusal.
func (c *Connections) Redeem(ctx context.Context, s Side, code string) (asked Connecting, err error) {
	s.Name = cleanSideName(s.Name)
	var refused error
	err = c.change(ctx, "use a code", func(st *connecting) error {
		var mine *half
		mine, refused = st.redeem(s, noteOfCode(code))
		if refused == nil {
			asked = st.seen(mine)
		}
		return nil // a wrong code is counted
	})
	if err == nil {
		err = refused
	}
	return asked, err
}

// Spoil ends a code that was said where others read it, and does nothing for any other text.
func (c *Connections) Spoil(ctx context.Context, code string) error {
	notes, err := c.directory.store.Notes(ctx, sessions.NoteFilter{Kind: connectKind, Name: noteOfCode(code)})
	if err != nil || len(notes) == 0 {
		return attempt("spoil a code", err)
	}
	return c.change(ctx, "spoil a code", func(st *connecting) error {
		for _, h := range st.named(noteOfCode(code)) {
			if !h.ended() {
				st.end(h.name, Spoilt)
			}
		}
		return nil
	})
}

// Maker is who made a code that is good; found is false for any other text.
func (c *Connections) Maker(ctx context.Context, code string) (s Side, found bool, err error) {
	notes, err := c.directory.store.Notes(ctx, sessions.NoteFilter{Kind: connectKind, Name: noteOfCode(code)})
	if err != nil {
		return s, false, fmt.Errorf("people: look for a code: %w", err)
	}
	for _, h := range readConnecting(notes, c.now()).halves {
		if h.record.First && !h.ended() {
			return h.side, true, nil
		}
	}
	return s, false, nil
}

// sumOf is a hash of what a sentence names.
func sumOf(identities ...string) string {
	slices.Sort(identities)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(identities), "\n")))
	return hex.EncodeToString(sum[:])
}

// tries are the wrong codes of an identity, in its note. On disk: it only gains fields.
type tries struct {
	Wrong int `json:"wrong"`
}

// offers is how many codes wait.
func (st *connecting) offers() (n int) {
	for _, h := range st.halves {
		if h.record.State == Offered && !h.removed && st.now.Before(h.record.Until) {
			n++
		}
	}
	return n
}

// dropCodes removes the codes of s that nobody has said.
func (st *connecting) dropCodes(s Side) {
	for _, h := range st.halves {
		if h.of(s) && h.record.State == Offered {
			h.removed = true
		}
	}
}

// mayBegin refuses s if they cannot begin a connection now.
func (st *connecting) mayBegin(s Side) error {
	st.expire()
	switch {
	case st.personOf(s) == OperatorID:
		return refusef("Whoever runs me connects their accounts at the machine: dragoman people join operator telegram:123456")
	case st.isAsked(s):
		return refusef("A question waits for you already. Answer it first: /connect yes or /connect no.")
	}
	return nil
}

// redeem is [Connections.Redeem]. The refusal is for s.
func (st *connecting) redeem(s Side, name string) (*half, error) {
	wrong, closed := st.wrongCodes(s)
	if closed {
		return nil, refusef("You said too many wrong codes. I take the next one in an hour.")
	}
	sides := st.named(name)
	first := slices.IndexFunc(sides, func(h *half) bool { return h.record.First })
	if first < 0 {
		st.noteTry(s, wrong+1)
		if wrong+1 >= maxTries {
			return nil, refusef("I do not know this code, and you said too many wrong ones. I take the next one in an hour.")
		}
		return nil, refusef("I do not know this code. A code is good once, and for ten minutes; /connect gives a new one.")
	}
	maker := sides[first]
	mine := st.other(maker)
	switch {
	case maker.of(s):
		return nil, refusef("This is your own code: say it in a private chat with me on another network.")
	case mine != nil && mine.of(s) && !mine.ended():
		return mine, nil // it is handed in again
	case maker.record.State != Offered:
		st.noteTry(s, wrong+1)
		return nil, refusef("This code was used. /connect gives a new one.")
	case !st.now.Before(maker.record.Until):
		return nil, refusef("This code is older than ten minutes. /connect gives a new one, on either network.")
	case channelOf(maker.side) == channelOf(s):
		return nil, refusef("This code is from the same network. Say it in a private chat with me on another one.")
	}
	err := st.mayMeet(s, maker.side)
	if err != nil {
		return nil, err
	}
	st.dropCodes(s)
	until := st.now.Add(ConnectWithin)
	sum := sumOf(append(st.allOf(s), st.allOf(maker.side)...)...)
	maker.record.State = Asked
	maker.record.Sum = sum
	maker.record.Until = until
	maker.changed = true
	return st.add(half{name: name, side: s, record: halfRecord{State: Asked, Sum: sum, Until: until}}), nil
}

// mayMeet refuses s if they cannot be connected with maker.
func (st *connecting) mayMeet(s, maker Side) error {
	err := st.mayBegin(s)
	switch {
	case err != nil:
		return err
	case st.personOf(maker) == OperatorID:
		return refusef("This code is of whoever runs me, who connects accounts at the machine: dragoman people join")
	case st.personOf(s) == st.personOf(maker):
		return refusef("You are connected already.")
	case len(st.allOf(s))+len(st.allOf(maker)) > maxIdentities:
		return refusef("A person can have %d accounts here, and these would be more.", maxIdentities)
	}
	return nil
}

// channelOf is the network of a side.
func channelOf(s Side) string {
	channel, _, _ := strings.Cut(s.Identities[0], ":")
	return channel
}

// wrongCodes is how many wrong codes s said lately, and whether that is too many.
func (st *connecting) wrongCodes(s Side) (wrong int, closed bool) {
	for _, identity := range s.Identities {
		n, found := st.tries[identity]
		var t tries
		if found && st.now.Before(n.Due) && json.Unmarshal(n.Data, &t) == nil {
			wrong = max(wrong, t.Wrong)
		}
	}
	return wrong, wrong >= maxTries
}

func (st *connecting) noteTry(s Side, wrong int) {
	data, _ := json.Marshal(tries{wrong}) // never fails
	st.put = append(st.put, sessions.Note{Kind: connectKind, Owner: s.Identities[0], Name: triesName, Due: st.now.Add(triesLast), Data: data})
}
