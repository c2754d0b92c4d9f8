//go:build !nowhatsapp

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
	// maxCrashes is how many crashes in a row keep the channel off. Each must follow
	// within crashWindow of the one before it.
	maxCrashes  = 3
	crashWindow = 10 * time.Minute
	// survivalTime is how long a login must last before earlier crashes no longer
	// count.
	survivalTime = time.Minute
)

// crashes is the file with the stack traces of the program's last crashes.
//
// The library decodes the server's frames on a goroutine that does not recover from
// panics, so a malformed frame crashes the whole program; docs/whatsapp.md lists the
// known ones. The server may send that frame again after every login. After maxCrashes
// the channel stays off, and the other channels continue.
//
// The Go runtime writes the file while the program dies. It writes nothing if the
// process is killed, so restarts and power failures never count.
type crashes struct{ path string }

// record makes the runtime write crashes to the file. There is only one such file in a
// process: of several channels, the one that connected last has it. A crash loop is
// noticed all the same, because a channel that stays off records nothing.
func (c crashes) record() error {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close()) // The runtime has its own copy.
	}
	if err != nil {
		return fmt.Errorf("whatsapp: record crashes: %w", err)
	}
	return nil
}

var crashStart = lazily.Compile(`(?m)^(panic|fatal error): `)

// tooMany reports whether the library has crashed so often that another connection would
// only crash again.
func (c crashes) tooMany() (bool, error) {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) > crashWindow {
		return false, nil
	}
	text, err := os.ReadFile(c.path)
	if err != nil {
		return false, fmt.Errorf("whatsapp: read the crash reports: %w", err)
	}
	found := 0
	for i, report := range crashStart.Regexp().Split(string(text), -1) {
		if i > 0 && strings.Contains(report, "go.mau.fi/whatsmeow") {
			found++
		}
	}
	return found >= maxCrashes, nil
}

func (c crashes) forget() error {
	if err := os.Truncate(c.path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("whatsapp: delete the crash reports: %w", err)
	}
	return nil
}

// crashing is the ending of a channel that would only crash the program again.
func (c *Channel) crashing() ending {
	return needsPerson(reasonCrashing, fmt.Sprintf("crashing: WhatsApp's library ended the daemon %d times in a row, each time soon after the login; "+
		"the reports are in %s; to try again, run: dragoman login %s, or send the daemon SIGHUP", maxCrashes, c.crashes.path, c.name))
}

// Revive implements [channels.Reviver]. It connects at once, unless that cannot help:
// there is no device, or a ban is not over.
func (c *Channel) Revive() {
	if s := c.Status(); !s.Trouble() || s.Reason == reasonPairing || s.Reason == reasonBanned {
		return
	}
	if err := c.crashes.forget(); err != nil {
		c.log.Warn("trying again, but could not delete the crash reports", "err", err)
	}
	c.wakeRun()
}
