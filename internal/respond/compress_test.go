package respond_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/internal/respond"
)

// A long answer is small on its way, for those who can read it then.
func TestCompress(t *testing.T) {
	long := strings.Repeat("tea ", 1000)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, end := respond.Compress(w, r)
		defer end()
		if r.URL.Path == "/nothing" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		respond.JSON(w, http.StatusOK, long)
	})
	ask := func(path, accepts string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Accept-Encoding", accepts)
		handler.ServeHTTP(w, r)
		return w
	}
	for range 2 { // the second one with the writer of the first
		small := ask("/", "br, gzip")
		if small.Body.Len() > len(long)/10 || small.Header().Get("Content-Encoding") != "gzip" || small.Header().Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%d bytes %v, want few, and that they are compressed", small.Body.Len(), small.Header())
		}
		read, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(read)
		if err != nil || !strings.Contains(string(plain), long) {
			t.Errorf("it reads %.40q, %v", plain, err)
		}
	}
	if plain := ask("/", "br"); !strings.Contains(plain.Body.String(), long) || plain.Header().Get("Content-Encoding") != "" {
		t.Errorf("without gzip: %v %.40q", plain.Header(), plain.Body)
	}
	if nothing := ask("/nothing", "gzip"); nothing.Code != http.StatusNoContent || nothing.Body.Len() > 0 || nothing.Header().Get("Content-Encoding") != "" {
		t.Errorf("nothing = %d %v %q", nothing.Code, nothing.Header(), nothing.Body)
	}
}
