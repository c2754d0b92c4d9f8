//go:build !nowhatsapp

package whatsapp

import (
	"errors"
	"sync"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

// skipped finds out whether the message that is being sent was encrypted for all its
// recipients. If the library cannot read or fetch the keys of a device, it leaves that
// device out, logs that, and reports success when WhatsApp has the rest. The person would
// never see the message, and could not ask for it. Messages are sent one at a time (see
// sendQueue), so there is only one id to watch.
type skipped struct {
	mu  sync.Mutex
	id  types.MessageID
	own identity
	err error
}

// skippedForm is the library's log line about a device that it left out. Its arguments are
// the message's id, the device and the error. TestNoKeysForThePerson fails if a new
// version has another line.
const skippedForm = "Failed to encrypt %s for %s: %v"

// watch starts to watch a message. It ignores groups: a phone that was left out there gets
// the message without its key, and asks again.
func (s *skipped) watch(id types.MessageID, to types.JID, self identity) {
	if to.Server == types.GroupServer {
		id = ""
	}
	if self.is(to) {
		self = identity{} // A note to oneself is for our own phone.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
	s.own = self
	s.err = nil
}

// log checks a warning of the library. It ignores our own other devices, which only show
// what we wrote, and a person's linked device without keys, which may never have any. A
// phone has keys again as soon as WhatsApp hands them out.
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

// end stops watching, and returns why a device was left out, or nil.
func (s *skipped) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = ""
	return s.err
}
