package erasure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions"
)

// intention is an erasure that may not be complete. Its file names people, so it is
// removed as soon as the erasure is complete.
type intention struct {
	ID      string           `json:"id"`
	At      time.Time        `json:"at"`
	By      string           `json:"by,omitempty"` // the name of whoever erases
	Erasure sessions.Erasure `json:"erasure"`
	// Deletes are the Keys of Erasure that were conversations. Options.Gone is called
	// for these only.
	Deletes []channels.Key `json:"deletes,omitempty"`
}

// covers reports whether i names everything that e names.
func (i *intention) covers(e sessions.Erasure) bool {
	in := func(all, some []string) bool {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	return in(targets(i.Erasure), targets(e)) && in(i.Erasure.Scopes, e.Scopes)
}

// unfinished reads the intention of an interrupted erasure, nil if there is none.
func (e *Eraser) unfinished() (*intention, error) {
	if e.File == "" {
		return nil, nil
	}
	data, err := os.ReadFile(e.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	i := &intention{}
	if err == nil {
		err = json.Unmarshal(data, i)
	}
	if err != nil {
		return nil, fmt.Errorf("erasure: read what was to be erased: %w", err)
	}
	return i, nil
}

// intend writes i to the file, atomically and durably.
func (e *Eraser) intend(i intention) error {
	if e.File == "" {
		return nil
	}
	data, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("erasure: encode what is to be erased: %w", err)
	}
	draft := e.File + ".new"
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("erasure: note what is to be erased: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(draft, e.File)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("erasure: note what is to be erased: %w", err), os.Remove(draft))
	}
	return durable.SyncDir(filepath.Dir(e.File))
}

// forget removes the file of an erasure that is complete or has changed nothing.
func (e *Eraser) forget() error {
	if e.File == "" {
		return nil
	}
	if err := os.Remove(e.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("erasure: remove the note of an erasure: %w", err)
	}
	return durable.SyncDir(filepath.Dir(e.File))
}
