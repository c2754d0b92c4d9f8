package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Open reads the file at path. The name of the file is the conversation's if
// nothing else names it.
func Open(ctx context.Context, path string, o Options) (*Reader, error) {
	base := filepath.Base(path)
	o.Name = cmp.Or(o.Name, strings.TrimSuffix(base, filepath.Ext(base)))
	var err error
	if o.Meta == nil {
		if o.Meta, err = readMeta(beside(path)); err != nil {
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
	return r, nil
}

// The names of the file next to a log of PicoClaw's, of Sentinel's log, and of the
// file next to that.
const (
	metaSuffix      = ".meta.json"
	sentinelLog     = "messages.jsonl"
	sentinelSummary = "summary.json"
)

// beside is the file that belongs to the log at path, or "".
func beside(path string) string {
	if filepath.Base(path) == sentinelLog {
		return filepath.Join(filepath.Dir(path), sentinelSummary)
	}
	if stem, ok := strings.CutSuffix(path, ".jsonl"); ok {
		return stem + metaSuffix
	}
	return ""
}

func readMeta(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("exchange: open: %w", err)
	}
	return data, nil
}

// candidates are the files of a folder, and of the folders in it, that may hold
// conversations, by name.
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
