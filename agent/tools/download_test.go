package tools_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"dragoman/agent/tools"
)

// A file is read from where web_fetch may read, whole or not at all.
func TestDownload(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			io.WriteString(w, "12345")
		case "/inward":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	for name, tt := range map[string]struct {
		address string
		open    bool // the test's server counts as public
		want    string
		private bool
	}{
		"public":        {srv.URL + "/a", true, "12345", false},
		"too long":      {srv.URL + "/a?long", true, "", false},
		"not there":     {srv.URL + "/b", true, "", false},
		"a redirect":    {srv.URL + "/inward", true, "", true},
		"this machine":  {srv.URL + "/a", false, "", true},
		"another thing": {"file:///etc/passwd", false, "", true},
		"none":          {"http://[", false, "", false},
	} {
		most := int64(5)
		if name == "too long" {
			most = 4
		}
		o := tools.FetchOptions{}
		if tt.open {
			o = o.OnLoopback(t, srv.URL)
		}
		got, err := tools.DownloadWith(t.Context(), o, tt.address, most)
		if string(got) != tt.want || (err == nil) != (tt.want != "") || errors.Is(err, tools.ErrNotPublic) != tt.private {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
