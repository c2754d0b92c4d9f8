package file

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

const (
	commonName = "store.json"
	indexName  = "index.json"
	seenName   = "seen.ids"
)

// commonFile is what belongs to no conversation, as it stands in its file.
type commonFile struct {
	Format int   `json:"format"`
	LSN    int64 `json:"lsn"`
	Epoch  int64 `json:"epoch"`
	memory.Common
}

// indexFile spares a start the reading of every document. It is made anew from
// them if it is lost.
type indexFile struct {
	Format        int         `json:"format"`
	LSN           int64       `json:"lsn"`
	Seen          int64       `json:"seen"`
	Conversations []indexHead `json:"conversations"`
}

type indexHead struct {
	memory.Head
	// Bytes and Changed are those of the document: one that was changed since
	// is looked at when the store opens.
	Bytes   int64     `json:"bytes"`
	Changed time.Time `json:"changed"`
}

// seenRow remembers an accepted message: memory.SeenRow bytes in a file.
type seenRow struct {
	id  memory.SeenID
	seq int32
}

func (d *disk) writeCommon(c memory.Common, lsn int64) error {
	d.mu.Lock()
	epoch := d.epoch
	d.mu.Unlock()
	data, err := pretty(commonFile{documentFormat, lsn, epoch, c})
	if err == nil {
		err = replace(filepath.Join(d.dir, commonName), data)
	}
	if err == nil {
		err = syncDir(d.dir)
	}
	return err
}

func pretty(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// writeIndex adds the ids that were seen since the last time, and then writes
// the index that counts them.
func (d *disk) writeIndex(c cut) error {
	rows := make([]byte, 0, len(c.fresh)*memory.SeenRow)
	for _, r := range c.fresh {
		rows = binary.BigEndian.AppendUint32(append(rows, r.id[:]...), uint32(r.seq))
	}
	if err := appendAt(filepath.Join(d.dir, seenName), d.seen*memory.SeenRow, rows); err != nil {
		return err
	}
	index := indexFile{Format: documentFormat, LSN: c.lsn, Seen: d.seen + int64(len(c.fresh))}
	for _, h := range c.heads {
		info, err := os.Stat(d.documentPath(h.Key))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // it went meanwhile
			}
			return err
		}
		index.Conversations = append(index.Conversations, indexHead{Head: h, Bytes: info.Size(), Changed: info.ModTime().UTC()})
	}
	data, err := index.encode()
	if err == nil {
		err = replace(filepath.Join(d.dir, indexName), data)
	}
	if err == nil {
		err = syncDir(d.dir)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen, d.based = index.Seen, map[channels.Key]bool{}
	for _, h := range index.Conversations {
		d.based[h.Key] = true
	}
	return nil
}

// headsStart and headsEnd stand around the heads in an index, which have a
// line each: so they can be read side by side.
const (
	headsStart = `"conversations":[` + "\n"
	headsEnd   = "\n]}"
)

// encode writes the index as one JSON object.
func (x indexFile) encode() ([]byte, error) {
	heads := x.Conversations
	x.Conversations = []indexHead{}
	data, err := json.Marshal(x)
	if err != nil || len(heads) == 0 {
		return data, err
	}
	data = append(bytes.TrimSuffix(data, []byte("]}")), '\n')
	for i, h := range heads {
		line, err := json.Marshal(h)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			data = append(data, ",\n"...)
		}
		data = append(data, line...)
	}
	return append(data, headsEnd...), nil
}

// parseIndex reads what encode wrote, and any other JSON of that content.
func parseIndex(data []byte) (*indexFile, error) {
	x := &indexFile{}
	start := bytes.Index(data, []byte(headsStart))
	body, whole := bytes.CutSuffix(data, []byte(headsEnd))
	if start < 0 || !whole || start+len(headsStart) > len(body) { // the last: with no heads the two overlap
		return x, json.Unmarshal(data, x)
	}
	top := append(bytes.TrimSuffix(slices.Clone(data[:start+len(headsStart)]), []byte("\n")), "]}"...)
	if err := json.Unmarshal(top, x); err != nil {
		return x, err
	}
	lines := bytes.Split(body[start+len(headsStart):], []byte("\n"))
	x.Conversations = make([]indexHead, len(lines))
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(lines) && errs[w] == nil; i += workers {
				errs[w] = json.Unmarshal(bytes.TrimSuffix(lines[i], []byte(",")), &x.Conversations[i])
			}
		})
	}
	all.Wait()
	return x, errors.Join(errs...)
}

// readSeen reads the first rows of the file of seen ids.
func (d *disk) readSeen(rows int64) (*memory.SeenIDs, error) {
	data, err := os.ReadFile(filepath.Join(d.dir, seenName))
	if err != nil && (rows > 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	if rows < 0 || rows > int64(len(data))/memory.SeenRow {
		return nil, errors.New("the file of seen ids is too short")
	}
	return memory.NewSeenIDs(data[:rows*memory.SeenRow]), nil
}
