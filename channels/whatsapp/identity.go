//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/types"
)

// identity is one person. WhatsApp has two names for a person: the phone number and the
// LID. A message has one or both, depending on how it was addressed. The device is not
// part of an identity.
type identity struct {
	pn, lid types.JID
}

// identify makes an identity from the names of one person, any of which may be empty.
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

func (p identity) known() bool { return !p.pn.IsEmpty() || !p.lid.IsEmpty() }

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

// chat is the chat part of the key for a new conversation with p.
func (p identity) chat() string {
	if ids := p.ids(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// nameOf is the name that a person has chosen, if one of their messages had it; otherwise
// their number or LID.
func (k *connection) nameOf(ctx context.Context, who identity) string {
	if full, err := k.file.complete(ctx, who); err == nil {
		who = full
	}
	for _, jid := range []types.JID{who.lid, who.pn} {
		if jid.IsEmpty() {
			continue
		}
		if known, err := k.client.Store.Contacts.GetContact(ctx, jid); err == nil && cleanName(known.PushName) != "" {
			return cleanName(known.PushName)
		}
	}
	return who.chat()
}

// parseKey returns the chat of k. Its error is permanent.
func (c *Channel) parseKey(k channels.Key) (types.JID, error) {
	if jid, ok := parseChat(k.Chat()); ok && k.Channel() == c.name {
		return jid, nil
	}
	return types.JID{}, fmt.Errorf("whatsapp: %s is not a conversation of channel %s: %w", k, c.name, channels.ErrPermanent)
}

// parseChat parses a chat or a person's id: "+123…", "456…@lid" or "789…@g.us".
func parseChat(name string) (types.JID, bool) {
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

// isGroup reports whether s can be a group. New groups have a number, old ones the
// founder's number and a time.
func isGroup(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789-") == ""
}

// Shared implements [channels.Sharer].
func (c *Channel) Shared(chat string) bool {
	jid, ok := parseChat(chat)
	return ok && jid.Server == types.GroupServer
}
