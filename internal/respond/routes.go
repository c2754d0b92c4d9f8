package respond

import (
	"net/http"
	"path"
	"strings"
)

// ErrNothing is the refusal of a path that leads nowhere.
var ErrNothing = &Refusal{Status: http.StatusNotFound, Sentence: "There is nothing here."}

// Missing is why mux has no handler for r: [ErrNothing], or that the path does not have
// the method. It is nil if there is a handler.
func Missing(mux *http.ServeMux, r *http.Request) *Refusal {
	if !isClean(r.URL.EscapedPath()) {
		return ErrNothing
	}
	fallback, pattern := mux.Handler(r)
	switch {
	case pattern == "":
	case strings.HasSuffix(pattern, r.URL.Path+"/"):
		return ErrNothing // mux would redirect to the folder, which holds nothing by itself
	default:
		return nil
	}
	said := &heard{header: http.Header{}}
	fallback.ServeHTTP(said, r)
	if said.status == http.StatusMethodNotAllowed {
		return WrongMethod(said.header.Get("Allow"))
	}
	return ErrNothing
}

// isClean reports whether mux takes a path as it is. From others, like //api, it redirects
// with a web page, which programs do not understand; from /api to /api/, too.
func isClean(escaped string) bool {
	return escaped == "" || escaped == "/" || path.Clean(escaped) == strings.TrimSuffix(escaped, "/")
}

// Routes serves mux, and refuses in JSON what mux would refuse in plain text: unknown
// paths, and methods that a path does not have.
func Routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if no := Missing(mux, r); no != nil {
			Refuse(w, no)
			return
		}
		mux.ServeHTTP(w, r)
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
