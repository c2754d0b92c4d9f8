package app

import (
	"context"

	"dragoman/channels"
	"dragoman/internal/console"
	"dragoman/internal/linking"
	"dragoman/internal/people"
	"dragoman/sessions/erasure"
)

// accounts answers the console's questions about channels that link an account.
type accounts struct {
	*Daemon
	*linking.Links
}

// Link is that of the links, between two lines of the audit log, as the API's verb is.
func (a accounts) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error) {
	err = a.audited(ctx, "link", name, func() (err error) {
		account, err = a.Links.Link(ctx, name, phone, show)
		return err
	})
	return account, err
}

// Unlink is that of the links, as Link is.
func (a accounts) Unlink(ctx context.Context, name string) (told bool, err error) {
	err = a.audited(ctx, "unlink", name, func() (err error) {
		told, err = a.Links.Unlink(ctx, name)
		return err
	})
	return told, err
}

func (a accounts) audited(ctx context.Context, action, channel string, do func() error) error {
	who, _ := people.From(ctx)
	return auditLog(a.Daemon.state).RecordAct(erasure.Act{Action: action, By: who.Name, Name: channel}, do)
}

// Channels lists the channels by name.
func (a accounts) Channels() []console.Channel {
	var list []console.Channel
	for _, c := range a.listChannels() {
		list = append(list, console.Channel{Name: c.Name, Type: c.Type, Linkable: c.Linkable, Status: channels.Status(c.ChannelStatus), Node: c.Node})
	}
	return list
}
