package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// One person connects their identities on several networks themselves: a code from a
// private chat on one network is said in a private chat on another, and then both sides
// say yes to a sentence that names the other. [Connections] keeps what happened so far.
//
// The promise: identities are connected if and only if both sides said yes to the same
// sentence, within ten minutes, and nothing that the sentence names has changed since. The
// notes of all of them are written in one commit. Rights stay with each identity.
//
//	what is wrong                              what happens
//	a wrong, used or old code                  a sentence; the fifth within an hour closes for an hour
//	one's own code, or one of the same network a sentence; the code stays good
//	a code said in a group                     it is spoilt, and whoever made it is told
//	a third person says the code               both sides read who: a no, or no answer, ends it
//	one side says nothing for ten minutes      it ends, and both are told
//	a side may no longer talk, or is erased    it ends
//	one of them is connected elsewhere in
//	between                                    it ends: the sentence no longer names all
//	whoever runs Dragoman                      refused: they join identities at the machine
//	a crash at any step                        what was said is stored before it is answered; who has
//	                                           not been told is told by the next [Connections.Untold]
//
// Each side has a note of its own, under a name that says nothing, so that erasing one
// leaves no trace of it with the other. The code is stored as a hash.
const (
	connectKind = "connect"
	sidePrefix  = "code-" // of the name of a side's note; the code's hash follows
	leftPrefix  = "left-" // of a note that tells one identity of another that left
	triesName   = "tries"

	// ConnectWithin is how long a code is good, and how long both sides have to say yes.
	ConnectWithin = 10 * time.Minute
	// maxTries is how many wrong codes an identity may say within triesLast.
	maxTries  = 5
	triesLast = time.Hour
	// maxCodes is how many codes may wait at once, of all people.
	maxCodes = 50
	// maxIdentities is how many identities a person has: the sentence has to name them all.
	maxIdentities = 12
	codeSize      = 10 // characters of 5 bits
	maxSideName   = 60 // bytes
)

// Side is one of the two whose identities are to be connected.
type Side struct {
	// Identities are what the network vouched for in one message: the first names them.
	Identities []string
	// Name is what they call themselves. It may be anything.
	Name string
	// Chat is their private chat, in which they are told.
	Chat channels.Key
}

// Label names s in a sentence: “Ann” (telegram:42).
func (s Side) Label() string { return s.label(nil) }

// label names s with all the identities of their person.
func (s Side) label(all []string) string {
	list := s.Identities[:1]
	for _, one := range all {
		if !slices.Contains(s.Identities, one) {
			list = append(slices.Clip(list), one)
		}
	}
	if s.Name == "" {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("“%s” (%s)", s.Name, strings.Join(list, ", "))
}

// State says how far a connection is.
type State string

// The states of a connection. Those after Asked are its ends.
const (
	Offered   State = "offered" // there is a code
	Asked     State = "asked"   // both were asked, and not both said yes
	Connected State = "connected"
	Refused   State = "refused" // one said no
	TimedOut  State = "timed out"
	Changed   State = "changed" // what the sentence named is no longer so
	Spoilt    State = "spoilt"  // the code was said in a group
	Left      State = "left"    // the other identity was disconnected
)

// Connecting is a connection as one side sees it.
type Connecting struct {
	State State
	// Told: this side was told of State.
	Told bool
	Me   Side
	// Other names the other side with all their identities, and Mine all of this one's; ""
	// if they are gone.
	Other, Mine string
	// First: this side made the code.
	First bool
	// Agreed: this side said yes. OtherAgreed: the other did.
	Agreed, OtherAgreed bool
	// Until is when the question ends.
	Until time.Time
	// ID tells this connection from others. It is a hash of the code, and no secret.
	ID string
}

// Connections connect the identities of one person. They may be used concurrently, on
// several nodes at once: each method is one step of the store.
type Connections struct {
	directory *Directory
	now       func() time.Time
}

// NewConnections returns the connections that d reads.
func NewConnections(d *Directory) *Connections { return &Connections{directory: d, now: d.o.Now} }

// change runs one step on the notes of all connections and identities.
func (c *Connections) change(ctx context.Context, what string, do func(*connecting) error) error {
	store := c.directory.store
	if store == nil {
		return fmt.Errorf("people: %s: there is no store", what)
	}
	err := store.ChangeAllNotes(ctx, []string{connectKind, LinkKind}, func(have []sessions.Note) (put, remove []sessions.Note, err error) {
		st := readConnecting(have, c.now())
		err = do(st)
		if err != nil {
			return nil, nil, err
		}
		return st.changes()
	})
	c.directory.forget()
	return attempt(what, err)
}
