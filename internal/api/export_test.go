package api

import "net/http"

// RoundTrip sends r to a handler and reads its answer while it writes it.
func RoundTrip(h http.Handler, r *http.Request) (*http.Response, error) {
	return inProcess(h).RoundTrip(r)
}
