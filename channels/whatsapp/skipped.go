package whatsapp

import (
	"errors"
	"sync"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

// skipped finds out whether the message that is being sent was encrypted for the
// people it is for. The library leaves out a device whose keys it cannot read or
// fetch, logs that, and reports success when WhatsApp has the rest: the person
// would never see the message, and could not ask for it. Messages are sent one at
// a time (see sendQueue), so there is one id to watch.
type skipped struct {
	mu  sync.Mutex
	id  types.MessageID
	own identity
	err error
}

// skippedForm is how the library says that it left a device out of a message. Its
// arguments are the message's id, the device and the error.
// TestNoKeysForThePerson fails if a new version says it differently.
const skippedForm = "Failed to encrypt %s for %s: %v"

// watch begins with a message. In a group nothing is watched, because a phone
// that was left out there gets the message without its key and asks again.
func (s *skipped) watch(id types.MessageID, to types.JID, self identity) {
	if to.Server == types.GroupServer {
		id = ""
	}
	if self.is(to) {
		self = identity{} // a note to oneself is for our own phone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.own, s.err = id, self, nil
}

// log looks at a warning of the library. Our own other devices only show what we
// wrote. A person's linked device without keys is left alone, since it may never
// have any; the phone has them as soon as WhatsApp gives them out again.
func (s *skipped) log(form string, args []any) {
	if form != skippedForm || len(args) != 3 {
		return
	}
	id, _ := args[0].(string)
	device, _ := args[1].(types.JID)
	err, _ := args[2].(error)
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" || id != s.id || s.own.is(device) || device.Device != 0 && errors.Is(err, whatsmeow.ErrNoSession) {
		return
	}
	s.err = errors.Join(s.err, err)
}

// end ends the watch, and returns why a device was left out; nil if none was.
func (s *skipped) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = ""
	return s.err
}
