package sqlite

import (
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// storeRecord hands out what is known of the store as a whole.
func (d *dumper) storeRecord() error {
	rec := &sessions.StoreRecord{Days: map[string]int64{}}
	if err := d.row(`SELECT name FROM meta`).Scan(&rec.Name); err != nil {
		return err
	}
	err := d.each(`SELECT day, begun FROM days`, func(row scanner) (r sessions.Record, err error) {
		var day string
		var n int64
		err = row.Scan(&day, &n)
		rec.Days[day] = n
		return r, err
	})
	if err != nil {
		return err
	}
	if rec.Erased, err = d.erased(); err != nil {
		return err
	}
	return d.emit(sessions.Record{Store: rec})
}

// erased lists the marks of what was erased, in order. What is hidden and not
// yet swept has its rows still: they are gone for everybody but the marks that
// they will leave, without which the copy would take the same messages again.
func (d *dumper) erased() (hashes []string, err error) {
	err = d.each(`SELECT hash FROM erased`, func(row scanner) (r sessions.Record, err error) {
		var hash string
		err = row.Scan(&hash)
		hashes = append(hashes, hash)
		return r, err
	})
	hidden := map[int64]channels.Key{}
	if err == nil {
		err = d.each(`SELECT key_id, key FROM sweeps WHERE key <> ''`, func(row scanner) (r sessions.Record, err error) {
			var id int64
			var name string
			var k channels.Key
			if err = row.Scan(&id, &name); err == nil {
				err = parseKey(&k, name)
			}
			hidden[id] = k
			return r, err
		})
	}
	for id, k := range hidden {
		if err == nil {
			err = d.each(`SELECT `+inColumns+` FROM inbox WHERE id BETWEEN ? AND ?`, func(row scanner) (r sessions.Record, err error) {
				w, err := scanIn(row, k)
				hashes = append(hashes, marks(w)...)
				return r, err
			}, rowID(id, 0), rowID(id, maxSeq))
		}
	}
	slices.Sort(hashes)
	return slices.Compact(hashes), err
}

const factsQuery = `SELECT scope, id, at, text FROM facts ORDER BY scope, id`

func scanFact(row scanner) (sessions.Record, error) {
	f := &sessions.FactRecord{}
	var at int64
	err := row.Scan(&f.Scope, &f.ID, &at, &f.Text)
	f.At = timeOf(at)
	return sessions.Record{Fact: f}, err
}

// facts hands them all out.
func (d *dumper) facts() error { return d.each(factsQuery, scanFact) }

// others hands out what belongs to no conversation.
func (d *dumper) others() error {
	var at, due int64
	for _, part := range []struct {
		query string
		scan  func(scanner) (sessions.Record, error)
	}{
		{`SELECT channel, msg_id, at, dropped, why, raw FROM aside ORDER BY channel, msg_id`, func(row scanner) (sessions.Record, error) {
			a := &sessions.AsideRecord{}
			err := row.Scan(&a.Channel, &a.ID, &at, &a.Dropped, &a.Why, &a.Raw)
			a.At = timeOf(at)
			return sessions.Record{Aside: a}, err
		}},
		{factsQuery, scanFact},
		{`SELECT ` + personColumns + ` FROM people ORDER BY channel, person`, func(row scanner) (sessions.Record, error) {
			p, err := scanPerson(row)
			return sessions.Record{Pairing: &p}, err
		}},
		{`SELECT job, due FROM jobs ORDER BY job`, func(row scanner) (sessions.Record, error) {
			j := &sessions.JobRecord{}
			err := row.Scan(&j.Job, &at)
			j.Due = timeOf(at)
			return sessions.Record{Job: j}, err
		}},
		{`SELECT job, due, outcome, why, at FROM occurrences ORDER BY job, due`, func(row scanner) (sessions.Record, error) {
			o := &sessions.Occurrence{}
			err := row.Scan(&o.Job, &due, &o.Outcome, &o.Why, &at)
			o.Due, o.At = timeOf(due), timeOf(at)
			return sessions.Record{Occurrence: o}, err
		}},
	} {
		if err := d.each(part.query, part.scan); err != nil {
			return err
		}
	}
	return nil
}
