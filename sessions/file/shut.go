package file

import (
	"errors"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

// A conversation whose archive may not be read is shut: whoever wants something
// of it gets an error, and the others go on. Its messages that came before may
// be known from the archive alone, so to take a new one could be to take it
// twice. Nothing of it is written, and what the index says of it stays as it
// is: the next start finds all as this one did.

// shut is why a conversation cannot be used, and what the index had of it; nil:
// nothing.
type shut struct {
	err error
	row *indexHead
}

// orShut is err, the outcome of a look at the files of k. If it is about k
// alone, k is shut, and the start goes on.
func (d *disk) orShut(k channels.Key, row *indexHead, err error) error {
	if !errors.Is(err, memory.ErrShut) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut[k] = shut{err, row}
	if _, known := d.heads[k]; !known {
		d.heads[k] = memory.Head{Key: k} // so that its files are asked for
	}
	d.log.Error("a conversation is shut, the others go on", "key", k.String(), "err", err)
	return nil
}

// shutBy is why k is shut, or nil.
func (d *disk) shutBy(k channels.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut[k].err
}

// shutRow is the row of the index that a conversation keeps that is shut.
func (d *disk) shutRow(k channels.Key) (row *indexHead, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, is := d.shut[k]
	return s.row, is
}

// headsForUse are the heads. Nothing waits in what is shut. The caller holds mu.
func (d *disk) headsForUse() []memory.Head {
	heads := make([]memory.Head, 0, len(d.heads))
	for k, h := range d.heads {
		if _, is := d.shut[k]; is {
			h.Open = false
		}
		heads = append(heads, h)
	}
	return heads
}
