package reminders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// choose takes from notes the reminders that are meant.
type choose func(notes []sessions.Note) []reminder

// in lists what is delivered to k, of all makers.
func (b *Book) in(ctx context.Context, k channels.Key, meant choose) (list []reminder, err error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: Kind})
	if err != nil {
		return nil, fmt.Errorf("reminders: list those of %s: %w", k, err)
	}
	for _, r := range meant(notes) {
		if r.Key == k {
			list = append(list, r)
		}
	}
	return list, nil
}

// owners are the identities of the person who asks, that under which they ask first.
func (b *Book) owners(ctx context.Context, a Asker) ([]string, error) {
	owner, err := a.owner()
	if err != nil {
		return nil, err
	}
	all, err := b.o.Together(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("reminders: look up who %s is: %w", owner, err)
	}
	return all, nil
}

// visible lists what a may see: their own, in a shared chat only those of that chat, and
// as an approver all of that chat.
func (b *Book) visible(ctx context.Context, a Asker, meant choose) (list []reminder, err error) {
	owners, err := b.owners(ctx, a)
	if err != nil {
		return nil, err
	}
	if !a.Private && b.o.Approves(ctx, a.Key, a.Person) {
		return b.in(ctx, a.Key, meant)
	}
	var notes []sessions.Note
	for _, owner := range owners {
		some, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: Kind, Owner: owner})
		if err != nil {
			return nil, fmt.Errorf("reminders: list those of %s: %w", owner, err)
		}
		notes = append(notes, some...)
	}
	list = meant(notes)
	if !a.Private {
		list = slices.DeleteFunc(list, func(r reminder) bool { return r.Key != a.Key })
	}
	return list, nil
}

// splitName is the number that name means, and the network or the account to which it limits it.
func splitName(name string) (number, on string) {
	number, on, _ = strings.Cut(cleanName(name), "@")
	return number, on
}

// isOn reports whether owner is the account on, or one on that network. "" is any.
func isOn(owner, on string) bool {
	return on == "" || strings.EqualFold(on, owner) || on == channelOf(owner)
}

// nameFor is how somebody who has owners, the one under which they ask first, names r: what
// they made from another account with its network, and with the whole account if the network
// alone would leave a choice.
func nameFor(owners []string, r reminder) string {
	if slices.Index(owners, r.owner) <= 0 {
		return r.name // their own, or somebody else's in a chat of theirs
	}
	channel := channelOf(r.owner)
	there := slices.DeleteFunc(slices.Clone(owners), func(owner string) bool { return channelOf(owner) != channel })
	if len(there) > 1 {
		return r.name + "@" + r.owner
	}
	return r.name + "@" + channel
}

// find is the one that a means by name: r7 is that of the account under which they ask, and
// r7@telegram or r7@telegram:42 one that they made from another.
func (b *Book) find(ctx context.Context, a Asker, name string) (reminder, error) {
	return b.findIn(ctx, a, name, readAll)
}

// restorable takes from notes what was cancelled and can be brought back.
func (b *Book) restorable(notes []sessions.Note) (list []reminder) {
	for _, n := range notes {
		r, is := read(n)
		if is && !r.Cancelled.IsZero() && b.o.Now().Sub(r.Cancelled) <= keepCancelled {
			list = append(list, r)
		}
	}
	return list
}

// findIn is find among the reminders that are meant.
func (b *Book) findIn(ctx context.Context, a Asker, name string, meant choose) (reminder, error) {
	name, on := splitName(name)
	list, err := b.visible(ctx, a, meant)
	if err != nil {
		return reminder{}, err
	}
	owners, err := b.owners(ctx, a)
	if err != nil {
		return reminder{}, err
	}
	list = slices.DeleteFunc(list, func(r reminder) bool { return r.name != name || !isOn(r.owner, on) })
	own := slices.IndexFunc(list, func(r reminder) bool { return r.owner == owners[0] })
	var theirs []string
	for _, r := range list {
		if slices.Contains(owners, r.owner) {
			theirs = append(theirs, nameFor(owners, r))
		}
	}
	switch {
	case own >= 0:
		return list[own], nil
	case len(list) == 0:
		return reminder{}, refuse("there is no reminder %.40s here; %s shows the numbers", name, b.o.Spell(a.Key, "/jobs"))
	case len(list) == 1 && (on != "" || !a.Private):
		return list[0], nil
	case len(theirs) == len(list):
		return reminder{}, refuse("you made reminder %s from another of your accounts: write %s", name, strings.Join(theirs, " or "))
	}
	return reminder{}, refuse("%d people have a reminder %s here; they must change it themselves", len(list), name)
}

// channelOf is the network of an identity.
func channelOf(identity string) string {
	channel, _, _ := strings.Cut(identity, ":")
	return channel
}
