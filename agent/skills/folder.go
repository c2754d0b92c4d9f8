package skills

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// The limits of a folder of skills, and of one skill.
const (
	mostSkills = 100
	mostFiles  = 200
	mostBytes  = 4 << 20
	maxFile    = 1 << 20
	maxPath    = 200
	maxDepth   = 5
)

// files are the contents of a skill's folder, by their paths with slashes.
type files map[string][]byte

// readFolder reads all of the folder called name in root. It holds nothing but regular files
// without other names, and folders: a link could lead out, and could change without a change
// of the folder.
func readFolder(root *os.Root, name string) (files, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, plainError(err)
	}
	if !info.IsDir() {
		return nil, errors.New("it is not a folder")
	}
	r := reader{root: root, name: name, all: files{}}
	err = r.folder("", 0)
	if err != nil {
		return nil, err
	}
	return r.all, nil
}

// reader reads one skill.
type reader struct {
	root *os.Root
	name string
	all  files
	size int64
}

func (r *reader) folder(at string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: folders are nested deeper than %d", at, maxDepth)
	}
	dir, err := r.root.Open(path.Join(r.name, at))
	if err != nil {
		return plainError(err)
	}
	defer dir.Close() // nothing was written
	entries, err := dir.ReadDir(mostFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return plainError(err)
	}
	if len(entries) > mostFiles {
		return fmt.Errorf("it has more than %d files", mostFiles)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		err := r.entry(path.Join(at, e.Name()), depth)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) entry(at string, depth int) error {
	if why := badPath(at); why != "" {
		return fmt.Errorf("a file has a name that %s", why)
	}
	info, err := r.root.Lstat(path.Join(r.name, at))
	switch {
	case err != nil:
		return plainError(err)
	case info.IsDir():
		return r.folder(at, depth+1)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link, which could lead out of the folder", at)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder", at)
	case links(info) > 1:
		return fmt.Errorf("%s has a second name elsewhere (a hard link)", at)
	case info.Size() > maxFile:
		return fmt.Errorf("%s has more than %d bytes", at, maxFile)
	case len(r.all) >= mostFiles:
		return fmt.Errorf("it has more than %d files", mostFiles)
	}
	return r.file(at)
}

// file reads a file that was regular. Should it be another one by now, it is still within
// the root and the limits, and its contents are hashed as they were read.
func (r *reader) file(at string) error {
	f, err := r.root.OpenFile(path.Join(r.name, at), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return plainError(err)
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file any more", at)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return plainError(err)
	}
	r.size += int64(len(data))
	if len(data) > maxFile || r.size > mostBytes {
		return fmt.Errorf("it has more than %d bytes", mostBytes)
	}
	r.all[at] = data
	return nil
}

// badPath says what is wrong with a path, "" if nothing is.
func badPath(at string) string {
	switch {
	case len(at) > maxPath:
		return fmt.Sprintf("is longer than %d bytes", maxPath)
	case strings.ContainsFunc(at, hidden):
		return "has characters that cannot be seen"
	case strings.Contains(at, `\`):
		return "has a backslash"
	}
	return ""
}

// hash identifies a folder: names, lengths and contents.
func (f files) hash() string {
	h := sha256.New()
	for _, name := range f.names() {
		part := func(b []byte) {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
			h.Write(b)
		}
		part([]byte(name))
		part(f[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// names are the paths, sorted.
func (f files) names() (names []string) {
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// plainError drops the path of an error: the model may read it.
func plainError(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
