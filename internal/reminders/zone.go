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
	data, err := json.Marshal(zoneSetting{zone.String()})
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

// zoneOf is the zone of an owner; "" and the configuration's if they have not said it.
func (b *Book) zoneOf(ctx context.Context, owner string) (name string, zone *time.Location, err error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: zoneKind, Owner: owner, Name: zoneKind})
	if err != nil {
		return "", nil, fmt.Errorf("reminders: read the zone of %s: %w", owner, err)
	}
	var said zoneSetting
	for _, n := range notes {
		if json.Unmarshal(n.Data, &said) != nil {
			said = zoneSetting{} // as if they had never said it
		}
	}
	return said.Zone, b.zone(said.Zone), nil
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
