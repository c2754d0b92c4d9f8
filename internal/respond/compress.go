package respond

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// writers are for answers to come: one is worth hundreds of kilobytes.
var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level exists
	return w
}}

// Compress compresses the answer to r, if r accepts that, until the caller calls end. It is
// for answers that are written at once: nothing can be flushed in between.
func Compress(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, end func()) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return w, func() {}
	}
	c := &compressed{ResponseWriter: w}
	return c, c.end
}

// compressed is a ResponseWriter whose answer gets smaller on its way.
type compressed struct {
	http.ResponseWriter
	zip    *gzip.Writer // nil: nothing was written, or it goes as it is
	headed bool
}

// WriteHeader decides: answers without a body, and those that are compressed already, stay
// as they are.
func (c *compressed) WriteHeader(code int) {
	h := c.Header()
	if !c.headed && code != http.StatusNoContent && code != http.StatusNotModified && h.Get("Content-Encoding") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Del("Content-Length")
		c.zip, _ = writers.Get().(*gzip.Writer) // nothing else is in it
		c.zip.Reset(c.ResponseWriter)
	}
	c.headed = true
	c.ResponseWriter.WriteHeader(code)
}

func (c *compressed) Write(p []byte) (int, error) {
	if !c.headed {
		c.WriteHeader(http.StatusOK)
	}
	if c.zip == nil {
		return c.ResponseWriter.Write(p)
	}
	return c.zip.Write(p)
}

// Unwrap is for [http.ResponseController].
func (c *compressed) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// end sends what is left.
func (c *compressed) end() {
	if c.zip == nil {
		return
	}
	_ = c.zip.Close() // the caller notices a broken connection
	c.zip.Reset(nil)
	writers.Put(c.zip)
	c.zip = nil
}
