package memory

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"

	"dragoman/sessions"
)

// Scratch is an ability of a [Disk]: room for what may not fit into memory.
// Without it a Dump of a whole store is gathered in memory.
type Scratch interface {
	// Scratch makes a file without a name, which is gone when it is closed.
	Scratch() (*os.File, error)
}

// gathered is a Dump between the lock, under which it is gathered, and the emit
// that it is handed to. Records wait in file if there is one.
type gathered struct {
	records []sessions.Record
	file    *os.File
	out     *bufio.Writer
	enc     *json.Encoder
}

// gather makes room. A whole store over a disk is not in memory and need not
// fit there; everything else is or does.
func (s *Store) gather(whole bool) (*gathered, error) {
	disk, ok := s.disk.(Scratch)
	if !ok || !whole {
		return &gathered{}, nil
	}
	f, err := disk.Scratch()
	if err != nil {
		return nil, err
	}
	g := &gathered{file: f, out: bufio.NewWriterSize(f, 256<<10)}
	g.enc = json.NewEncoder(g.out)
	g.enc.SetEscapeHTML(false)
	return g, nil
}

func (g *gathered) add(records ...sessions.Record) error {
	if g.file == nil {
		g.records = append(g.records, records...)
		return nil
	}
	for _, r := range records {
		if err := g.enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// each hands out the records in order.
func (g *gathered) each(emit func(sessions.Record) error) error {
	if g.file == nil {
		for _, r := range g.records {
			if err := emit(r); err != nil {
				return err
			}
		}
		return nil
	}
	if err := g.out.Flush(); err != nil {
		return err
	}
	if _, err := g.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for dec := json.NewDecoder(bufio.NewReaderSize(g.file, 256<<10)); ; {
		var r sessions.Record
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = emit(r)
		}
		if err != nil {
			return err
		}
	}
}

func (g *gathered) close() error {
	if g.file == nil {
		return nil
	}
	return g.file.Close()
}
