package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"dragoman/sessions/memory"
)

// entry is one commit: a line of the log.
type entry struct {
	LSN     int64           `json:"lsn"`
	Epoch   int64           `json:"epoch,omitempty"` // a life of the store began
	Changes []memory.Change `json:"changes,omitempty"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is how an entry stands in the log: checksum, length, JSON. A line that
// a crash has cut fits neither.
func (e entry) line() ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(data) + 32)
	fmt.Fprintf(&b, "%08x %d ", crc32.Checksum(data, castagnoli), len(data))
	b.Write(data)
	b.WriteByte('\n')
	return b.Bytes(), nil
}

var errLine = errors.New("not a whole line of the log")

// parseLine reads what line wrote, without the end of the line.
func parseLine(line []byte) (e entry, err error) {
	sum, rest, ok := bytes.Cut(line, []byte(" "))
	length, data, ok2 := bytes.Cut(rest, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	n, err2 := strconv.Atoi(string(length))
	if !ok || !ok2 || err != nil || err2 != nil || n != len(data) || uint32(want) != crc32.Checksum(data, castagnoli) {
		return e, errLine
	}
	return e, json.Unmarshal(data, &e)
}

// journal is the log of a store: files in one directory, each named after the
// first entry that it can hold. Entries are added to the last one.
type journal struct {
	dir  string
	file *os.File
	size int64 // durable bytes of file
	// failed says that bytes beyond size may be in the file.
	failed bool
	total  int64 // bytes over all files
	// refused is how long the longest line is for which there was no room, since
	// one as long was added.
	refused int
}

func segmentName(lsn int64) string { return fmt.Sprintf("%016d.jsonl", lsn) }

// segments are the names of the log's files, in order.
func (j *journal) segments() ([]string, error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok && len(n) == 16 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// begin starts a file for the entry lsn and those after it.
func (j *journal) begin(lsn int64) error {
	f, err := os.OpenFile(filepath.Join(j.dir, segmentName(lsn)), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	// One of that name holds nothing that counts: else lsn would be higher.
	if err = f.Truncate(0); err == nil {
		err = syncDir(j.dir)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := j.close(); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.size, j.failed = f, 0, false
	return nil
}

// add makes e durable: the one commit point of the store.
func (j *journal) add(e entry) error {
	line, err := e.line()
	if err != nil {
		return err
	}
	if err := j.write(line); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			j.refused = max(j.refused, len(line))
		}
		return err
	}
	if len(line) >= j.refused {
		j.refused = 0
	}
	return nil
}

// write puts a line behind the others.
func (j *journal) write(line []byte) error {
	err := j.mend()
	if err != nil {
		return err
	}
	if _, err = j.file.WriteAt(line, j.size); err == nil {
		err = fsync(j.file)
	}
	if err != nil {
		j.failed = true
		return errors.Join(err, j.mend())
	}
	j.size += int64(len(line))
	j.total += int64(len(line))
	return nil
}

// mend cuts off what a failed add has left, so that nobody takes it for
// something that was acknowledged.
func (j *journal) mend() error {
	if !j.failed {
		return nil
	}
	err := j.file.Truncate(j.size)
	if err == nil {
		err = fsync(j.file)
	}
	if err != nil {
		return fmt.Errorf("cut off a failed commit: %w", err)
	}
	j.failed = false
	return nil
}

// drop removes the files before the current one: what they hold is in the
// documents.
func (j *journal) drop() error {
	names, err := j.segments()
	if err != nil {
		return err
	}
	for _, name := range names {
		if j.file == nil || name != filepath.Base(j.file.Name()) {
			if err := os.Remove(filepath.Join(j.dir, name)); err != nil {
				return err
			}
		}
	}
	j.total = j.size
	return syncDir(j.dir)
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

// read gives every entry to f, in order. damaged is told about a file in which
// lines cannot be read and does something about it; with torn, it is the last
// line of the log alone, which a crash has cut.
func (j *journal) read(f func(entry), damaged func(path string, good []byte, torn bool) error) error {
	names, err := j.segments()
	if err != nil {
		return err
	}
	j.total = 0
	for i, name := range names {
		path := filepath.Join(j.dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		j.total += int64(len(data))
		var good []byte
		bad, torn := 0, false
		for line := range bytes.Lines(data) {
			e, err := parseLine(bytes.TrimSuffix(line, []byte("\n")))
			if err == nil && line[len(line)-1] == '\n' {
				f(e)
				good, torn = append(good, line...), false
				continue
			}
			bad, torn = bad+1, true
		}
		if bad > 0 {
			if err := damaged(path, good, torn && bad == 1 && i == len(names)-1); err != nil {
				return err
			}
		}
	}
	return nil
}
