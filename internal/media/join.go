package media

import (
	"errors"
	"fmt"
	"io/fs"

	"dragoman/channels"
)

// Join gives the files of from to the conversation of to. Having none is no
// error. [Store.Open] finds them under their old names as well.
func (s *Store) Join(from, to channels.Key) error {
	if from.IsZero() || to.IsZero() || from == to {
		return nil
	}
	err := s.each(from, func(name string) error { return s.shelf.rename(from.FileName()+name, to.FileName()+name) })
	if err == nil {
		err = s.shelf.drop(from.FileName())
	}
	if err != nil {
		return fmt.Errorf("media: move the files of %s: %w", from, bare(err))
	}
	return nil
}

// Share gives the files of from to the conversation of to as well: from keeps
// them until [Store.Join]. Between the two the transcripts are joined, and
// whichever of them a crash leaves behind has its files: what no transcript
// names is removed under the one name only. Sharing again changes nothing.
func (s *Store) Share(from, to channels.Key) error {
	if from.IsZero() || to.IsZero() || from == to {
		return nil
	}
	err := s.each(from, func(name string) error { return s.shelf.link(from.FileName()+name, to.FileName()+name) })
	s.room.forget()
	if err != nil {
		return fmt.Errorf("media: share the files of %s: %w", from, bare(err))
	}
	return nil
}

// each calls f for "/" and the name of each file of k's conversation.
func (s *Store) each(k channels.Key, f func(name string) error) error {
	list, err := s.shelf.list(k.FileName())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		if err == nil {
			err = f("/" + e.name)
		}
	}
	return err
}
