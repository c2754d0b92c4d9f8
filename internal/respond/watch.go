package respond

import (
	"cmp"
	"net/http"
)

// Watched is a ResponseWriter that remembers the status code of the answer.
type Watched struct {
	http.ResponseWriter
	code int
}

// Watch remembers what is answered through w.
func Watch(w http.ResponseWriter) *Watched { return &Watched{ResponseWriter: w} }

// Code is the status code of the answer, 200 if none was written.
func (w *Watched) Code() int { return cmp.Or(w.code, http.StatusOK) }

// WriteHeader implements [http.ResponseWriter].
func (w *Watched) WriteHeader(code int) {
	if w.code == 0 && code >= http.StatusOK { // others are not the answer
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for [http.ResponseController].
func (w *Watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }
