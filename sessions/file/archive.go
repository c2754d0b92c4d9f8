package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rows"
)

// archiveLine is one line of an archive: exactly one field is set. Of rows and
// heads the last line counts, so an archive is the whole history of a
// conversation, and enough to write a lost document anew.
type archiveLine struct {
	Message   *message               `json:"message,omitempty"`
	Inbox     *rows.In               `json:"inbox,omitempty"`
	Outbox    *sessions.OutboxRecord `json:"outbox,omitempty"`
	Summaries *[]sessions.Summary    `json:"summaries,omitempty"`
	Head      *memory.Head           `json:"head,omitempty"`
}

// archiveLines are what changes add to an archive. Of a row that several of
// them changed the last state is enough.
func archiveLines(head memory.Head, changes []change) ([]byte, error) {
	var all memory.Content
	var summaries *[]sessions.Summary
	for _, ch := range changes {
		all.Apply(&ch.ChatChange)
		if ch.Gone || ch.Anew || ch.Summaries != nil {
			summaries = ch.Summaries
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var errs []error
	for _, m := range all.Messages {
		w := newMessage(m)
		errs = append(errs, enc.Encode(archiveLine{Message: &w}))
	}
	for _, r := range all.In {
		errs = append(errs, enc.Encode(archiveLine{Inbox: &r}))
	}
	for _, o := range all.Out {
		errs = append(errs, enc.Encode(archiveLine{Outbox: &o}))
	}
	if summaries != nil {
		if *summaries == nil {
			summaries = &[]sessions.Summary{} // null would be no line at all
		}
		errs = append(errs, enc.Encode(archiveLine{Summaries: summaries}))
	}
	errs = append(errs, enc.Encode(archiveLine{Head: &head}))
	return b.Bytes(), errors.Join(errs...)
}

// archive is what an archive says.
type archive struct {
	memory.Content
	head *memory.Head
	bad  int // lines that could not be read
	size int64
}

// reading is told, in tests, about each archive before it is read, and may
// have that fail.
var reading = func(path string) error { return nil }

// archiveFile is an archive that is open. There is no file if there is no
// archive, or one that is no file: then odd says so.
type archiveFile struct {
	*os.File
	odd error
}

// openArchive opens the archive at path. No archive is an empty one, and what
// is no file is found damaged when it is read. What may not be read is an error
// and no damage: it is whole, and only the operator can give it back.
func openArchive(path string) (archiveFile, error) {
	f, err := openRegular(path)
	if cause, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return archiveFile{}, cause
	}
	if errors.Is(err, errDamaged) {
		return archiveFile{odd: err}, nil
	}
	return archiveFile{File: f}, removed(err)
}

// readArchive reads the first size bytes of the archive at path, or all whole
// lines of it if size is negative.
func readArchive(path string, size int64) (*archive, error) {
	f, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	return f.read(size)
}

// read is readArchive for an archive that is open. It closes it.
func (f archiveFile) read(size int64) (*archive, error) {
	if f.odd != nil {
		return &archive{}, f.odd
	}
	var data []byte
	if f.File != nil {
		err := reading(f.Name())
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if data, err = f.bytes(); err != nil {
			return nil, err
		}
	}
	var err error
	switch {
	case size < 0: // the last line may be cut
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	case int64(len(data)) < size:
		err = fmt.Errorf("%w: the archive has %d bytes of %d", errDamaged, len(data), size)
	default:
		data = data[:size]
	}
	a := parseArchive(data)
	if a.bad > 0 && err == nil {
		err = fmt.Errorf("%w: %d lines of the archive cannot be read", errDamaged, a.bad)
	}
	return a, err
}

// bytes are all there are now. It closes the file.
func (f archiveFile) bytes() ([]byte, error) {
	var b bytes.Buffer
	info, err := f.Stat()
	if err == nil {
		b.Grow(int(info.Size()) + bytes.MinRead)
		_, err = b.ReadFrom(f)
	}
	return b.Bytes(), errors.Join(err, f.Close())
}

// say takes a message in. One that is there already was edited by hand, or
// written again after a crash: the last one counts.
func (a *archive) say(m sessions.Message) {
	i, there := memory.Find(a.Messages, m.Seq)
	switch {
	case there:
		a.Messages[i] = m
	case i == len(a.Messages):
		a.Messages = append(a.Messages, m)
	}
}

func parseArchive(data []byte) *archive {
	a := &archive{size: int64(len(data))}
	for line := range bytes.Lines(data) {
		var l archiveLine
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &l); err != nil || line[len(line)-1] != '\n' {
			a.bad++
			continue
		}
		switch {
		case l.Message != nil:
			a.say(l.Message.plain())
		case l.Inbox != nil:
			a.PutIn(l.Inbox)
		case l.Outbox != nil:
			a.PutOut(l.Outbox)
		case l.Summaries != nil:
			a.Summaries = *l.Summaries
		case l.Head != nil:
			a.head = l.Head
		default:
			a.bad++
		}
	}
	return a
}
