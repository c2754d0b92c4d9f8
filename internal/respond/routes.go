package respond

import "net/http"

// ErrNothing is the refusal of a path that leads nowhere.
var ErrNothing = &Refusal{Status: http.StatusNotFound, Sentence: "There is nothing here."}

// Routes serves mux, and refuses in JSON what mux would refuse in plain text: unknown
// paths, and methods that a path does not have.
func Routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fallback, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		said := &heard{header: http.Header{}}
		fallback.ServeHTTP(said, r)
		if said.status == http.StatusMethodNotAllowed {
			Refuse(w, WrongMethod(said.header.Get("Allow")))
			return
		}
		Refuse(w, ErrNothing)
	})
}

// heard is a response of which only the status and the header matter.
type heard struct {
	header http.Header
	status int
}

func (h *heard) Header() http.Header { return h.header }

func (h *heard) WriteHeader(status int) { h.status = status }

func (h *heard) Write(b []byte) (int, error) { return len(b), nil }
