package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"

	"dragoman/internal/documents"
	"dragoman/internal/drawing"
	"dragoman/internal/sandbox"
	"dragoman/internal/webpage"
)

// What children that read documents, and pages of the web, are called.
const (
	documentWork = "document"
	pageWork     = "page"
)

// textMemory is what reading a document or page may take, in bytes. Ordinary ones take a tenth,
// and pictures need more.
const textMemory = 176 << 20

// RunChild does the work of a child, if this process is one, and then does not return.
// Programs that serve a [Daemon] call it first in main.
func RunChild() {
	sandbox.Main(map[string]sandbox.Work{
		documentWork: sandbox.Within(textMemory, documents.Serve), pageWork: sandbox.Within(textMemory, webpage.Serve), pictureWork: drawing.Serve,
	})
}

// foreign lets children read what people sent.
type foreign struct {
	log *slog.Logger
	// ground is where programs of others are locked in; off, if not "", says why none can be.
	ground func() (ground sandbox.Ground, off string)
}

// closed says why no program of others can be locked in here; "" if one can.
func (f foreign) closed() string {
	_, off := f.ground()
	return off
}

// mostText leaves room for the line after a text that was cut.
const mostText = 5 << 20

// Is implements the tools' Documents.
func (foreign) Is(head []byte) bool { return documents.Is(head) }

// Text implements the tools' Documents.
func (f foreign) Text(ctx context.Context, document io.Reader) (string, error) {
	whole := bufio.NewReader(document)
	head, _ := whole.Peek(documents.HeadOfPDF) // a file that cannot be read fails again below
	if documents.IsPDF(head) {
		text, err := documents.PDF(ctx, f.poppler(0, func() io.Reader { return whole }))
		return text, f.plainly(ctx, err)
	}
	text, err := sandbox.Run(ctx, documentWork, whole, mostText)
	return string(text), f.plainly(ctx, err)
}

// Page implements the tools' Pages.
func (f foreign) Page(ctx context.Context, base *url.URL, contentType string, body []byte) (webpage.Page, error) {
	in, err := webpage.Ask(base, contentType, body)
	if err != nil {
		return webpage.Page{}, err
	}
	got, err := sandbox.Run(ctx, pageWork, in, webpage.MostServed)
	if err != nil {
		return webpage.Page{}, fmt.Errorf("the page %w", f.plainly(ctx, err))
	}
	return webpage.Served(got)
}

// plainly is err for the model: what is ours to know is in the log.
func (f foreign) plainly(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if said, ok := errors.AsType[sandbox.Said](err); ok {
		return said
	}
	if said, ok := errors.AsType[documents.Sentence](err); ok {
		return said
	}
	f.log.Warn("a document or page could not be read", "err", err)
	return errors.New("cannot be read: it needs more memory or time than is allowed, or breaks its reader")
}
