package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"
	"time"

	"dragoman/internal/respond"
)

const (
	// maxAtOnce bounds the requests of one pipe that run at the same time. While as many
	// run, the pipe is not read.
	maxAtOnce = 16
	// lastWait is how long requests may go on when the client has closed the pipe.
	lastWait = 5 * time.Second
)

// Handler serves /mcp. The caller is who the request's context says ([people.From]).
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // we send nothing by ourselves, and have no sessions
			respond.Refuse(w, respond.WrongMethod(http.MethodPost))
			return
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			respond.Refuse(w, &respond.Refusal{Status: http.StatusUnsupportedMediaType, Sentence: "Send application/json."})
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if err != nil {
			respond.Refuse(w, &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Sentence: fmt.Sprintf("A request may have %d bytes.", maxMessage)})
			return
		}
		s.post(w, r, body)
	})
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, body []byte) {
	req, err := read(body)
	if err == nil {
		err = checkHeaders(r.Header, &req)
	}
	if err == nil && req.isNote() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := s.answer(r.Context(), &req, err)
	respond.JSON(w, statusOf(out.Error, req.Params.Meta.Revision == stateless), out)
}

// statusOf is the HTTP status of an answer. Clients of older revisions do not read the error
// in an answer whose status is none of success, so they get one, if they sent a request.
func statusOf(e *rpcError, modern bool) int {
	switch {
	case e == nil:
		return http.StatusOK
	case !modern && (e.Code == codeMethod || e.Code == codeParams):
		return http.StatusOK
	case e.Code == codeMethod:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// checkHeaders compares the headers that repeat the body. Proxies decide by them, so a
// request whose headers say something else is refused.
func checkHeaders(h http.Header, r *request) error {
	revision := h.Get("Mcp-Protocol-Version")
	meant := r.Params.Meta.Revision
	switch {
	case revision != "" && !slices.Contains(revisions, revision):
		return &rpcError{
			Code: codeUnsupported, Message: "This revision of the protocol is not spoken here.",
			Data: map[string]any{"supported": revisions, "requested": revision},
		}
	case revision != stateless && meant != stateless:
		return nil // older revisions have no such headers
	case revision != meant:
		return &rpcError{Code: codeHeaders, Message: "Mcp-Protocol-Version is not what the request says."}
	case h.Get("Mcp-Method") != r.Method:
		return &rpcError{Code: codeHeaders, Message: "Mcp-Method is not what the request says."}
	case r.Method == "tools/call" && h.Get("Mcp-Name") != r.Params.Name:
		return &rpcError{Code: codeHeaders, Message: "Mcp-Name is not what the request says."}
	}
	return nil
}

// pipe is the state of one pipe.
type pipe struct {
	server *Server

	mu      sync.Mutex // guards all below
	out     io.Writer
	running map[string]context.CancelFunc // by the request's id
}

// Pipe serves one client, a message a line, until in ends or ctx does. It returns nil then,
// and else what went wrong with in.
func (s *Server) Pipe(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := &pipe{server: s, out: out, running: map[string]context.CancelFunc{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4<<10), maxMessage)
	var requests sync.WaitGroup
	places := make(chan struct{}, maxAtOnce)
	for ctx.Err() == nil && lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		r, err := read(line)
		if err == nil && r.isNote() {
			p.note(&r)
			continue
		}
		places <- struct{}{}
		own, done := p.begin(ctx, &r)
		requests.Go(func() {
			p.write(s.answer(own, &r, err))
			done()
			<-places
		})
	}
	end := time.AfterFunc(lastWait, stop)
	defer end.Stop()
	requests.Wait()
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrClosedPipe) && ctx.Err() == nil {
		return fmt.Errorf("mcpserver: read a request: %w", err)
	}
	return nil
}

// begin notes a request, so that the client can cancel it.
func (p *pipe) begin(ctx context.Context, r *request) (own context.Context, done func()) {
	own, cancel := context.WithCancel(ctx)
	id := string(r.ID)
	p.mu.Lock()
	p.running[id] = cancel
	p.mu.Unlock()
	return own, func() {
		cancel()
		p.mu.Lock()
		delete(p.running, id)
		p.mu.Unlock()
	}
}

// note takes a notification. We act on one alone.
func (p *pipe) note(r *request) {
	if r.Method != "notifications/cancelled" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel := p.running[string(r.Params.RequestID)]; cancel != nil {
		cancel()
	}
}

// write writes an answer on a line. If the client has gone, its pipe ends, too.
func (p *pipe) write(r response) {
	line, err := json.Marshal(r)
	if err != nil {
		line, _ = json.Marshal(response{Version: "2.0", ID: r.ID, Error: &rpcError{Code: codeRequest, Message: "The answer cannot be written as JSON."}})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.out.Write(append(line, '\n'))
}
