//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"fmt"
	"log/slog"

	"dragoman/channels/markup"

	waLog "go.mau.fi/whatsmeow/util/log"
)

// logger receives the library's log. It drops the debug lines, which contain whole
// stanzas. It logs the others at the level debug, because they can name people. This
// package itself logs everything that an operator needs to know.
type logger struct {
	log     *slog.Logger
	skipped *skipped // nil: the logger of the device file, which sends nothing
}

var _ waLog.Logger = logger{}

func (l logger) say(level, msg string, args []any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("whatsmeow says", "its_level", level, "what", markup.Clip(markup.Line(fmt.Sprintf(msg, args...)), 300))
	}
}

func (l logger) Errorf(msg string, args ...any) { l.say("error", msg, args) }
func (l logger) Warnf(msg string, args ...any) {
	if l.skipped != nil {
		l.skipped.log(msg, args)
	}
	l.say("warn", msg, args)
}
func (l logger) Infof(msg string, args ...any) { l.say("info", msg, args) }
func (l logger) Debugf(string, ...any)         {}
func (l logger) Sub(string) waLog.Logger       { return l }
