package api

import (
	"bufio"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// Export asks for conversations as files.
type Export struct {
	// Key are the conversations; none: all of them, only at the socket.
	Key []channels.Key `json:"key,omitempty"`
	// Format is json (one document a conversation, a list of several), markdown (the
	// messages, to read) or jsonl (everything, one record a line). Default: json.
	Format string `json:"format,omitempty"`
}

// exportForms are the formats, with their media types and the endings of their files.
var exportForms = map[string]struct{ media, ending string }{
	"":         {inJSON, ".json"},
	"json":     {inJSON, ".json"},
	"jsonl":    {inLines, ".jsonl"},
	"markdown": {"text/markdown", ".md"},
}

// inExports are the media types of exports.
const inExports = inJSON + ", " + inLines + ", text/markdown"

// export writes conversations as `dragoman sessions export` does. Whoever may not read all
// of one of them gets none. An error after the first record breaks the connection, so that
// half of an export does not look like a whole one.
func (s *server) export(w http.ResponseWriter, r *http.Request, x Export) error {
	form, known := exportForms[x.Format]
	if !known {
		return refuse("format", "format is json, jsonl or markdown")
	}
	if err := s.mayExport(r, x); err != nil {
		return err
	}
	sent := &counted{w: w}
	buffer := bufio.NewWriter(sent)
	format := exchange.JSON
	if x.Format != "" {
		format = exchange.Format(x.Format)
	}
	out, err := exchange.NewWriter(buffer, format, exchange.WriterOptions{Zone: s.Zone, List: len(x.Key) != 1})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", form.media+"; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": exportName(x.Key) + form.ending}))
	respond.Private(h)
	err = s.Store.Dump(r.Context(), x.Key, func(rec sessions.Record) error {
		if format == exchange.JSONL {
			return out.Put(rec)
		}
		if isOnlyName(rec) {
			return nil
		}
		if rec.Messages != nil {
			rec.Messages = plainMessages(rec.Messages)
		}
		return out.Put(rec)
	})
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil && sent.n == 0 {
		h.Del("Content-Disposition")
		return err
	}
	if err != nil {
		s.Logger.Error("an export has failed", "err", err)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second))
	}
	return nil
}

// counted counts what is written.
type counted struct {
	w http.ResponseWriter
	n int
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

// plainMessages are messages without what a provider attached to them for itself.
func plainMessages(r *sessions.MessagesRecord) *sessions.MessagesRecord {
	plain := sessions.MessagesRecord{Key: r.Key, Messages: slices.Clone(r.Messages)}
	for i := range plain.Messages {
		plain.Messages[i].Attached = nil
	}
	return &plain
}

// mayExport refuses what the caller may not read. Records hold what networks and the model's
// server attached for themselves, so these need the scope that /records needs.
func (s *server) mayExport(r *http.Request, x Export) error {
	ctx := r.Context()
	who := caller(ctx)
	switch {
	case x.Format == "jsonl" && !who.May(people.Admin):
		return &respond.Refusal{
			Status: http.StatusForbidden, Code: respond.CodeScope, Param: "format",
			Sentence: "The format jsonl needs the scope " + string(people.Admin) + "; json and markdown do not.",
		}
	case len(x.Key) == 0 && !who.AtSocket():
		return refuse("key", "name the conversations by their keys: everything can only be exported on the machine itself")
	case len(x.Key) == 0:
		return s.Audit.ReadAll(who.Name)
	}
	for _, k := range x.Key {
		if err := s.readAll(ctx, k); err != nil {
			return err
		}
		if _, err := s.Store.Conversation(ctx, k); err != nil {
			return fmt.Errorf("api: export %s: %w", k, err)
		}
	}
	return nil
}

// isOnlyName reports whether r is the head of a key without a conversation: somebody asked
// to be let in, or only the name is left.
func isOnlyName(r sessions.Record) bool {
	c := r.Conversation
	return c != nil && c.Created.IsZero() && len(c.Generations) == 0
}

// exportName is the name of the file of an export, without its ending.
func exportName(keys []channels.Key) string {
	if len(keys) != 1 {
		return "conversations"
	}
	return safeName(strings.ReplaceAll(keys[0].String(), ":", "-"))
}
