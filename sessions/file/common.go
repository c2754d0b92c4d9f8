package file

import (
	"context"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

const commonName = "store.json"

// commonFile is store.json: everything that belongs to no conversation, for people,
// and for Open when the rows are lost.
type commonFile struct {
	Format int   `json:"format"`
	LSN    int64 `json:"lsn,omitempty"` // of format 2: the last commit in its log that this file includes
	common
}

// common is the content of store.json. In the log of format 2 it is what a step
// changed of that.
type common struct {
	Name        string                `json:"name,omitempty"`
	Days        map[string]int64      `json:"days,omitempty"`
	Pairings    *[]sessions.Pairing   `json:"pairings,omitempty"` // all of them
	Facts       []sessions.FactRecord `json:"facts,omitempty"`
	Forgotten   []sessions.FactRecord `json:"forgotten,omitempty"` // only scope and ID; applied before Facts
	Due         map[string]time.Time  `json:"due,omitempty"`
	Occurrences []sessions.Occurrence `json:"occurrences,omitempty"`
	Quarantined []quarantined         `json:"asides,omitempty"`
	Notes       []sessions.Note       `json:"notes,omitempty"`
	Counts      []sessions.Count      `json:"counts,omitempty"`
	Erased      []string              `json:"erased,omitempty"` // of format 2: marks
}

// quarantined is a quarantined message. In the log of format 2, one with only a name
// was deleted.
type quarantined struct {
	Row string `json:"row,omitempty"` // CHANNEL/ID, of format 2
	sessions.QuarantineRecord
}

// readCommon reads what store.json shows. It leaves out the marks of erased messages:
// they would be most of the file.
func readCommon(ctx context.Context, rs rows.Reader) (commonFile, error) {
	c := commonFile{Format: documentFormat}
	r := &keyReader{ctx: ctx, r: rs}
	pairings := []sessions.Pairing{}
	for _, like := range []rows.Record{
		{Store: &rows.Store{}},
		{Pairing: &sessions.Pairing{}},
		{Fact: &sessions.FactRecord{}},
		{Job: &sessions.JobRecord{}},
		{Occurrence: &sessions.Occurrence{}},
		{Quarantined: &sessions.QuarantineRecord{}},
		{Note: &sessions.Note{}},
		{Count: &sessions.Count{}},
	} {
		for _, rec := range collect(r, rs.Records(ctx, like)) {
			switch {
			case rec.Store != nil:
				c.Name, c.Days = rec.Store.Name, rec.Store.Days
			case rec.Pairing != nil:
				pairings = append(pairings, *rec.Pairing)
			case rec.Fact != nil:
				c.Facts = append(c.Facts, *rec.Fact)
			case rec.Job != nil:
				if c.Due == nil {
					c.Due = map[string]time.Time{}
				}
				c.Due[rec.Job.Job] = rec.Job.Due
			case rec.Occurrence != nil:
				c.Occurrences = append(c.Occurrences, *rec.Occurrence)
			case rec.Note != nil && engine.Derived(rec.Note.Kind): // it follows from the conversations
			case rec.Note != nil:
				c.Notes = append(c.Notes, *rec.Note)
			case rec.Count != nil:
				c.Counts = append(c.Counts, *rec.Count)
			default:
				c.Quarantined = append(c.Quarantined, quarantined{QuarantineRecord: *rec.Quarantined})
			}
		}
	}
	c.Pairings = &pairings
	return c, r.err
}

// records returns c in the form of a dump. The record of the store comes last.
func (c *common) records() (list []sessions.Record) {
	if c.Pairings != nil {
		for _, p := range *c.Pairings {
			list = append(list, sessions.Record{Pairing: &p})
		}
	}
	for _, f := range c.Facts {
		list = append(list, sessions.Record{Fact: &f})
	}
	for job, due := range c.Due {
		list = append(list, sessions.Record{Job: &sessions.JobRecord{Job: job, Due: due}})
	}
	for _, o := range c.Occurrences {
		list = append(list, sessions.Record{Occurrence: &o})
	}
	for _, q := range c.Quarantined {
		list = append(list, sessions.Record{Quarantined: &q.QuarantineRecord})
	}
	for _, n := range c.Notes {
		list = append(list, sessions.Record{Note: &n})
	}
	for _, n := range c.Counts {
		list = append(list, sessions.Record{Count: &n})
	}
	if c.Name != "" {
		list = append(list, sessions.Record{Store: &sessions.StoreRecord{Name: c.Name, Days: c.Days, Erased: c.Erased}})
	}
	return list
}
