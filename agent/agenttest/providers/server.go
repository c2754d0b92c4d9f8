package providers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The paths of the three APIs, below a base URL.
const (
	chatPath      = "/chat/completions"
	responsesPath = "/responses"
	messagesPath  = "/messages"
)

// Key is the API key that every provider accepts. Local ones accept any or none.
const Key = "sk-test-of-a-provider-0123456789"

// Provider is one model server as its documentation describes it. The functions of
// this package return them; the exported fields say what a client may expect.
type Provider struct {
	Name  string // for people
	Model string // as requests name it
	// Base is its documented base URL; "": it runs locally.
	Base string
	// Sees: it accepts pictures. Reasons: it thinks before it answers. NoTools: it
	// refuses tools.
	Sees, Reasons, NoTools bool

	paths  []string // the APIs that it has
	rules  []rule
	callID func(n int) string
	fail   func(*refusal) string
	list   func(Provider) string // the answer to GET /models
	other  map[string]string     // answers to other paths
	open   bool                  // it requires no key
	// hidden: thoughts are not shown, except as encrypted items or signatures.
	// sealCalls: a call has a signature beside it.
	hidden, sealCalls bool
	cut               int // prompt_tokens never exceed it; 0: no limit
}

// All returns the providers of this package.
func All() []Provider {
	return []Provider{GPT56(), GPT6Astra(), Grok(), DeepSeek(), Kimi(), Gemini(), Claude(), Mistral(), OllamaNoTools(), SilentCutter()}
}

// path returns the path of its base URL.
func (p *Provider) path() string {
	if u, err := url.Parse(p.Base); err == nil && u.Host != "" {
		return u.Path
	}
	return "/v1"
}

// padded returns n with leading zeros.
func padded(n, width int) string { return fmt.Sprintf("%0*d", width, n) }

// Server is a running provider. It is also an [http.Handler].
type Server struct {
	Provider
	url  string
	done chan struct{} // closed when the server closes; ends answers on hold

	mu       sync.Mutex
	memory   *memory
	attached bool
	answer   func(*Request) Answer
	requests []*Request
}

// Serve starts a provider on a free port of loopback. It answers by [Obey] until
// [Server.Answer] changes that, and ends with the test.
func Serve(t testing.TB, p Provider) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Provider: p, url: "http://" + l.Addr().String() + p.path(), done: make(chan struct{}), memory: newMemory(p.Model), answer: Obey}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		close(s.done)
		_ = server.Close()
		wg.Wait()
	})
	return s
}

// URL returns the base URL with the documented path.
func (s *Server) URL() string { return s.url }

// Answer sets the function that answers requests from now on. It gets only requests
// that break no rule.
func (s *Server) Answer(f func(*Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Requests returns all completion requests so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refused returns the refusals so far.
func (s *Server) Refused() []string {
	var list []string
	for _, r := range s.Requests() {
		if r.Refused != "" {
			list = append(list, r.Refused)
		}
	}
	return list
}

// Attached reports whether any call came with something that must come back:
// thoughts, their signature or their encrypted content.
func (s *Server) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attached
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, s.path())
	switch fixed, found := s.other[r.URL.Path]; {
	case found:
		reply(w, http.StatusOK, fixed)
	case !s.admits(r):
		s.refuse(w, &refusal{status: http.StatusUnauthorized, text: "Incorrect API key provided.", code: "invalid_api_key"})
	case below && r.Method == http.MethodGet && path == "/models":
		reply(w, http.StatusOK, s.list(s.Provider))
	case below && r.Method == http.MethodPost && slices.Contains(s.paths, path):
		s.complete(w, r, path)
	default:
		s.refuse(w, &refusal{status: http.StatusNotFound, text: "Not found: " + r.Method + " " + r.URL.Path})
	}
}

// admits reports whether the request has the key where the API expects it.
func (s *Server) admits(r *http.Request) bool {
	if slices.Contains(s.paths, messagesPath) {
		return r.Header.Get("x-api-key") == Key
	}
	return s.open || r.Header.Get("Authorization") == "Bearer "+Key
}

func (s *Server) refuse(w http.ResponseWriter, f *refusal) { reply(w, f.status, s.fail(f)) }

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// complete checks a request against the rules, and answers it.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, path string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req, err := parse(path, r.Header, body)
	if err != nil {
		f := badRequest("The body is no request of this API: " + err.Error())
		req.Refused = f.text
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		s.refuse(w, f)
		return
	}
	f, answer := s.judge(req)
	if f != nil {
		s.refuse(w, f)
		return
	}
	out := answer(req)
	if out.Hold != nil {
		select {
		case <-out.Hold:
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
	if !s.thinks(req) {
		out.Think = ""
	}
	s.send(w, r, req, out)
}

// judge records a request and returns the rule it breaks, or the function that
// answers it.
func (s *Server) judge(req *Request) (*refusal, func(*Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	for _, rule := range s.rules {
		if f := rule(req, s.memory); f != nil {
			req.Refused = f.text
			return f, nil
		}
	}
	return nil, s.answer
}

// thinks reports whether the model reasons about this request.
func (s *Server) thinks(req *Request) bool {
	return s.Reasons && effort(req) != "none" && thinking(req) != "disabled"
}

// send writes an answer in the form of the request's API.
func (s *Server) send(w http.ResponseWriter, r *http.Request, req *Request, out Answer) {
	before := s.issue(req, &out)
	switch req.Path {
	case chatPath:
		s.sendChat(w, r, req, out)
	case responsesPath:
		s.sendResponse(w, req, out, before)
	default:
		s.sendMessage(w, req, out, before)
	}
}

// issue gives the calls of an answer their ids and seals, and remembers what must
// come back with them. It returns what belongs to the whole answer.
func (s *Server) issue(req *Request, out *Answer) sealed {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := sealed{thought: out.Think}
	if out.Think != "" && req.Path != chatPath {
		n := s.memory.next()
		whole.seal, whole.item = "c2VhbGVk"+padded(n, 8), "rs_"+padded(n, 16)
		s.memory.seals[whole.seal] = true
	}
	out.Calls = slices.Clone(out.Calls)
	for i := range out.Calls {
		c := &out.Calls[i]
		n := s.memory.next()
		c.ID, c.item = s.callID(n), "fc_"+padded(n, 16)
		kept := whole
		if s.sealCalls && i == 0 {
			c.Seal = "c2lnbmF0dXJl" + padded(n, 8)
			kept.seal = c.Seal
			s.memory.seals[c.Seal] = true
		}
		s.memory.calls[key(*c)] = append(s.memory.of(*c), kept)
		s.attached = s.attached || kept.seal != "" || kept.thought != "" && !s.hidden
	}
	return whole
}

// usage returns the token count of a request, roughly estimated, and less if the
// server truncates.
func (s *Server) usage(req *Request) int {
	n := len(req.Body) / 4
	if s.cut > 0 {
		n = min(n, s.cut)
	}
	return n
}
