package app

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"dragoman/channels"
	"dragoman/internal/people"
)

const (
	// nameLook is how many of the newest items of a chat are searched for its person's name.
	nameLook = 20
	// maxName is how long a name may be that others read, in characters.
	maxName = 40
)

// operatorName returns what whoever runs Dragoman is called, and the identity that is called
// so: by the name under which they wrote last in a private chat that is known to be theirs.
// That is alerts.to, the target of HEARTBEAT.md, or the chat of an identity that was joined
// with the operator's. It is "" if there is none, or the store cannot be read.
func (d *Daemon) operatorName(ctx context.Context) (name, identity string) {
	var chats []string
	chats = append(chats, d.cfg.Alerts.To)
	if d.beats != nil {
		chats = append(chats, d.beats.operatorChat().String())
	}
	joined, err := d.people.Joined(ctx, people.OperatorID)
	if err == nil {
		chats = append(chats, joined...)
	}
	for _, chat := range chats {
		k, err := channels.ParseKey(chat)
		if err != nil || slices.Contains(d.people.Rooms(), k.Channel()) {
			continue // none is configured, or it is a room, where nobody has a name
		}
		name, identity = d.nameIn(ctx, k)
		if name != "" {
			return name, identity
		}
	}
	return "", ""
}

// nameOf returns what somebody is called who writes in a room, where nobody has a name: by the
// name under which they wrote last in a private chat of theirs. It is "" if there is none, or
// the store cannot be read.
func (d *Daemon) nameOf(ctx context.Context, channel string, p channels.Person) string {
	person, err := d.people.Resolve(ctx, channel, p.IDs)
	if err != nil {
		return ""
	}
	return d.nameOfPerson(ctx, person)
}

// nameOfPerson is nameOf for somebody whose identities are known to be one person's.
func (d *Daemon) nameOfPerson(ctx context.Context, person string) string {
	if person == people.OperatorID {
		name, _ := d.operatorName(ctx)
		return name
	}
	identities, err := d.people.Identities(ctx, person)
	if err != nil {
		return ""
	}
	for _, identity := range identities {
		k, err := channels.ParseKey(identity)
		if err != nil || slices.Contains(d.people.Rooms(), k.Channel()) {
			continue
		}
		name, _ := d.nameIn(ctx, k)
		if name != "" {
			return name
		}
	}
	return ""
}

// nameIn returns the name under which somebody wrote last in their private chat, and who they
// are. In a group it is "": who writes there may be anybody.
func (d *Daemon) nameIn(ctx context.Context, k channels.Key) (name, identity string) {
	items, err := d.store.Feed(ctx, k, 0, nameLook)
	if err != nil {
		return "", ""
	}
	for _, it := range slices.Backward(items) {
		if it.From != "person" || it.Sender == "" {
			continue
		}
		identity = people.Identity(k.Channel(), it.Sender)
		person, err := d.people.Person(ctx, identity)
		if err != nil || identity != k.String() && person != people.OperatorID {
			return "", ""
		}
		return plainName(it.Name), identity
	}
	return "", ""
}

// plainName is a name with nothing in it that a chat could show as anything but a name.
func plainName(name string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r), strings.ContainsRune(" .'-", r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, name)
	kept = strings.Join(strings.Fields(kept), " ")
	if runes := []rune(kept); len(runes) > maxName {
		return string(runes[:maxName-1]) + "…"
	}
	return kept
}
