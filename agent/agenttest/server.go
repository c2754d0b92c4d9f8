package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// maxBody limits how much of one request the server reads.
const maxBody = 64 << 20

// Options configure a [Server]. The zero value echoes at once.
type Options struct {
	// Models are listed by /v1/models; the default is "fake".
	Models []string
	// FirstToken is the pause before the first chunk.
	FirstToken time.Duration
	// Latency is the pause before each further chunk.
	Latency time.Duration
	// APIKey, if set, is required; other requests get a 401.
	APIKey string
	// Reply chooses the reply to a request; nil, or a nil Reply, is [EchoReply].
	Reply func(*Request) Reply
	// Recorded is how many of the newest requests are kept; 0 means 1000, and a
	// negative number keeps none (for benchmarks).
	Recorded int
	// RecordedBytes is how much of each body is kept; 0 means 1 MiB.
	RecordedBytes int
}

// Server is an OpenAI-compatible server: POST /v1/chat/completions, streamed
// or not, and GET /v1/models.
type Server struct {
	o      Options
	ctx    context.Context // ends when the server closes, which ends stalls
	cancel context.CancelFunc
	http   *http.Server
	url    string
	wg     sync.WaitGroup // the accepting goroutine and the running handlers

	mu       sync.Mutex
	closed   bool
	replies  []Reply
	n        int
	live     int
	peak     int
	recorded []*Request
}

// NewServer returns a server that is not listening yet. It can also be used as an
// [http.Handler].
func NewServer(o Options) *Server {
	if len(o.Models) == 0 {
		o.Models = []string{"fake"}
	}
	if o.Recorded == 0 {
		o.Recorded = 1000
	}
	if o.RecordedBytes == 0 {
		o.RecordedBytes = 1 << 20
	}
	s := &Server{o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve starts a server on a free port of loopback that closes with the test.
func Serve(t testing.TB, o Options) *Server {
	t.Helper()
	s := NewServer(o)
	if err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Start listens on addr ("127.0.0.1:0" for a free port) and returns once
// connections are accepted.
func (s *Server) Start(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("agenttest: start: %w", err)
	}
	s.StartOn(l)
	return nil
}

// StartOn serves on l and takes it over.
func (s *Server) StartOn(l net.Listener) {
	s.url = "http://" + l.Addr().String() + "/v1"
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { _ = s.http.Serve(l) })
}

// URL returns the base URL for clients, which ends with /v1.
func (s *Server) URL() string { return s.url }

// Close ends the server and everything that runs in it.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	var err error
	if s.http != nil {
		err = s.http.Close()
	}
	s.wg.Wait()
	return err
}

// Next queues replies for the next requests, one each. After them, Options.Reply is
// used again.
func (s *Server) Next(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

// Requests returns the newest recorded completion requests, oldest first.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.recorded...)
}

// Count returns the number of completion requests so far, recorded or not.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// Peak returns the largest number of completions that ran at the same time.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	if s.o.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+s.o.APIKey {
		writeJSON(w, http.StatusUnauthorized, errorBody("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"))
		return
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		s.listModels(w)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/chat/completions":
		s.complete(w, r)
	default:
		writeJSON(w, http.StatusNotFound, errorBody("Not found: "+r.Method+" "+r.URL.Path, "invalid_request_error", "not_found"))
	}
}

func (s *Server) listModels(w http.ResponseWriter) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list", Data: []model{}}
	for _, id := range s.o.Models {
		list.Data = append(list.Data, model{id, "model", "agenttest"})
	}
	b, _ := json.Marshal(list) // strings always marshal
	writeJSON(w, http.StatusOK, string(b))
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			writeJSON(w, http.StatusRequestEntityTooLarge, errorBody("The request is too large.", "invalid_request_error", "request_too_large"))
		}
		return
	}
	req, err := parseRequest(r.Header, body)
	reply := s.record(req)
	defer s.end()
	if err != nil {
		writeJSON(w, http.StatusBadRequest, errorBody("The body is no chat completion request: "+err.Error(), "invalid_request_error", "invalid_json"))
		return
	}
	if reply == nil {
		reply = s.pick(req)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	x := &Exchange{Request: req, w: w, ctx: ctx, o: &s.o}
	reply(x)
	x.close()
}

// record records the request and takes the next queued reply, if any.
func (s *Server) record(req *Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.N = s.n
	s.n++
	s.live++
	s.peak = max(s.peak, s.live)
	if s.o.Recorded > 0 {
		kept := *req
		if len(kept.Body) > s.o.RecordedBytes {
			kept.Body = append([]byte(nil), kept.Body[:s.o.RecordedBytes]...)
		}
		s.recorded = append(s.recorded, &kept)
		if len(s.recorded) > s.o.Recorded {
			s.recorded[0] = nil
			s.recorded = s.recorded[1:]
		}
	}
	if len(s.replies) == 0 {
		return nil
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	return next
}

// pick returns the reply to a request for which none is queued.
func (s *Server) pick(req *Request) Reply {
	if s.o.Reply != nil {
		if reply := s.o.Reply(req); reply != nil {
			return reply
		}
	}
	return EchoReply
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live--
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func errorBody(message, kind, code string) string {
	b, _ := json.Marshal(map[string]any{"error": map[string]any{ // strings always marshal
		"message": message, "type": kind, "param": nil, "code": code,
	}})
	return string(b)
}
