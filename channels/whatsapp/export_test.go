package whatsapp

import (
	"context"
	"log/slog"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

var (
	Render    = render
	MessageID = messageID
	Outcome   = outcome
)

// Reading is what Read returns.
type Reading struct {
	In      channels.Inbound
	OK      bool
	Strange bool
}

// Read understands evt as the channel "whatsapp" of +15550000001, whose LID is
// 900 and whose device has the number 3, called Dragoman.
func Read(evt *events.Message, seen ...string) Reading {
	r := &reader{
		channel: "whatsapp", device: 3, names: []string{"Dragoman", "bot"}, selfChat: true,
		self:    identify(types.NewJID("15550000001", types.DefaultUserServer), types.NewJID("900", types.HiddenUserServer)),
		command: func(word string) bool { return word == "new" },
		recall: func(id string) (seenMessage, bool) {
			for _, known := range seen {
				if known == id {
					return seenMessage{addressed: true}, true
				}
			}
			return seenMessage{}, false
		},
		complete: func(who identity) (identity, error) { return who, nil },
		chatOf:   func(who identity) (string, error) { return who.chat(), nil },
	}
	got, ok, err := r.understand(evt)
	return Reading{got.in, ok, err != nil}
}

// ChatOf asks the device file at path for the chat of a person, several times
// with whatever of the names is known then, once per opening of the file.
func ChatOf(ctx context.Context, path string, people ...[]types.JID) ([]string, error) {
	var chats []string
	for _, names := range people {
		file, err := openDevice(ctx, path, logger{slog.New(slog.DiscardHandler)})
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
