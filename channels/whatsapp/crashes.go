package whatsapp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"dragoman/internal/lazily"
)

const (
	// crashesMost is how many crashes in a row keep the channel off, and
	// crashesFor how soon each has to follow the one before it.
	crashesMost = 3
	crashesFor  = 10 * time.Minute
	// survived is how long a login has to last until earlier crashes no longer
	// count.
	survived = time.Minute
)

// crashes is a file with the stack traces of the program's last crashes.
//
// The library decodes what the server sends on a goroutine that recovers from
// nothing, so a malformed frame ends the whole program; docs/whatsapp.md lists
// the ways. The server may send that frame again after every login. When the
// library has crashed the program that often, the channel stays off, and the
// others go on.
//
// The runtime writes the file while it dies. A process that was killed leaves
// nothing there, so restarts and power cuts never count.
type crashes struct{ path string }

// record makes the runtime write crashes to the file until stop is called.
// There is one such file in a process: of several channels the last one has it.
// A crash loop is seen all the same, because a channel that is off has none.
func (c crashes) record() (stop func(), err error) {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close()) // the runtime has its own copy
	}
	if err != nil {
		return func() {}, fmt.Errorf("whatsapp: record crashes: %w", err)
	}
	return func() { _ = debug.SetCrashOutput(nil, debug.CrashOptions{}) }, nil
}

var crashForm = lazily.Compile(`(?m)^(panic|fatal error): `)

// tooMany reports whether the library has crashed the program so often that
// another connection would only be one more.
func (c crashes) tooMany() (bool, error) {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) > crashesFor {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("whatsapp: read the crashes: %w", err)
	}
	text, err := os.ReadFile(c.path)
	if err != nil {
		return false, fmt.Errorf("whatsapp: read the crashes: %w", err)
	}
	found := 0
	for i, crash := range crashForm.Regexp().Split(string(text), -1) {
		if i > 0 && strings.Contains(crash, "go.mau.fi/whatsmeow") {
			found++
		}
	}
	return found >= crashesMost, nil
}

// forget begins the file anew.
func (c crashes) forget() error {
	if err := os.Truncate(c.path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("whatsapp: forget the crashes: %w", err)
	}
	return nil
}

// crashing is the ending of a channel that would only crash the program again.
func (c *Channel) crashing() ending {
	return needsPerson(reasonCrashing, fmt.Sprintf("crashing: WhatsApp's library ended the daemon %d times in a row, each time soon after the login; "+
		"the reports are in %s; to try again, run: dragoman login %s, or send the daemon SIGHUP", crashesMost, c.crashes.path, c.name))
}

// Revive implements [channels.Reviver]: it connects at once, unless that cannot
// help because there is no device, or a ban is not over.
func (c *Channel) Revive() {
	if s := c.Status(); !s.Trouble() || s.Reason == reasonPairing || s.Reason == reasonBanned {
		return
	}
	if err := c.crashes.forget(); err != nil {
		c.log.Warn("the channel is tried again, and its crashes still count", "err", err)
	}
	c.wakeRun()
}
