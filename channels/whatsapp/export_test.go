//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

var (
	Render    = render
	MessageID = messageID
	Classify  = classify

	StallTimeout = stallTimeout
)

// Reading is the result of Read.
type Reading struct {
	In      channels.Inbound
	OK      bool
	Strange bool
}

// Read converts evt for the channel "whatsapp" of +15550000001, whose LID is 900, whose
// device has the number 3 and whose name is Dragoman.
func Read(evt *events.Message) Reading {
	r := &reader{
		channel: "whatsapp", device: 3, names: []string{"Dragoman", "bot"}, selfChat: true,
		self:    identify(types.NewJID("15550000001", types.DefaultUserServer), types.NewJID("900", types.HiddenUserServer)),
		command: func(word string) bool { return word == "new" },
		sent: func(_ types.JID, _ identity, id string) (string, error) {
			if id == "OURS" {
				return "It is sunny.", nil
			}
			return "", nil
		},
		complete: func(who identity) (identity, error) { return who, nil },
		nameOf: func(who identity) string {
			if who.lid.User == "777" {
				return "Bob"
			}
			return who.chat()
		},
		chatOf: func(who identity) (string, error) { return who.chat(), nil },
	}
	got, ok, err := r.inbound(evt)
	return Reading{got.in, ok, err != nil}
}

// ChatOf asks the device file at path for the chat of a person, once for each list of
// names. It opens the file anew each time.
func ChatOf(ctx context.Context, path string, people ...[]types.JID) ([]string, error) {
	var chats []string
	for _, names := range people {
		file, err := openDevice(ctx, path, os.O_RDWR|os.O_CREATE, logger{log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		chat, err := file.chatOf(ctx, identify(names...), nil)
		if err := file.close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		chats = append(chats, chat)
	}
	return chats, nil
}

// SetSteadyAfter sets how long a connection of c must last to count as steady.
func SetSteadyAfter(c *Channel, d time.Duration) { c.steadyAfter = d }

// SetOnlineFor sets how long c stays online after a typing indicator, and how often it
// checks.
func SetOnlineFor(c *Channel, d, every time.Duration) { c.onlineFor, c.checkEvery = d, every }

// SetLimits sets how long c waits for a login, and for the intake to store one message.
func SetLimits(c *Channel, login, hand time.Duration) { c.loginTimeout, c.handInTimeout = login, hand }

// SetSendLimit sets how long c waits for an acknowledgement.
func SetSendLimit(c *Channel, d time.Duration) { c.sendTimeout = d }

// Identities wraps i.
func Identities(i store.IdentityStore) store.IdentityStore { return identities{i} }

// Watched reports whether c's connection records progress when a key is stored.
func Watched(c *Channel) bool {
	_, ok := c.live.Load().client.Store.Identities.(identities)
	return ok
}

// Waiting is how many messages wait in c's send queue.
func Waiting(c *Channel) int {
	c.sends.mu.Lock()
	defer c.sends.mu.Unlock()
	return len(c.sends.waiting)
}

// Revived reports whether Revive wakes c in that state.
func Revived(c *Channel, state channels.State, reason string) bool {
	c.report(state, reason, "")
	c.Revive()
	select {
	case <-c.linked:
		return true
	default:
		return false
	}
}

// Banned returns the status detail of a ban and when c tries again.
func Banned(e *events.TemporaryBan) (detail string, after time.Duration) {
	end := banned(e)
	return end.detail, end.after
}

// Silent reports whether c gives up a connection whose last answer to a ping was d ago.
func Silent(c *Channel, d time.Duration) bool {
	k := &connection{c: c, ended: make(chan ending, 1)}
	k.handle(context.Background(), &events.KeepAliveTimeout{ErrorCount: 3, LastSuccess: time.Now().Add(-d)})
	return len(k.ended) == 1
}

// DeviceSettings are settings of the device file and the library that no scenario shows.
type DeviceSettings struct {
	MaxOpen, ForeignKeys, Synchronous int
	Journal                           string
	SynchronousAck, EventBuffer       bool
}

// SettingsOfDevice opens the device file at path, for c, and reads its settings.
func SettingsOfDevice(ctx context.Context, c *Channel, path string) (s DeviceSettings, err error) {
	file, err := openDevice(ctx, path, os.O_RDWR|os.O_CREATE, logger{log: c.log})
	if err != nil {
		return s, err
	}
	s.MaxOpen = file.db.Stats().MaxOpenConnections
	for pragma, to := range map[string]any{"foreign_keys": &s.ForeignKeys, "synchronous": &s.Synchronous, "journal_mode": &s.Journal} {
		err = errors.Join(err, file.db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(to))
	}
	client := c.newClient(file.container.NewDevice(), c.newWire())
	s.SynchronousAck, s.EventBuffer = client.SynchronousAck, client.EnableDecryptedEventBuffer
	return s, errors.Join(err, file.close())
}
