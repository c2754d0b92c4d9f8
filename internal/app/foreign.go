package app

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"dragoman/internal/documents"
	"dragoman/internal/sandbox"
)

// documentWork is what a child that reads documents is called.
const documentWork = "document"

// RunChild does the work of a child, if this process is one, and then does not return.
// Programs that serve a [Daemon] call it first in main.
func RunChild() {
	sandbox.Main(map[string]sandbox.Work{documentWork: documents.Serve})
}

// foreign lets children read what people sent.
type foreign struct{ log *slog.Logger }

// mostText leaves room for the line after a text that was cut.
const mostText = 5 << 20

// Text implements the tools' Documents.
func (f foreign) Text(ctx context.Context, document io.Reader) (string, error) {
	text, err := sandbox.Run(ctx, documentWork, document, mostText)
	if said, ok := errors.AsType[sandbox.Said](err); ok {
		return "", said
	}
	if err != nil && ctx.Err() == nil {
		f.log.Warn("a document could not be read", "err", err)
		return "", errors.New("cannot be read: it needs more memory or time than a document may, or breaks its reader")
	}
	return string(text), err
}
