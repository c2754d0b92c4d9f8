package media

import (
	"io"
	"time"
)

// shelf is where the files of a store lie. Names are "FOLDER/FILE", as [Name]
// makes them. What is not there is [io/fs.ErrNotExist], unless a method says
// something else. Each method is done when it returns, or has failed whole.
type shelf interface {
	// create begins a file, which has no name yet.
	create() (draft, error)
	// open opens the file of that name, and says how large it is.
	open(name string) (content, int64, error)
	// names are all names of a file: the one given and those that link made, or
	// what it is called since it was moved. None: it is gone.
	names(name string) ([]string, error)
	folders() ([]string, error)
	list(folder string) ([]entry, error)
	// rename gives a file another name, which may be that of a file that goes.
	rename(from, to string) error
	// link gives a file a second name. If there is a file of that name, it stays.
	link(from, to string) error
	// unlink takes these names away and returns which. All of them are tried;
	// one that is not there is no error.
	unlink(names ...string) (gone []string, err error)
	// drop takes away a folder and all in it. Having none is no error.
	drop(folder string) error
	// used is what all files take.
	used() (int64, error)
	// collect removes what crashes left that has no name.
	collect() error
	close() error
}

// draft is a file that is being written.
type draft interface {
	io.Writer
	// publish gives it a name, and returns when it is durable under it. at is when
	// it was written; zero: now.
	publish(name string, at time.Time) error
	// discard is called in the end. After publish it only lets go.
	discard()
}

// content is an open file.
type content interface {
	io.ReadCloser
	io.ReaderAt
}

// entry is a file of a folder.
type entry struct {
	name string // within the folder
	size int64
	at   time.Time // when it was written
}

// put keeps what from gives under a name.
func put(to shelf, name string, from io.Reader, at time.Time) error {
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
