package wasim

import (
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// Faults is what goes wrong on a server. Its methods may be called at any
// time; those that count do so from then on.
type Faults struct {
	s *Server // its lock guards the rest

	dials            int
	logins           int
	loginCode        int
	ban              time.Duration // begins with the next login
	banned           time.Time     // until then
	holdAcks         bool
	holdAcksTo       map[*Contact]bool
	held             []heldAck
	refuseSends      int
	refusals         int // how many more sends are refused; 0: all
	before, after    int
	loseReceipts     bool
	ignoreLogins     bool
	ignoreKeepalives bool
	ignoreRetries    bool
	ignored          []func()
	unavailable      int
	unavailableKind  string
	failQueries      map[string]int
	garble           int
	media, mediaCode int
	spoil            Spoil
}

// heldAck is an acknowledgement that a test keeps back, and the connection it
// belongs to.
type heldAck struct {
	conn *conn
	node waBinary.Node
}

func (f *Faults) set(change func()) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	change()
	f.s.notify()
}

// each does something to every connection that is logged in.
func (f *Faults) each(do func(d *device, c *conn)) {
	f.set(func() {
		for _, d := range f.s.sortedDevices() {
			if d.conn != nil {
				do(d, d.conn)
			}
		}
	})
}

// Drop cuts every connection once, without a word.
func (f *Faults) Drop() {
	f.set(func() {
		for c := range f.s.conns {
			c.cut()
		}
	})
}

// RefuseDials answers the next n connections with HTTP 503; with n < 0 all,
// until it is called again.
func (f *Faults) RefuseDials(n int) { f.set(func() { f.dials = n }) }

// FailLogins refuses the next n logins with code: 401 and 403 log the device
// out, 402 bans it for an hour, 405 calls the client outdated, 500 and 503 ask
// it to come again. With n < 0 all, until it is called again.
func (f *Faults) FailLogins(code, n int) { f.set(func() { f.loginCode, f.logins = code, n }) }

// IgnoreLogins leaves logins without an answer.
func (f *Faults) IgnoreLogins(on bool) { f.set(func() { f.ignoreLogins = on }) }

// Ban refuses the next login with 402 and bans the device for d from then on.
// Logins before that is over are refused too, and told how many seconds are
// left, rounded up, as that is what the protocol has.
func (f *Faults) Ban(d time.Duration) { f.set(func() { f.ban = d }) }

// HoldAcks keeps back the acknowledgements of messages, which still arrive,
// until it is turned off.
func (f *Faults) HoldAcks(on bool) {
	f.set(func() {
		f.holdAcks = on
		if on {
			return
		}
		for _, h := range f.held {
			h.conn.send(h.node)
		}
		f.held, f.holdAcksTo = nil, nil
	})
}

// HoldAcksTo keeps back those of messages to these people, until HoldAcks is
// turned off.
func (f *Faults) HoldAcksTo(people ...*Contact) {
	f.set(func() {
		f.holdAcksTo = map[*Contact]bool{}
		for _, c := range people {
			f.holdAcksTo[c] = true
		}
	})
}

// RefuseSends answers messages with an error code such as 463 instead of
// delivering them; 0 ends that.
func (f *Faults) RefuseSends(code int) { f.RefuseNext(code, 0) }

// RefuseNext is RefuseSends for the next n messages; 0: for all.
func (f *Faults) RefuseNext(code, n int) { f.set(func() { f.refuseSends, f.refusals = code, n }) }

// DropBefore cuts the connection when the n-th message from now on has come,
// before it is delivered.
func (f *Faults) DropBefore(n int) { f.set(func() { f.before = n }) }

// DropAfter cuts the connection when the n-th message from now on is
// delivered, before it is acknowledged.
func (f *Faults) DropAfter(n int) { f.set(func() { f.after = n }) }

// LoseReceipts makes the server overlook what devices acknowledge.
func (f *Faults) LoseReceipts(on bool) { f.set(func() { f.loseReceipts = on }) }

// IgnoreKeepalives leaves pings unanswered while everything else works.
func (f *Faults) IgnoreKeepalives(on bool) { f.set(func() { f.ignoreKeepalives = on }) }

// IgnoreRetries keeps phones from writing again what a device could not
// decrypt, as when they are switched off. What they were asked for meanwhile
// they write when it is turned off.
func (f *Faults) IgnoreRetries(on bool) {
	f.set(func() {
		f.ignoreRetries = on
		if on {
			return
		}
		for _, again := range f.ignored {
			again()
		}
		f.ignored = nil
	})
}

// Unavailable keeps the next n messages from devices, which are only told that
// there is one: of the given type, as "view_once" for what phones alone show.
func (f *Faults) Unavailable(kind string, n int) {
	f.set(func() { f.unavailableKind, f.unavailable = kind, n })
}

// FailQueries answers info queries with that xmlns with an error, or not at all
// if code is negative; 0 ends that.
func (f *Faults) FailQueries(xmlns string, code int) {
	f.set(func() {
		if f.failQueries == nil {
			f.failQueries = map[string]int{}
		}
		f.failQueries[xmlns] = code
	})
}

// Garble makes the next n messages to devices such that they cannot be
// decrypted. A device asks for such a message again and then gets it whole.
func (f *Faults) Garble(n int) { f.set(func() { f.garble = n }) }

// FailMedia answers the next n up- or downloads with an HTTP status.
func (f *Faults) FailMedia(status, n int) { f.set(func() { f.mediaCode, f.media = status, n }) }

// SpoilMedia spoils all downloads from now on; Intact ends that.
func (f *Faults) SpoilMedia(how Spoil) { f.set(func() { f.spoil = how }) }

// StreamError ends every stream with a code, such as 503 or 500.
func (f *Faults) StreamError(code int) {
	f.each(func(_ *device, c *conn) { c.end(streamError(code)) })
}

// Replace tells every client that another one has taken its place.
func (f *Faults) Replace() {
	f.each(func(_ *device, c *conn) { c.end(conflict("", "replaced")) })
}

// Remove unlinks every device, as the owner can on the phone. A device that is
// away learns it at its next login.
func (f *Faults) Remove() {
	f.each(func(_ *device, c *conn) { c.end(conflict("401", "device_removed")) })
	f.set(func() { clear(f.s.devices) })
}

// Raw sends any stanza to every device that is logged in. It is not queued.
func (f *Faults) Raw(node waBinary.Node) {
	f.each(func(_ *device, c *conn) { c.send(node) })
}

// Frame sends every device that is logged in a frame with these bytes in it,
// which need not be a stanza.
func (f *Faults) Frame(plain []byte) {
	f.each(func(_ *device, c *conn) { c.sendFrames("", plain) })
}

// The lock is held in everything below.

func (f *Faults) refusesDial() bool { return spend(&f.dials) }

func (f *Faults) failsLogin() (waBinary.Node, bool) {
	if f.ban > 0 {
		f.banned, f.ban = time.Now().Add(f.ban), 0
	}
	if left := time.Until(f.banned); left > 0 {
		return ban(left), true
	}
	if !spend(&f.logins) {
		return waBinary.Node{}, false
	}
	return loginFailure(f.loginCode), true
}

func (f *Faults) failsMedia() bool { return spend(&f.media) }

func (f *Faults) garbles() bool { return spend(&f.garble) }

func (f *Faults) withholds() (waBinary.Node, bool) {
	if !spend(&f.unavailable) {
		return waBinary.Node{}, false
	}
	return waBinary.Node{Tag: "unavailable", Attrs: waBinary.Attrs{"type": f.unavailableKind}}, true
}

func (f *Faults) dropsBefore() bool { return reached(&f.before) }

func (f *Faults) dropsAfter() bool { return reached(&f.after) }

// spend takes one from n; below nothing it lasts for ever.
func spend(n *int) bool {
	if *n > 0 {
		*n--
		return true
	}
	return *n < 0
}

// reached counts n down and says when it has got to nothing.
func reached(n *int) bool {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}
