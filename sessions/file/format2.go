package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// A store of format 2 had no rows. Its commits were lines of a log, which it deleted
// once all documents included them. Open converts such a store once, and keeps a copy
// of it.

const (
	format2Log   = "log"
	backupSuffix = ".before-v3"
)

// format2Files are those that only format 2 has.
var format2Files = []string{format2Log, "index.json", "seen.ids"}

// logEntry is a line of the log.
type logEntry struct {
	LSN     int64 `json:"lsn"`
	Changes []struct {
		Common common    `json:"common"`
		Chats  []logChat `json:"chats"`
	} `json:"changes"`
}

// logChat is what a step changed of a key.
type logChat struct {
	head
	Gone      bool                    `json:"gone"` // the key was deleted
	Anew      bool                    `json:"anew"` // ignore everything before
	Messages  []sessions.Message      `json:"messages"`
	Summaries *[]sessions.Summary     `json:"summaries"` // all of them, if they changed
	In        []rows.In               `json:"inbox"`
	Out       []sessions.OutboxRecord `json:"outbox"`
	Ended     []string                `json:"ended"` // turns whose journals were deleted
	Steps     []struct {
		Turn string        `json:"turn"`
		Step sessions.Step `json:"step"`
	} `json:"steps"`

	lsn int64
}

// format2 is what a store without rows has besides documents and archives: store.json,
// and in format 2 the log.
type format2 struct {
	common
	chats map[channels.Key][]logChat
}

// after returns the changes that the document of o does not include.
func (f *format2) after(o orphan) []logChat {
	if o.doc == nil {
		return f.chats[o.key]
	}
	return slices.DeleteFunc(slices.Clone(f.chats[o.key]), func(ch logChat) bool { return ch.lsn <= o.doc.LSN })
}

// readFormat2 reads store.json and the log of format 2. If the store is of format 2,
// it calls converting and keeps a copy.
func (b *backend) readFormat2(converting func(backup string)) (*format2, error) {
	f := &format2{chats: map[channels.Key][]logChat{}}
	c, err := b.readCommonFile(filepath.Join(b.dir, commonName))
	if err != nil {
		return nil, err
	}
	f.common = c.common
	segments, err := listFiles(b.dir, ".jsonl", format2Log)
	if err == nil && (len(segments) > 0 || c.Format == previousFormat) {
		backup := b.dir + backupSuffix
		b.log.Info("the files of an earlier version are converted; a copy of them is kept", "copy", backup)
		converting(backup)
		err = b.keepBackup(backup)
	}
	for _, path := range segments {
		if err == nil {
			err = b.readLog(f, path, c.LSN)
		}
	}
	return f, err
}

// readCommonFile reads store.json. It renames a damaged one and returns an empty one
// instead. Errors: sessions.NewerError.
func (b *backend) readCommonFile(path string) (*commonFile, error) {
	c := &commonFile{}
	data, err := readRegular(path)
	if err == nil {
		if n := formatIn(data); n > documentFormat {
			return nil, newerError(path, n)
		}
		if err = json.Unmarshal(data, c); err == nil && (c.Format < previousFormat || c.Name == "") {
			err = errors.New("it is not complete")
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	if errors.Is(err, errDamaged) {
		to, err2 := renameDamaged(path, b.now())
		b.log.Error("people, facts and jobs cannot be read; what is known of them is written anew", "set_aside", to, "err", errors.Join(err, err2))
		return &commonFile{}, err2
	}
	return c, ignoreMissing(err)
}

// readLog reads a file of the log. It skips lines that it cannot read: the last one
// if a crash has cut it, others if they are damaged. The changes up to the LSN common
// are in store.json.
func (b *backend) readLog(f *format2, path string, common int64) error {
	data, err := os.ReadFile(path)
	for line := range bytes.Lines(data) {
		e, err := parseLine(line)
		if err != nil {
			b.log.Warn("a commit in the log of an earlier version cannot be read and is left out", "file", filepath.Base(path), "err", err)
			continue
		}
		for _, ch := range e.Changes {
			if e.LSN > common {
				f.add(ch.Common)
			}
			for _, chat := range ch.Chats {
				chat.lsn = e.LSN
				f.chats[chat.Key] = append(f.chats[chat.Key], chat)
			}
		}
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseLine reads a line of the log: checksum, length, JSON.
func parseLine(line []byte) (e logEntry, err error) {
	sum, rest, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	length, data, ok2 := bytes.Cut(rest, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	n, err2 := strconv.Atoi(string(length))
	if !ok || !ok2 || err != nil || err2 != nil || n != len(data) || uint32(want) != crc32.Checksum(data, castagnoli) {
		return e, errors.New("it is not whole")
	}
	return e, json.Unmarshal(data, &e)
}

// add applies a step of the log to c.
func (c *common) add(ch common) {
	c.Name = cmp.Or(ch.Name, c.Name)
	if c.Days == nil {
		c.Days = ch.Days
	} else {
		maps.Copy(c.Days, ch.Days)
	}
	if c.Due == nil {
		c.Due = ch.Due
	} else {
		maps.Copy(c.Due, ch.Due)
	}
	if ch.Pairings != nil {
		c.Pairings = ch.Pairings
	}
	c.Erased = append(c.Erased, ch.Erased...)
	for _, gone := range ch.Forgotten {
		c.Facts = slices.DeleteFunc(c.Facts, func(f sessions.FactRecord) bool {
			return f.Scope == gone.Scope && (gone.ID == 0 || f.ID == gone.ID)
		})
	}
	c.Facts = append(slices.DeleteFunc(c.Facts, func(f sessions.FactRecord) bool {
		return slices.ContainsFunc(ch.Facts, func(by sessions.FactRecord) bool { return by.Scope == f.Scope && by.ID == f.ID })
	}), ch.Facts...)
	c.Occurrences = append(slices.DeleteFunc(c.Occurrences, func(o sessions.Occurrence) bool {
		return slices.ContainsFunc(ch.Occurrences, func(by sessions.Occurrence) bool { return by.Job == o.Job && by.Due.Equal(o.Due) })
	}), ch.Occurrences...)
	for _, q := range ch.Quarantined {
		c.Quarantined = slices.DeleteFunc(c.Quarantined, func(old quarantined) bool { return old.Row == q.Row || old.Channel+"/"+old.ID == q.Row })
		if q.ID != "" || q.Why != "" || !q.Dropped {
			c.Quarantined = append(c.Quarantined, q)
		}
	}
}

// apply applies a step of the log to c. It keeps messages that c already has.
func (c *content) apply(ch *logChat) {
	if ch.Gone || ch.Anew {
		*c = content{}
	}
	for _, m := range ch.Messages {
		if n := len(c.Messages); n == 0 || c.Messages[n-1].Seq < m.Seq {
			c.Messages = append(c.Messages, m)
		}
	}
	if ch.Summaries != nil {
		c.Summaries = *ch.Summaries
	}
	for _, r := range ch.In {
		c.putIn(r)
	}
	for _, o := range ch.Out {
		c.putOut(o)
	}
	for _, turn := range ch.Ended {
		delete(c.Journals, turn)
	}
	for _, s := range ch.Steps {
		if c.Journals == nil {
			c.Journals = map[string][]sessions.Step{}
		}
		c.Journals[s.Turn] = append(c.Journals[s.Turn], s.Step)
	}
}

// keepBackup copies the files of the store to the folder to.
func (b *backend) keepBackup(to string) error {
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	unfinished := to + draftSuffix
	err := os.RemoveAll(unfinished)
	if err == nil {
		err = os.Mkdir(unfinished, 0o700) // no other user may read it
	}
	if err == nil {
		err = os.CopyFS(unfinished, os.DirFS(b.dir))
	}
	if err == nil {
		err = filepath.WalkDir(unfinished, func(path string, d fs.DirEntry, err error) error {
			if err == nil && (d.IsDir() || d.Type().IsRegular()) {
				err = syncDir(path)
			}
			return err
		})
	}
	if err == nil {
		err = os.Rename(unfinished, to)
	}
	if err == nil {
		err = syncDir(filepath.Dir(b.dir))
	}
	return err
}

// removeFormat2 removes the files that only format 2 has.
func (b *backend) removeFormat2() error {
	for _, name := range format2Files {
		if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
