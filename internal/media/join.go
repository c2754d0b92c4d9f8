package media

import (
	"fmt"
	"path"

	"dragoman/channels"
)

// Join gives the files of from to the conversation of to. Having none is no
// error. [Store.Open] finds them under their old names as well.
func (s *Store) Join(from, to channels.Key) error {
	if to.IsZero() || from == to {
		return nil
	}
	if err := s.give(from, to, s.shelf.rename); err != nil {
		return fmt.Errorf("media: move the files of %s: %w", from, bare(err))
	}
	return s.Remove(from) // and with it the second names of files that were shared
}

// Share gives the files of from to the conversation of to as well: from keeps
// them until [Store.Join]. Between the two the transcripts are joined, and
// whichever of them a crash leaves behind has its files: what no transcript
// names is removed under the one name only. Sharing again changes nothing.
func (s *Store) Share(from, to channels.Key) error {
	err := s.give(from, to, s.shelf.link)
	s.room.forget()
	if err != nil {
		return fmt.Errorf("media: share the files of %s: %w", from, bare(err))
	}
	return nil
}

// give calls how with the name of each file of from and its name in to.
func (s *Store) give(from, to channels.Key, how func(from, to string) error) error {
	if to.IsZero() || from == to {
		return nil
	}
	files, err := s.Files(from)
	for _, file := range files {
		if err == nil {
			err = how(file, to.FileName()+"/"+path.Base(file))
		}
	}
	return err
}
