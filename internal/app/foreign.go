package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"dragoman/internal/documents"
	"dragoman/internal/drawing"
	"dragoman/internal/sandbox"
)

// documentWork is what a child that reads documents is called.
const documentWork = "document"

// RunChild does the work of a child, if this process is one, and then does not return.
// Programs that serve a [Daemon] call it first in main.
func RunChild() {
	sandbox.Main(map[string]sandbox.Work{documentWork: documents.Serve, pictureWork: drawing.Serve})
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
	f.log.Warn("a document could not be read", "err", err)
	return errors.New("cannot be read: it needs more memory or time than a document may, or breaks its reader")
}
