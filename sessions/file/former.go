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
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// Stores of format 2 had no rows: their commits were lines of a log, which was
// dropped when all documents had them. A store of that time is taken in once, with
// what its log has and its documents do not. A copy of it is kept.

const (
	formerLog = "log"
	copyOf    = ".before-v3" // the end of the name of that copy
)

// formerFiles are those that there are no more.
var formerFiles = []string{formerLog, "index.json", "seen.ids"}

// formerEntry is a line of the log.
type formerEntry struct {
	LSN     int64 `json:"lsn"`
	Changes []struct {
		Common common       `json:"common"`
		Chats  []formerChat `json:"chats"`
	} `json:"changes"`
}

// formerChat is what a step changed of a key.
type formerChat struct {
	head
	Gone      bool                    `json:"gone"` // nothing is left of the key
	Anew      bool                    `json:"anew"` // what was before does not count
	Messages  []sessions.Message      `json:"messages"`
	Summaries *[]sessions.Summary     `json:"summaries"` // all of them, if they changed
	In        []rows.In               `json:"inbox"`
	Out       []sessions.OutboxRecord `json:"outbox"`
	Ended     []string                `json:"ended"` // turns without a journal now
	Steps     []struct {
		Turn string        `json:"turn"`
		Step sessions.Step `json:"step"`
	} `json:"steps"`

	lsn int64
}

// former is what a store without rows has beside its documents and archives.
type former struct {
	common
	chats map[channels.Key][]formerChat
}

// after are the changes that the document of st does not have.
func (f *former) after(st stray) []formerChat {
	if st.doc == nil {
		return f.chats[st.key]
	}
	return slices.DeleteFunc(slices.Clone(f.chats[st.key]), func(ch formerChat) bool { return ch.lsn <= st.doc.LSN })
}

// readFormer reads what belongs to no conversation, and the log of format 2. If
// there is one, it keeps a copy of the store.
func (b *backend) readFormer() (*former, error) {
	f := &former{chats: map[channels.Key][]formerChat{}}
	c, err := b.readCommonFile(filepath.Join(b.dir, commonName))
	if err != nil {
		return nil, err
	}
	f.common = c.common
	segments, err := pathsWith(b.dir, ".jsonl", formerLog)
	if err == nil && (len(segments) > 0 || c.Format == formerFormat) {
		err = b.keepCopy()
	}
	for _, path := range segments {
		if err == nil {
			err = b.readLog(f, path, c.LSN)
		}
	}
	return f, err
}

// readCommonFile reads store.json. One that is damaged is set aside, and is as
// good as none. Errors: sessions.NewerError.
func (b *backend) readCommonFile(path string) (*commonFile, error) {
	c := &commonFile{}
	data, err := readRegular(path)
	if err == nil {
		if n := formatIn(data); n > documentFormat {
			return nil, newer(path, n)
		}
		if err = json.Unmarshal(data, c); err == nil && (c.Format < formerFormat || c.Name == "") {
			err = errors.New("it is not complete")
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	if errors.Is(err, errDamaged) {
		moved, err2 := setAside(path, b.now())
		b.log.Error("people, facts and jobs cannot be read; what is known of them is written anew", "set_aside", moved, "err", errors.Join(err, err2))
		return &commonFile{}, err2
	}
	return c, removed(err)
}

// readLog reads a file of the log. Lines that cannot be read are left out: the
// last one if a crash has cut it, others if they are damaged.
func (b *backend) readLog(f *former, path string, common int64) error {
	data, err := os.ReadFile(path)
	for line := range bytes.Lines(data) {
		e, err := parseLine(line)
		if err != nil {
			b.log.Warn("a commit in the log of a former version cannot be read and is left out", "file", filepath.Base(path), "err", err)
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
func parseLine(line []byte) (e formerEntry, err error) {
	sum, rest, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	length, data, ok2 := bytes.Cut(rest, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	n, err2 := strconv.Atoi(string(length))
	if !ok || !ok2 || err != nil || err2 != nil || n != len(data) || uint32(want) != crc32.Checksum(data, castagnoli) {
		return e, errors.New("it is not whole")
	}
	return e, json.Unmarshal(data, &e)
}

// add makes c what it is after a step.
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

// apply makes c what it is after a step. Messages that it has already stay.
func (c *content) apply(ch *formerChat) {
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

// keepCopy keeps what the store is made of beside it. Nothing is written twice: files
// that are replaced later stay in the copy. Only a disk that knows no second names of
// files has them copied.
func (b *backend) keepCopy() error {
	to := b.dir + copyOf
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	unfinished := to + draftEnding
	err := os.RemoveAll(unfinished)
	for _, sub := range append(slices.Clone(storeDirs), formerLog) {
		if err == nil {
			err = link(filepath.Join(b.dir, sub), filepath.Join(unfinished, sub))
		}
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		if err = os.RemoveAll(unfinished); err == nil {
			err = os.CopyFS(unfinished, os.DirFS(b.dir))
		}
	}
	if err == nil {
		err = os.Rename(unfinished, to)
	}
	if err == nil {
		b.log.Info("the files of a former version are taken in; a copy of them is kept", "copy", to)
		err = syncDir(filepath.Dir(b.dir))
	}
	return err
}

// link gives the files in a folder second names in another.
func link(from, to string) error {
	entries, err := os.ReadDir(from)
	if err = errors.Join(removed(err), os.MkdirAll(to, 0o700)); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), rowsName) {
			if err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return syncDir(to)
}

// removeFormer removes what only format 2 had. The rows have it.
func (b *backend) removeFormer() error {
	for _, name := range formerFiles {
		if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
