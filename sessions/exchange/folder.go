package exchange

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Open reads the file at path. If nothing else names the conversation, the name of the
// file does.
func Open(ctx context.Context, path string, o Options) (*Reader, error) {
	base := filepath.Base(path)
	o.Name = cmp.Or(o.Name, strings.TrimSuffix(base, filepath.Ext(base)))
	var err error
	if o.Meta == nil {
		if o.Meta, err = readMeta(metaPath(path)); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("exchange: open: %w", err)
	}
	magic := make([]byte, len(sqliteMagic))
	if _, err = f.ReadAt(magic, 0); err == nil && string(magic) == sqliteMagic && slices.Contains([]Format{"", Auto, Goose}, o.Format) {
		_ = f.Close()
		return openGoose(ctx, path, o)
	}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("exchange: open %s: it is not a file", path)
	}
	r, err := NewReader(f, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.close = f.Close
	if r.format == Nanobot && o.Zone == nil {
		r.opts.Zone = nanobotZone(path)
	}
	return r, nil
}

const (
	metaSuffix      = ".meta.json"     // of the file next to a log of PicoClaw's
	sentinelLog     = "messages.jsonl" // the log of Sentinel
	sentinelSummary = "summary.json"   // next to it
)

// metaPath is the path of the metadata for the log at path, or "".
func metaPath(path string) string {
	if filepath.Base(path) == sentinelLog {
		return filepath.Join(filepath.Dir(path), sentinelSummary)
	}
	if stem, ok := strings.CutSuffix(path, ".jsonl"); ok {
		return stem + metaSuffix
	}
	return ""
}

func readMeta(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("exchange: open: %w", err)
	}
	return data, nil
}

// candidates returns the paths of the files in a folder and its subfolders that may
// hold conversations, sorted.
func candidates(dir string) (out []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := e.Name()
		switch {
		case err != nil || path == dir:
			return err
		case strings.HasPrefix(name, "."):
			if e.IsDir() {
				return filepath.SkipDir
			}
		case !e.Type().IsRegular() || strings.HasSuffix(name, metaSuffix):
		case slices.Contains([]string{".json", ".jsonl", ".db", ".sqlite"}, filepath.Ext(name)):
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("exchange: open: %w", err)
	}
	return slices.DeleteFunc(out, func(path string) bool {
		return filepath.Base(path) == sentinelSummary && slices.Contains(out, filepath.Join(filepath.Dir(path), sentinelLog))
	}), nil
}

// sqliteMagic is how every SQLite file begins.
const sqliteMagic = "SQLite format 3\x00"

// detect detects the format by the first line that is not empty, and returns a reader
// that begins with it.
func detect(in *bufio.Reader) (Format, io.Reader, error) {
	if b, _ := in.Peek(len(sqliteMagic)); string(b) == sqliteMagic {
		return Goose, in, nil
	}
	var first []byte
	var err error
	for len(bytes.TrimSpace(first)) == 0 && err == nil {
		first, err = readLine(in, maxLine)
	}
	if err != nil && err != io.EOF && !errors.Is(err, errLineTooLong) { // a document needs no line breaks
		return "", nil, fmt.Errorf("exchange: read: %w", err)
	}
	line := bytes.TrimSpace(first)
	switch {
	case len(line) == 0:
		return "", nil, fmt.Errorf("exchange: read: %w: the file is empty", ErrFormat)
	case bytes.HasPrefix(line, []byte("PK\x03\x04")):
		return "", nil, fmt.Errorf("exchange: read: %w: this is a ZIP archive; unpack it, and import the folder", ErrFormat)
	case line[0] != '{' && line[0] != '[':
		return "", nil, fmt.Errorf("exchange: read: %w: neither JSON, JSON lines nor a SQLite database", ErrFormat)
	}
	return classify(line), io.MultiReader(bytes.NewReader(first), in), nil
}

// classify recognizes a line of a log. Anything else begins a document or a list.
func classify(line []byte) Format {
	var f fieldSet
	switch {
	case json.Unmarshal(line, &f) != nil: // a list, or an object of several lines
	case isText(f["_type"]):
		return Nanobot
	case isRecord(f) || isArchive(f): // the reader says why it refuses an archive
		return JSONL
	case f["role"] == nil && isList(f["messages"]):
	case f["messageType"] != nil:
		return Sentinel
	case f["role"] != nil || isMeta(f):
		return PicoClawLines
	}
	return JSON
}

var recordNames = sync.OnceValue(rules.NamesOf[sessions.Record])

func isRecord(f fieldSet) bool {
	for name, value := range f {
		return len(f) == 1 && recordNames()[name] && value[0] == '{'
	}
	return false
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// isMeta reports whether f, which has no role, is the metadata line of a log and not a
// document.
func isMeta(f fieldSet) bool {
	for _, name := range []string{"skip", "count", "created_at", "updated_at"} {
		if f[name] != nil {
			return true
		}
	}
	return f["key"] != nil && f["messages"] == nil
}

// errOwnStore: the input is a file of one of our stores. It has only a part of a
// conversation, and nobody would notice the loss of the rest until it is too late.
var errOwnStore = fmt.Errorf("%w: it is a file from a Dragoman store, which cannot be imported alone: "+
	"copy the whole store with dragoman sessions migrate, or export the conversations with dragoman sessions export and import the result", ErrFormat)

// isStoreFile recognizes a document of the file store and its store.json. An export can
// have their fields too, if an older version imported such a file, but it has a
// message_seq.
func isStoreFile(f fieldSet) bool {
	ours := isNumber(f["lsn"]) || f["head"] != nil && f["key"] != nil || f["pairings"] != nil
	return isNumber(f["format"]) && ours && f["message_seq"] == nil
}

func isNumber(raw json.RawMessage) bool {
	var n float64
	return raw != nil && json.Unmarshal(raw, &n) == nil
}

// isArchive recognizes a line of the file store's archive, which has one field. The
// record of an inbox row has the same name, but no number as its id.
func isArchive(f fieldSet) bool {
	var row struct {
		ID json.RawMessage `json:"id"`
	}
	return len(f) == 1 && (isObject(f["message"]) || isObject(f["head"]) || isList(f["summaries"]) ||
		json.Unmarshal(f["inbox"], &row) == nil && isNumber(row.ID))
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
