package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
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
// process is killed, so restarts and power failures never count. There is only one such
// file in a process, so several channels share it: a goroutine label in each trace says
// whose connection crashed.
type crashes struct{ path, channel string }

// labelKey is the key of that label.
const labelKey = "whatsapp"

// label runs f on a goroutine that has the channel's label, and so have all goroutines
// that the library starts in it.
func (c crashes) label(ctx context.Context, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(labelKey, c.channel), f)
}

// recording counts the channels of this process that run, and guards the file.
var recording struct {
	sync.Mutex
	channels int
}

// record makes the runtime write crashes to the file, until every channel that called it
// has called stop.
func (c crashes) record() (stop func(), err error) {
	recording.Lock()
	defer recording.Unlock()
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close()) // The runtime has its own copy.
	}
	if err == nil {
		err = showLabels()
	}
	if err != nil {
		return func() {}, fmt.Errorf("whatsapp: record crashes: %w", err)
	}
	recording.channels++
	return func() {
		recording.Lock()
		defer recording.Unlock()
		if recording.channels--; recording.channels == 0 {
			_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
		}
	}, nil
}

// showLabels makes the runtime write goroutine labels into stack traces. It reads this
// variable again whenever the program sets it.
func showLabels() error {
	const name, setting = "GODEBUG", "tracebacklabels=1"
	now := os.Getenv(name)
	if strings.Contains(now, setting) {
		return nil
	}
	return os.Setenv(name, strings.TrimPrefix(now+","+setting, ","))
}

var (
	crashStart = lazily.Compile(`(?m)^(panic|fatal error): `)
	crashLabel = lazily.Compile(`labels:\{.*"` + labelKey + `": "([^"]*)"`)
)

// read counts the crashes of the library on this channel, and returns the reports about
// other channels. A report without a label counts for every channel.
func (c crashes) read() (own int, others string, err error) {
	b, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, "", fmt.Errorf("whatsapp: read the crash reports: %w", err)
	}
	text := string(b)
	starts := crashStart.Regexp().FindAllStringIndex(text, -1)
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		report := text[start[0]:end]
		label := crashLabel.Regexp().FindStringSubmatch(report)
		switch {
		case label != nil && label[1] != c.channel:
			others += report
		case strings.Contains(report, "go.mau.fi/whatsmeow"):
			own++
		}
	}
	return own, others, nil
}

// tooMany reports whether the library has crashed so often on this channel that another
// connection would only crash again.
func (c crashes) tooMany() (bool, error) {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) > crashWindow {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("whatsapp: read the crash reports: %w", err)
	}
	own, _, err := c.read()
	return own >= maxCrashes, err
}

// forget deletes all reports but those about other channels.
func (c crashes) forget() error {
	recording.Lock()
	defer recording.Unlock()
	_, others, err := c.read()
	// Writing the same text again would make the reports look newer.
	if info, missing := os.Stat(c.path); err == nil && missing == nil && info.Size() != int64(len(others)) {
		err = os.WriteFile(c.path, []byte(others), 0o600)
	}
	if err != nil {
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
