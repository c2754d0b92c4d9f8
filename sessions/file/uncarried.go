package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"dragoman/sessions"
)

// Uncarried counts the conversations with something in their documents that
// no dump has: another program or an editor wrote it there.
type Uncarried struct {
	// Fields are those with fields that we do not know.
	Fields int `json:"fields,omitempty"`
	// Texts are those with messages that are not as they are in the archive.
	Texts int `json:"texts,omitempty"`
}

// FindUncarried looks through the documents of the store in dir, which nobody
// may have open. It only reads. Documents that are damaged count for nothing.
func FindUncarried(dir string) (u Uncarried, err error) {
	for _, sub := range []string{documentDir, jobDir} {
		docs, err := filepath.Glob(filepath.Join(dir, sub, "*.json"))
		if err != nil {
			return u, fmt.Errorf("file: look for what is not carried over: %w", err)
		}
		for _, path := range docs {
			fields, texts, err := uncarried(dir, path)
			if err != nil {
				return u, fmt.Errorf("file: look for what is not carried over: %w", err)
			}
			if fields {
				u.Fields++
			}
			if texts {
				u.Texts++
			}
		}
	}
	return u, nil
}

// uncarried looks at the document at path.
func uncarried(dir, path string) (fields, texts bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, false, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return false, false, nil // the store sets it aside or refuses it
	}
	own, err := json.Marshal(doc) // without what is extra
	if err != nil {
		return false, false, err
	}
	var there, known map[string]any
	if err := errors.Join(json.Unmarshal(data, &there), json.Unmarshal(own, &known)); err != nil {
		return false, false, err
	}
	// What was edited at the top counts, and the head follows it.
	delete(there, "head")
	d := disk{dir: dir}
	a, err := readArchive(d.archivePath(doc.Key), doc.ArchiveBytes)
	if errors.Is(err, errDamaged) {
		err = nil
	}
	if err != nil {
		return false, false, err
	}
	texts, err = edited(a.Messages, doc.content().Messages)
	return more(there, known), texts, err
}

// more reports whether JSON has fields with something in them that other JSON
// does not have.
func more(there, known any) bool {
	switch v := there.(type) {
	case map[string]any:
		k, _ := known.(map[string]any)
		for name, x := range v {
			y, ok := k[name]
			for other := range k { // the decoder takes a name in other letters for ours
				if !ok && strings.EqualFold(name, other) {
					y, ok = k[other], true
				}
			}
			if !ok && !empty(x) || ok && more(x, y) {
				return true
			}
		}
	case []any:
		k, _ := known.([]any)
		for i, x := range v {
			if i < len(k) && more(x, k[i]) {
				return true
			}
		}
	}
	return false
}

// empty reports whether x is what a field is that is left out.
func empty(x any) bool {
	switch v := x.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(x).IsZero()
}

// edited reports whether a message stands in a document in another form than
// in its archive.
func edited(archived, shown []sessions.Message) (bool, error) {
	bySeq := make(map[int64]sessions.Message, len(archived))
	for _, m := range archived {
		bySeq[m.Seq] = m
	}
	for _, m := range shown {
		old, ok := bySeq[m.Seq]
		if !ok {
			continue
		}
		one, err := json.Marshal(old)
		two, err2 := json.Marshal(m)
		if err := errors.Join(err, err2); err != nil {
			return false, err
		}
		if !bytes.Equal(one, two) {
			return true, nil
		}
	}
	return false, nil
}
