package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// openPeople makes what knows who is who: the tokens, the directory, the gate, and who
// reads whose talks.
func (d *Daemon) openPeople() {
	d.tokens = people.NewTokens(d.store, people.Options{Configured: d.cfg.HTTP.Token.Reveal()})
	var rooms, shared []string
	for name, c := range d.cfg.Channels {
		if !c.Local() {
			continue
		}
		rooms = append(rooms, name)
		if c.Type == live.Type.Name && !d.cfg.HTTP.Private() {
			shared = append(shared, name)
		}
	}
	d.people = people.NewDirectory(d.store, people.DirectoryOptions{
		Rooms: rooms, Shared: shared,
		Wrong: func(channel, id string) string { return d.cfg.WrongIdentity(Types(), channel, id) },
		Operator: func() channels.Key {
			if d.beats == nil {
				return channels.Key{}
			}
			return d.beats.operatorChat()
		},
	})
	d.gate = people.NewGate(d.store)
	audit := auditLog(d.state)
	d.reads = people.NewVisibility(d.people, d.store, people.VisibilityOptions{
		Gate: d.gate, ReadAlong: d.cfg.People.ReadAlong,
		Audit: func(p people.Principal, k channels.Key) error { return audit.Read(p.Name, k) },
		Tell:  d.tellReadAlong,
	})
}

// sayReadAlong is shown once in a conversation before somebody else reads it.
const sayReadAlong = "From now on, whoever runs me can also read this conversation."

// tellReadAlong tells the people of k. The store takes the notice once, however often it
// is told.
func (d *Daemon) tellReadAlong(ctx context.Context, k channels.Key) error {
	if d.gateway == nil {
		return api.ErrNoDaemon
	}
	return d.gateway.Tell(ctx, k, "read-along", sayReadAlong)
}

const (
	// ownersSay is how often the log says how far it is.
	ownersSay = 10 * time.Second
	// ownersEvery is when imported conversations are looked for again.
	ownersEvery = 24 * time.Hour
	// ownersAtOnce is of how many conversations one commit stores who wrote in them. One
	// commit for each kept the disk busy for minutes after an import of 10,000.
	ownersAtOnce = 32
)

// findOwners finds out who wrote in conversations of former versions, and once a day in
// imported ones, until ctx ends. One node does it.
func (d *Daemon) findOwners(ctx context.Context) {
	if d.partial() {
		return
	}
	_ = countedLeases{d.store, d.metrics}.Hold(ctx, "owners", func(ctx context.Context) error { // it only ends with its context
		for {
			if err := d.findAllOwners(ctx); err != nil && ctx.Err() == nil {
				d.log.Warn("could not find out who wrote in all older conversations; trying again in a day", "left", d.unowned.Load(), "err", err)
			}
			channels.Sleep(ctx, ownersEvery)
			if ctx.Err() != nil {
				return nil
			}
		}
	})
}

// findAllOwners is one round of findOwners.
func (d *Daemon) findAllOwners(ctx context.Context) error {
	keys, err := d.store.UnknownOwners(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	d.unowned.Store(int64(len(keys)))
	said := time.Now()
	done := 0
	var failed error
	for some := range slices.Chunk(keys, ownersAtOnce) {
		found, err := d.findSomeOwners(ctx, some)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = errors.Join(failed, err)
		done += found
		left := d.unowned.Add(-int64(found))
		if time.Since(said) >= ownersSay {
			said = time.Now()
			d.log.Info("finding out who wrote in older conversations", "done", done, "left", left)
		}
	}
	if failed == nil {
		d.log.Info("found out who wrote in older conversations", "conversations", len(keys))
	}
	return failed
}

// findSomeOwners finds out who wrote in these conversations and returns in how many it did.
// If one of them fails, the others do not wait for it.
func (d *Daemon) findSomeOwners(ctx context.Context, keys []channels.Key) (found int, failed error) {
	if d.store.FindOwners(ctx, keys...) == nil {
		return len(keys), nil
	}
	for _, k := range keys {
		err := d.store.FindOwners(ctx, k)
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if err == nil {
			found++
		}
		failed = errors.Join(failed, err)
	}
	return found, failed
}

// roomsOf lists the rooms of the page and the terminal that belong to one of these
// identities.
func (d *Daemon) roomsOf(ctx context.Context, identities []string) (rooms []channels.Key, err error) {
	q := sessions.Query{Owners: []string{}, Limit: sessions.MaxPage}
	for _, identity := range identities {
		for _, channel := range d.people.Rooms() {
			q.Owners = append(q.Owners, people.Identity(channel, identity))
		}
	}
	for {
		page, err := d.store.Find(ctx, q)
		if err != nil || len(page) == 0 {
			return rooms, err
		}
		for _, c := range page {
			if slices.Contains(identities, people.RoomPerson(c.Key)) {
				rooms = append(rooms, c.Key)
			}
		}
		place := page[len(page)-1].Position()
		q.After = &place
	}
}
