package whatsapp

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
)

// identity is one person, by the two names that WhatsApp gives: the phone
// number and the LID. Which of them a message carries depends on how it was
// addressed, so the same person can come under either. Devices are left out.
type identity struct {
	pn, lid types.JID
}

// identify sorts what is known about one person; any of it may be empty.
func identify(jids ...types.JID) identity {
	var who identity
	for _, jid := range jids {
		if jid.User == "" {
			continue
		}
		switch jid.Server {
		case types.DefaultUserServer, types.LegacyUserServer, types.HostedServer:
			if isDigits(jid.User) {
				who.pn = types.NewJID(jid.User, types.DefaultUserServer)
			}
		case types.HiddenUserServer, types.HostedLIDServer:
			who.lid = types.NewJID(jid.User, types.HiddenUserServer)
		}
	}
	return who
}

// known reports whether there is any name.
func (p identity) known() bool { return !p.pn.IsEmpty() || !p.lid.IsEmpty() }

// is reports whether jid is one of the person's names.
func (p identity) is(jid types.JID) bool {
	other := identify(jid)
	return !other.pn.IsEmpty() && other.pn == p.pn || !other.lid.IsEmpty() && other.lid == p.lid
}

// ids are the person's identities for allow lists, the number first.
func (p identity) ids() []string {
	var ids []string
	if !p.pn.IsEmpty() {
		ids = append(ids, "+"+p.pn.User)
	}
	if !p.lid.IsEmpty() {
		ids = append(ids, p.lid.User+"@"+types.HiddenUserServer)
	}
	return ids
}

// chat is what a conversation with the person is called when it begins.
func (p identity) chat() string {
	if ids := p.ids(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// nameOf is the name that somebody gave themselves, as far as a message of
// theirs has told it; or else their number, or their LID.
func (k *connection) nameOf(ctx context.Context, who identity) string {
	if full, err := k.file.complete(ctx, who); err == nil {
		who = full
	}
	for _, jid := range []types.JID{who.lid, who.pn} {
		if jid.IsEmpty() {
			continue
		}
		if known, err := k.client.Store.Contacts.GetContact(ctx, jid); err == nil && called(known.PushName) != "" {
			return called(known.PushName)
		}
	}
	return who.chat()
}

// place reads the chat of a key. Anything that names none can never be sent to.
func (c *Channel) place(k channels.Key) (types.JID, error) {
	if jid, ok := named(k.Chat()); ok && k.Channel() == c.name {
		return jid, nil
	}
	return types.JID{}, fmt.Errorf("whatsapp: %s is not a conversation of channel %s: %w", k, c.name, channels.ErrPermanent)
}

// named reads a chat or a person's id: "+123…", "456…@lid" or "789…@g.us".
func named(name string) (types.JID, bool) {
	number, isNumber := strings.CutPrefix(name, "+")
	user, server, hasServer := strings.Cut(name, "@")
	switch {
	case isNumber && isDigits(number):
		return types.NewJID(number, types.DefaultUserServer), true
	case hasServer && server == types.HiddenUserServer && isDigits(user),
		hasServer && server == types.GroupServer && isGroup(user):
		return types.NewJID(user, server), true
	}
	return types.JID{}, false
}

func isDigits(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "0123456789") == ""
}

// isGroup: new groups are a number, old ones their founder's and a time.
func isGroup(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789-") == ""
}
