package testkit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Local makes a request of h as it would come from a program on this machine to the page's
// port. Headers are "Name: value"; "Host" and "Remote" change where it goes to and where it
// comes from.
func Local(h http.Handler, method, path string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	r.Host = "127.0.0.1:8787"
	r.RemoteAddr = "127.0.0.1:50000"
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		switch name {
		case "Host":
			r.Host = value
		case "Remote":
			r.RemoteAddr = value
		default:
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
