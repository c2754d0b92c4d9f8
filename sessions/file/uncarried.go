package file

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Uncarried counts the conversations with something in their documents that
// no dump has: another program or an editor wrote it there.
type Uncarried struct {
	// Fields are those with more fields beside the messages that we do not know
	// than can be kept, and those with such fields that have nothing but a
	// queue, which has no settings to keep them in.
	Fields int `json:"fields,omitempty"`
}

// FindUncarried looks through the documents of the store in dir, which nobody
// may have open. It only reads. Documents that are damaged count for nothing.
func FindUncarried(dir string) (u Uncarried, err error) {
	for _, sub := range []string{documentDir, jobDir} {
		docs, err := pathsWith(filepath.Join(dir, sub), ".json")
		if err != nil {
			return u, fmt.Errorf("file: look for what is not carried over: %w", err)
		}
		for _, path := range docs {
			fields, err := uncarried(path)
			if err != nil {
				return u, fmt.Errorf("file: look for what is not carried over: %w", err)
			}
			if fields {
				u.Fields++
			}
		}
	}
	return u, nil
}

// uncarried looks at the document at path.
func uncarried(path string) (bool, error) {
	data, err := readRegular(path)
	if errors.Is(err, errDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return false, nil // the store sets it aside or refuses it
	}
	return doc.extra != "", nil
}
