package reminders

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a small Debian has no zone files

	"dragoman/sessions"
)

// zoneKind is the kind of the note that has a person's zone. Its name is the kind, too.
const zoneKind = "zone"

// zoneSetting is its data.
type zoneSetting struct {
	Zone string `json:"zone"`
	// At is when they said it. Former versions did not keep it.
	At time.Time `json:"at,omitzero"`
	// Asked is set once a model was told to ask for it. Without a Zone it is all that is known.
	Asked bool `json:"asked,omitempty"`
}

// SetZone keeps the zone of whoever asks, an IANA name like Europe/Rome. If it was not known,
// what they asked for before moves to that clock, and is returned.
func (b *Book) SetZone(ctx context.Context, a Asker, name string) (zone *time.Location, moved []reminder, err error) {
	owner, err := a.owner()
	if err != nil {
		return nil, nil, err
	}
	zone, err = loadZone(name)
	if err != nil {
		return nil, nil, err
	}
	before, err := b.zoneSetting(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	if before.Zone == "" { // first, so that a crash leaves nothing behind
		moved, err = b.moveAll(ctx, owner, zone)
	}
	if err != nil {
		return nil, nil, err
	}
	return zone, moved, b.keepZone(ctx, owner, zoneSetting{Zone: zone.String(), At: b.o.Now()})
}

// keepZone keeps s as what is known of an owner. That they were asked replaces nothing.
func (b *Book) keepZone(ctx context.Context, owner string, s zoneSetting) error {
	data, err := json.Marshal(s)
	if err == nil {
		err = b.store.ChangeNotes(ctx, zoneKind, owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
			if s.Zone == "" && len(have) > 0 {
				return nil, nil, nil
			}
			return []sessions.Note{{Name: zoneKind, Data: data}}, nil, nil
		})
	}
	if err != nil {
		return fmt.Errorf("reminders: keep the zone of %s: %w", owner, err)
	}
	return nil
}

// zoneOf is the zone that the person of an identity said last, on any network; "" and the
// configuration's if they have not said it.
func (b *Book) zoneOf(ctx context.Context, owner string) (name string, zone *time.Location, err error) {
	s, err := b.zoneSetting(ctx, owner)
	if err != nil {
		return "", nil, err
	}
	return s.Zone, b.zone(s.Zone), nil
}

// zoneSetting is what is known of the person of an identity: the zone that they said last, and
// whether they were asked on any network.
func (b *Book) zoneSetting(ctx context.Context, owner string) (newest zoneSetting, err error) {
	together, err := b.o.Together(ctx, owner)
	if err != nil {
		return newest, fmt.Errorf("reminders: look up who %s is: %w", owner, err)
	}
	asked := false
	for _, one := range together {
		notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: zoneKind, Owner: one, Name: zoneKind})
		if err != nil {
			return newest, fmt.Errorf("reminders: read the zone of %s: %w", one, err)
		}
		for _, n := range notes {
			var said zoneSetting
			if json.Unmarshal(n.Data, &said) != nil {
				continue // as if they had never said it
			}
			asked = asked || said.Asked
			if said.Zone == "" {
				continue
			}
			if said.At.IsZero() {
				said.At = n.At
			}
			if newest.Zone == "" || said.At.After(newest.At) {
				newest = said
			}
		}
	}
	newest.Asked = asked
	return newest, nil
}

// unknownZone is what is said of a time in the configuration's zone, because that of a is not
// known. A model is told once to ask for it; and again if the store fails, because what was
// asked for is done. name is how a calls the reminder.
func (b *Book) unknownZone(ctx context.Context, a Asker, owner, name string) string {
	if !a.Model {
		return "\nI do not know which city you are in, so this is my own zone. /jobs zone Europe/Rome tells me."
	}
	const unknown = "\nWhich zone the person is in is not known, so this is the configured one: say so. "
	s, err := b.zoneSetting(ctx, owner)
	if err == nil && s.Asked {
		return unknown + "They were asked already, so do not ask."
	}
	_ = b.keepZone(ctx, owner, zoneSetting{Asked: true})
	return unknown + fmt.Sprintf("Ask which city they are in; change_job of %s with their zone then moves it to their clock.", name)
}

// ZoneOf is the zone in which an identity lives: the configuration's if they have not said it,
// or if the store fails.
func (b *Book) ZoneOf(ctx context.Context, identity string) *time.Location {
	_, zone, err := b.zoneOf(ctx, identity)
	if err != nil {
		return b.o.Zone
	}
	return zone
}

// zone is the zone of that name, or the configuration's for "" and one that is gone.
func (b *Book) zone(name string) *time.Location {
	zone, err := loadZone(name)
	if err != nil {
		return b.o.Zone
	}
	return zone
}

// loadZone is the zone of an IANA name. The machine's own ("Local") is refused: it says
// nothing about a person.
func loadZone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, refuse("there is no time zone %.60q; write it like Europe/Rome or America/New_York", name)
	}
	return zone, nil
}
