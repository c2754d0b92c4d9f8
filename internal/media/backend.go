package media

import (
	"io"
	"time"
)

// backend is where the files of a store are. Names are "FOLDER/FILE", as [Name] makes
// them. A missing file or folder is [io/fs.ErrNotExist], unless a method says otherwise.
// Each method has either done all of its work when it returns or none.
type backend interface {
	// create begins a file, which has no name yet.
	create() (draft, error)
	// open opens a file and returns its size.
	open(name string) (content, int64, error)
	// names returns all names of a file: the given one and those that link and rename
	// made. It returns none if the file is gone.
	names(name string) ([]string, error)
	folders() ([]string, error)
	list(folder string) ([]entry, error)
	// rename renames a file. It replaces a file with the new name.
	rename(from, to string) error
	// link gives a file a second name. If a file has that name, it stays.
	link(from, to string) error
	// unlink removes names and returns those that it removed. It skips missing ones and
	// goes on after an error.
	unlink(names ...string) (gone []string, err error)
	// drop removes a folder with all of its files. A missing one is no error.
	drop(folder string) error
	used() (int64, error)
	// collect removes unnamed files that crashes left.
	collect() error
	close() error
}

// draft is a file that is being written.
type draft interface {
	io.Writer
	// publish names the file, which was written at that time, or now if it is zero. The
	// file is durable under its name when publish returns.
	publish(name string, at time.Time) error
	// discard removes the file, unless it was published. It is always the last call.
	discard()
}

// content is a stored file that is open. It can be read at any place, so that
// pages and ranges need not read it from the start.
type content interface {
	io.ReadCloser
	io.ReaderAt
}

// entry is a file in the list of a folder.
type entry struct {
	name string // within the folder
	size int64
	at   time.Time // when it was written
}

func put(to backend, name string, from io.Reader, at time.Time) error {
	d, err := to.create()
	if err != nil {
		return err
	}
	defer d.discard()
	if _, err = io.Copy(d, from); err == nil {
		err = d.publish(name, at)
	}
	return err
}
