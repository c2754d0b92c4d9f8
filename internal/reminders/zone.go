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
}

// SetZone keeps the zone of whoever asks, an IANA name like Europe/Rome.
func (b *Book) SetZone(ctx context.Context, a Asker, name string) (*time.Location, error) {
	owner, err := a.owner()
	if err != nil {
		return nil, err
	}
	zone, err := loadZone(name)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(zoneSetting{zone.String(), b.o.Now()})
	if err != nil {
		return nil, fmt.Errorf("reminders: write a zone: %w", err)
	}
	err = b.store.ChangeNotes(ctx, zoneKind, owner, func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return []sessions.Note{{Name: zoneKind, Data: data}}, nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("reminders: keep the zone of %s: %w", owner, err)
	}
	return zone, nil
}

// zoneOf is the zone that the person of an identity said last, on any network; "" and the
// configuration's if they have not said it.
func (b *Book) zoneOf(ctx context.Context, owner string) (name string, zone *time.Location, err error) {
	together, err := b.o.Together(ctx, owner)
	if err != nil {
		return "", nil, fmt.Errorf("reminders: look up who %s is: %w", owner, err)
	}
	var newest zoneSetting
	for _, one := range together {
		notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: zoneKind, Owner: one, Name: zoneKind})
		if err != nil {
			return "", nil, fmt.Errorf("reminders: read the zone of %s: %w", one, err)
		}
		for _, n := range notes {
			var said zoneSetting
			if json.Unmarshal(n.Data, &said) != nil {
				continue // as if they had never said it
			}
			if said.At.IsZero() {
				said.At = n.At
			}
			if newest.Zone == "" || said.At.After(newest.At) {
				newest = said
			}
		}
	}
	return newest.Zone, b.zone(newest.Zone), nil
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
		return nil, refuse("there is no time zone %.60q; use an IANA name like Europe/Rome or UTC", name)
	}
	return zone, nil
}
