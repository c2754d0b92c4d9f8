package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/documents"
	"dragoman/internal/gateway"
	"dragoman/internal/sandbox"
)

// sayNoPDF is what the model learns where PDFs cannot be read.
const sayNoPDF = sandbox.Said("is a PDF, and none can be read here (dragoman status says why); ask for the text of it")

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "pdf", State: api.FeatureOff}
	var closed string
	switch {
	case sandbox.Find(pdfText) == "" || sandbox.Find(pdfPicture) == "":
		closed = "pdftotext and pdftoppm are missing: install poppler-utils"
	case d != nil:
		closed = d.foreign.closed()
	case ofAnotherUser(cfg):
		f.State = api.FeatureOn
		f.Says = "the daemon tests the sandbox in which pdftotext runs; dragoman status says how that went"
		return []api.Feature{f}
	default:
		_, closed = testReader(os.TempDir(), cfg.Workspace)
	}
	if closed != "" {
		f.Says = "PDFs are kept and cannot be read: " + closed
		return []api.Feature{f}
	}
	f.State = api.FeatureOn
	f.Says = "pdftotext reads PDFs in the sandbox, and pages that are pictures are shown to a model that sees"
	return []api.Feature{f}
})

// The programs of poppler-utils.
const (
	pdfText    = "pdftotext"
	pdfPicture = "pdftoppm"
)

// newForeign makes what reads foreign files. The sandbox is tested when somebody first
// needs to know: most daemons never do.
func (d *Daemon) newForeign() foreign {
	return foreign{d.log, sync.OnceValues(func() (sandbox.Ground, string) {
		ground, off := testReader(d.cfg.StateDir, d.cfg.Workspace)
		if off != "" {
			d.log.Warn("PDFs cannot be read here: pdftotext runs only in the sandbox", "why", off)
		}
		return ground, off
	})}
}

// testReader finds where programs can read foreign files, or says why they cannot: it tries to
// escape to folders below state and the workspace.
func testReader(state, workspace string) (ground sandbox.Ground, off string) {
	ground, err := sandbox.FindGround(context.Background(), state, workspace, sandbox.ExecSocket) // it has time limits of its own
	if err != nil {
		return nil, err.Error()
	}
	return ground, ""
}

// poppler runs programs of poppler-utils, locked in, each with so many seconds of the
// processor; 0: as many as are possible. file returns the PDF from its beginning.
func (f foreign) poppler(seconds int, file func() io.Reader) documents.Poppler {
	return func(ctx context.Context, name string, args []string, most int) (documents.Poppled, error) {
		path := sandbox.Find(name)
		ground, off := f.ground()
		if path == "" || off != "" {
			return documents.Poppled{}, sayNoPDF
		}
		got, err := ground.Read(ctx, sandbox.Program{Path: path, Args: args, In: &bounded{r: file(), left: documents.MostBytes}, Most: most, Seconds: seconds})
		return documents.Poppled{Out: got.Out, Said: got.Said, Code: got.Code}, err
	}
}

// bounded is a file of which more than so many bytes are too many.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, sandbox.Said(fmt.Sprintf("has more than %d MB, and cannot be read", documents.MostBytes>>20))
	}
	return n, err
}

// pager shows scans. It implements [gateway.Pager].
type pager struct {
	files   tools.Attachments
	foreign foreign
}

// Pages implements [gateway.Pager].
func (p pager) Pages(ctx context.Context, k channels.Key, a channels.Attachment) ([]gateway.Page, error) {
	head := make([]byte, documents.HeadOfPDF)
	n, _, err := p.files.ReadPart(k, a.File, head, 0)
	if err != nil || !documents.IsPDF(head[:n]) || sandbox.Find(pdfText) == "" || p.foreign.closed() != "" {
		return nil, err
	}
	numbers, pictures, err := documents.Scans(ctx, p.foreign.poppler(documents.ScanSeconds, func() io.Reader { return tools.NewAttachmentReader(p.files, k, a.File) }))
	if err != nil {
		return nil, err
	}
	pages := make([]gateway.Page, len(pictures))
	for i, picture := range pictures {
		pages[i] = gateway.Page{Number: numbers[i], Picture: picture}
	}
	return pages, nil
}
