package app_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/sessions/exchange"
	"dragoman/sessions/storetest"
)

// A file out of a store holds a part of what was said: an import takes none of
// it, and says what does.
func TestImportRefusesFilesOfAStore(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, exchange.Item) (exchange.Presence, error) { return exchange.Absent, nil }
	for _, kind := range config.FileStores {
		p := newPlace(t, "")
		s := at(t, p.parse(kind)) // open, so that its log holds something
		defer s.Close()
		storetest.Fill(t, s)
		told := 0
		err := filepath.WalkDir(p.parse(kind).Path, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a draft of the open store, which has its name now
			}
			if err != nil || info.Size() == 0 {
				return err
			}
			for _, format := range []exchange.Format{exchange.Auto, exchange.JSON, exchange.JSONL, exchange.PicoClaw, exchange.PicoClawLines, exchange.OpenAI, exchange.Goose} {
				_, err := exchange.Survey(t.Context(), path, exchange.Options{Format: format, Key: channels.MustKey("x:new")}, nothing)
				if err == nil {
					t.Errorf("%s was taken in as %s", path, format)
				}
				// Logs and locks are not even JSON.
				name := strings.TrimPrefix(path, p.parse(kind).Path)
				if format != exchange.Auto || name != "" && filepath.Ext(name) != ".json" && !strings.HasPrefix(name, "/archive/") {
					continue
				}
				told++
				if err != nil && !strings.Contains(err.Error(), "dragoman sessions migrate") {
					t.Errorf("%s: the refusal is %q", path, err)
				}
			}
			return nil
		})
		if err != nil || told == 0 {
			t.Errorf("%s: %d files were read, %v", kind, told, err)
		}
	}
}
