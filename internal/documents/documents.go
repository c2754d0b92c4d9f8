// Package documents reads the text of office documents and books: docx, pptx, xlsx,
// odt, ods, odp and epub. It is our own reader over zip and XML, because what there is
// weighs megabytes and trusts its input. For PDFs it is not: no reader in Go finds more than
// half of the words, so [PDF] and [Scans] understand what poppler's programs say, which the
// caller runs where they can do no harm.
//
// The promise: a document is known by its content, never by its name. Its text comes
// as a person would read it from top to bottom: headings, paragraphs, tables (cells
// parted by tabs), footnotes, comments, slides with their notes, sheets as CSV with
// dates as dates. Nothing outside the document is ever opened: no link, no picture, no
// entity.
//
// Everything is bounded (see [Limits]), because a document comes from anybody. A file
// that is made to be unpacked into gigabytes costs no more than its limits.
//
// What fails, and how:
//
//	it is none of these kinds          ErrKind
//	it is protected by a password      ErrLocked
//	it is cut off or not well-formed   ErrBroken, with what was read before
//	it is larger than the limits       ErrTooLarge, with what was read before
//	more text than the limit           ErrCut, with the text until there
//	writing fails                      the writer's error
//	a PDF cannot be read               a [Sentence]; what was read before is kept, with a line
//
// Goroutines: none. [Read] may be called from several.
//
// Sources: ECMA-376 (docx, pptx, xlsx), OpenDocument 1.3, EPUB 3.3.
package documents

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Kind is what a document is.
type Kind string

// The kinds that can be read.
const (
	Docx Kind = "docx"
	Pptx Kind = "pptx"
	Xlsx Kind = "xlsx"
	Odt  Kind = "odt"
	Ods  Kind = "ods"
	Odp  Kind = "odp"
	Epub Kind = "epub"
)

// Why a document was not read, or not to its end.
var (
	ErrKind     = errors.New("documents: not a document that can be read")
	ErrLocked   = errors.New("documents: protected by a password")
	ErrBroken   = errors.New("documents: damaged")
	ErrTooLarge = errors.New("documents: too large")
	ErrCut      = errors.New("documents: more text than is read")
)

// Limits bound what one document may cost.
type Limits struct {
	Entries int   // files in the archive
	Part    int64 // unpacked bytes of one of them
	Total   int64 // unpacked bytes of all that are read
	Piece   int   // bytes between two tags: encoding/xml holds such a piece in memory, several times
	Depth   int   // elements within one another
	Text    int64 // bytes of text
}

const zipHead = "PK\x03\x04"

// Usual are the limits for files that people send: books and reports are far below.
var Usual = Limits{
	Entries: 10_000,
	Part:    16 << 20,
	Total:   64 << 20,
	Piece:   1 << 20,
	Depth:   1_000,
	Text:    4 << 20,
}

// Is reports whether a file that begins with head may be a document. Those of offices and
// books are archives (ZIP), or what old programs and passwords make of them.
func Is(head []byte) bool {
	return bytes.HasPrefix(head, []byte(zipHead)) || bytes.HasPrefix(head, []byte(oleHead)) || IsPDF(head)
}

// reader turns one kind into text.
type reader func(*archive, *output) error

// readers are all of them.
var readers = map[Kind]reader{
	Docx: readDocx, Pptx: readPptx, Xlsx: readXlsx,
	Odt: readODF, Ods: readODF, Odp: readODF, Epub: readEpub,
}

// Read writes the text of the document in r, which has size bytes, to w, and says what
// it was. The errors are in the package's table: several of them come after a part of
// the text was written.
func Read(w io.Writer, r io.ReaderAt, size int64, limits Limits) (Kind, error) {
	a, err := open(r, size, limits)
	if err != nil {
		return "", err
	}
	kind, err := a.kind()
	if err != nil {
		return "", err
	}
	out := &output{to: w, left: limits.Text}
	if err := readers[kind](a, out); err != nil {
		return kind, err
	}
	return kind, out.end()
}

// types are what the first part of the other kinds says, with templates.
var types = map[string]Kind{
	"application/vnd.oasis.opendocument.text":                  Odt,
	"application/vnd.oasis.opendocument.text-template":         Odt,
	"application/vnd.oasis.opendocument.spreadsheet":           Ods,
	"application/vnd.oasis.opendocument.spreadsheet-template":  Ods,
	"application/vnd.oasis.opendocument.presentation":          Odp,
	"application/vnd.oasis.opendocument.presentation-template": Odp,
	"application/epub+zip":                                     Epub,
}

// kind looks at what is in the archive.
func (a *archive) kind() (Kind, error) {
	if office := a.office(); office != "" {
		return office, nil
	}
	if !a.has("mimetype") {
		return "", ErrKind
	}
	said, err := a.small("mimetype")
	if err != nil {
		return "", err
	}
	kind, ok := types[said]
	if !ok {
		return "", ErrKind
	}
	return kind, nil
}

// open reads the archive's list.
func open(r io.ReaderAt, size int64, limits Limits) (*archive, error) {
	head := make([]byte, 8)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("documents: read: %w", err)
	}
	switch begin := string(head[:n]); {
	case begin == oleHead:
		return nil, oleError(r, size)
	case n < 4 || begin[:4] != zipHead:
		return nil, ErrKind
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if len(z.File) > limits.Entries {
		return nil, fmt.Errorf("%w: %d files in one, at most %d are read", ErrTooLarge, len(z.File), limits.Entries)
	}
	a := &archive{files: make(map[string]*zip.File, len(z.File)), limits: limits, left: limits.Total}
	for _, f := range z.File {
		if _, twice := a.files[f.Name]; !twice {
			a.files[f.Name] = f
		}
	}
	return a, nil
}
