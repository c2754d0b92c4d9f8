package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Uncarried counts the conversations with something in their documents that
// no dump has: another program or an editor wrote it there.
type Uncarried struct {
	// Fields are those with fields that we do not know where nothing is kept
	// of others, or with more of them at the top than can be kept.
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
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return false, nil // the store sets it aside or refuses it
	}
	if doc.extra != "" {
		return true, nil
	}
	if v := doc.Head.Conversation; v != nil {
		doc.showForeign(v.Settings)
	}
	own, err := doc.encode()
	if err != nil {
		return false, err
	}
	there, err := plain(data)
	if err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	known, err := plain(own)
	if err != nil {
		return false, fmt.Errorf("%s as the store writes it: %w", filepath.Base(path), err)
	}
	// What was edited at the top counts, and the head follows it.
	delete(there, "head")
	return more(there, known), nil
}

// plain is what an object says. Numbers stay as they are written: JSON has
// such as no float64 can be.
func plain(object []byte) (fields map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	return fields, d.Decode(&fields)
}

// more reports whether JSON has fields with something in them that other JSON
// does not have.
func more(there, known any) bool {
	switch v := there.(type) {
	case map[string]any:
		k, _ := known.(map[string]any)
		for name, x := range v {
			y, ok := k[name]
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
	case json.Number:
		digits, _, _ := strings.Cut(strings.ToLower(v.String()), "e")
		return !strings.ContainsAny(digits, "123456789")
	}
	return reflect.ValueOf(x).IsZero()
}
