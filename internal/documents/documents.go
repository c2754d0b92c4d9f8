// Package documents reads the text of office documents and books: docx, pptx, xlsx,
// odt, ods, odp and epub. It is our own reader over zip and XML, because what there is
// weighs megabytes and trusts its input.
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
//
// Goroutines: none. [Read] may be called from several.
//
// Sources: ECMA-376 (docx, pptx, xlsx), OpenDocument 1.3, EPUB 3.3.
package documents

import "errors"

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

// Usual are the limits for files that people send: books and reports are far below.
var Usual = Limits{
	Entries: 10_000,
	Part:    16 << 20,
	Total:   64 << 20,
	Piece:   1 << 20,
	Depth:   1_000,
	Text:    4 << 20,
}
