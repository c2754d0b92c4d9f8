package botapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// mostFile is how large a file bots may fetch.
const mostFile = 20 << 20

// file is one that people sent. The network keeps it under an id for good and
// gives out a path to it that works for a while.
type file struct {
	content []byte
	path    string // the newest one given out, "" if none is valid
	given   int
}

// AddFile puts a file on the network and returns its file_id, for the fields
// of [Post.Extra].
func (s *Server) AddFile(content []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastFile++
	id := "FILE-" + strconv.Itoa(s.lastFile)
	s.files[id] = &file{content: content}
	return id
}

// ExpirePaths ends every path that getFile has given out, as an hour does.
func (s *Server) ExpirePaths() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.path = ""
	}
}

// RemoveFile makes the network forget a file.
func (s *Server) RemoveFile(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, id)
}

func (s *Server) getFile(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := p.str("file_id")
	f := s.files[id]
	switch {
	case id == "":
		return badRequest("file_id is empty")
	case f == nil:
		return badRequest("wrong file_id or the file is temporarily unavailable")
	case len(f.content) > mostFile:
		return badRequest("file is too big")
	}
	if f.path == "" {
		f.given++
		f.path = fmt.Sprintf("documents/%s_%d.bin", strings.ToLower(id), f.given)
	}
	return answer{result: map[string]any{
		"file_id": id, "file_unique_id": "u" + id, "file_size": len(f.content), "file_path": f.path,
	}}
}

// download serves /file/bot<token>/<path>. For faults and counts it is a call
// of the method "file".
func (s *Server) download(w http.ResponseWriter, r *http.Request, rest string) {
	token, path, _ := strings.Cut(rest, "/")
	call := &Call{Method: "file", Params: map[string]string{"path": path}}
	fault := s.faultFor(call)
	var content []byte
	found := false
	s.mu.Lock()
	for _, f := range s.files {
		if path != "" && f.path == path {
			content, found = f.content, true
		}
	}
	s.mu.Unlock()
	switch {
	case token != s.o.Token:
		s.record(call, http.StatusUnauthorized)
		write(w, refuse(http.StatusUnauthorized, "Unauthorized"))
	case fault != nil && (!fault.delay(r.Context()) || fault.DropBefore):
		s.drop(w, call)
	case fault != nil && fault.DropAfter:
		// The connection breaks in the middle of the file.
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		s.drop(w, call)
	case fault != nil && fault.Status != 0:
		s.record(call, fault.Status)
		write(w, answer{code: fault.Status, desc: fault.Description, retryAfter: fault.RetryAfter})
	case !found:
		s.record(call, http.StatusNotFound)
		write(w, refuse(http.StatusNotFound, "Not Found"))
	default:
		s.record(call, http.StatusOK)
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content)
	}
}
