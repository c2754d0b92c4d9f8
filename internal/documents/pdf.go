package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of PDFs. What reads them has limits of its own, in memory and time.
const (
	// MostPDFPages is how many pages of a PDF are read.
	MostPDFPages = 1000
	// mostPDFText is what pdftotext may write: spaces that only lay out are removed.
	mostPDFText = 16 << 20
)

// Poppler runs a program of poppler-utils on a PDF, without the rights of this process.
// Each call gets the file from its beginning. The error says that none could be run.
type Poppler func(ctx context.Context, name string, args []string, most int) (Poppled, error)

// Poppled is what such a program left.
type Poppled struct {
	Out  []byte
	Said string // what it wrote about errors
	Code int    // its exit code, -1 if a limit ended it
}

// HeadOfPDF is how much of a file is looked at to know a PDF.
const HeadOfPDF = 1 << 10

// IsPDF reports whether a file that begins with head is a PDF. Mail programs, servers and
// printers leave lines of theirs before it, which readers accept within the first kilobyte.
// A text that quotes the first line of a PDF is none: PDFs also have bytes that are no text.
func IsPDF(head []byte) bool {
	head = head[:min(len(head), HeadOfPDF)]
	before, _, found := bytes.Cut(head, []byte("%PDF-"))
	if !found {
		return false
	}
	if len(bytes.Trim(bytes.TrimPrefix(before, []byte("\xef\xbb\xbf")), " \t\r\n\x00")) == 0 {
		return true
	}
	last := before[len(before)-1]
	return (last == '\n' || last == '\r') && !isText(head)
}

// isText reports whether head, which may end within a character, is UTF-8.
func isText(head []byte) bool {
	for cut := range min(len(head), utf8.UTFMax) {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// Sentence is an error for people, which follows the document's name.
type Sentence string

func (s Sentence) Error() string { return string(s) }

// PDF returns the text of a PDF, page by page. The error is a [Sentence], or run's.
func PDF(ctx context.Context, run Poppler) (string, error) {
	pages, done, err := pdfPages(ctx, run, MostPDFPages+1)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	out := &output{to: &text, left: Usual.Text}
	var empty []int
	for i, page := range pages[:min(len(pages), MostPDFPages)] {
		if !hasText(page) {
			empty = append(empty, i+1)
		}
		err = writePage(out, i+1, page)
		if err != nil {
			break
		}
	}
	switch {
	case errors.Is(err, ErrCut):
		_ = note(&text, "The document goes on; its first %d MB of text are here.", Usual.Text>>20)
	case len(empty) == len(pages):
		return "", sentence("is a PDF of %s without text: a scan or drawings. A model that sees is shown the first %d as pictures with its message; otherwise ask for the text", pagesWord(len(pages)), MostScans)
	case len(empty) > 0:
		_ = note(&text, "Pages without text, perhaps pictures: %s.", listPages(empty))
	}
	switch {
	case len(pages) > MostPDFPages:
		_ = note(&text, "The document goes on; its first %d pages are here.", MostPDFPages)
	case !done:
		_ = note(&text, "The rest needs more time or memory than a document may, or is damaged.")
	}
	return text.String(), nil
}

// pdfPages returns the texts of the first pages. done: all of them could be read.
func pdfPages(ctx context.Context, run Poppler, most int) (pages []string, done bool, err error) {
	got, err := run(ctx, "pdftotext", []string{"-layout", "-enc", "UTF-8", "-eol", "unix", "-l", fmt.Sprint(most), "-", "-"}, mostPDFText)
	if err != nil {
		return nil, false, err
	}
	text := strings.ToValidUTF8(string(got.Out), "")
	if text == "" {
		return nil, false, pdfTrouble(got)
	}
	pages = strings.Split(text, "\f") // one ends each page
	if pages[len(pages)-1] == "" {
		pages = pages[:len(pages)-1]
	}
	return pages, got.Code == 0, nil
}

// pdfTrouble is the sentence about a PDF of which nothing could be read.
func pdfTrouble(got Poppled) error {
	switch {
	case strings.Contains(got.Said, "ncorrect password") || strings.Contains(got.Said, "ncrypt"):
		return Sentence(why[ErrLocked])
	case got.Code == 3:
		return Sentence("does not allow its text to be copied")
	case got.Code == 0:
		return Sentence("is a PDF without pages")
	case got.Code == 1:
		return Sentence(why[ErrBroken])
	}
	return Sentence("cannot be read: it needs more memory or time than a document may, or breaks its reader")
}

// writePage writes a page with its number, unless it is empty. Of the spaces that lay out a page, a few stay: in
// tables they part cells.
func writePage(out *output, number int, page string) error {
	if strings.TrimSpace(page) == "" {
		return nil
	}
	out.apart()
	if err := out.whole(fmt.Sprintf("[page %d]", number)); err != nil {
		return err
	}
	for line := range strings.Lines(page) {
		if strings.TrimSpace(line) == "" {
			out.apart()
			continue
		}
		if err := out.whole(narrow(line)); err != nil {
			return err
		}
	}
	return nil
}

// mostSpaces is how many spaces in a row are kept.
const mostSpaces = 3

// narrow shortens runs of spaces, and leaves out those at the beginning.
func narrow(line string) string {
	var b strings.Builder
	spaces := 0
	for _, r := range strings.TrimSpace(line) {
		if r == ' ' {
			spaces++
		} else {
			spaces = 0
		}
		if spaces <= mostSpaces {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// leastText is how many letters and digits a page with text has at least: a number that a
// scanner stamped is none.
const leastText = 8

func hasText(page string) bool {
	n := 0
	for _, r := range page {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
		if n >= leastText {
			return true
		}
	}
	return false
}

func sentence(format string, args ...any) Sentence { return Sentence(fmt.Sprintf(format, args...)) }

// pagesWord counts pages.
func pagesWord(n int) string {
	if n == 1 {
		return "one page"
	}
	return fmt.Sprintf("%d pages", n)
}

// listPages names some pages.
func listPages(pages []int) string {
	const most = 20
	var names []string
	for _, p := range pages[:min(len(pages), most)] {
		names = append(names, fmt.Sprint(p))
	}
	list := strings.Join(names, ", ")
	if left := len(pages) - most; left > 0 {
		list += fmt.Sprintf(" and %d more", left)
	}
	return list
}
