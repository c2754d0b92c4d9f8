package story_test

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	requests "github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// mood is what becomes of the page's requests to the API.
type mood int

const (
	open    mood = iota // they reach the daemon
	held                // they are on their way, until the mood is another
	refused             // the API says no, except to who the caller is and to events
)

// no is the sentence of a refused request.
const no = "The store is being repaired. Try again in a minute."

// What a browser says of requests that fail, word for word.
const (
	unauthorised = "Failed to load resource: the server responded with a status of 401 (Unauthorized)"
	wrong        = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
	missing      = "Failed to load resource: the server responded with a status of 404 (Not Found)"
	conflicting  = "Failed to load resource: the server responded with a status of 409 (Conflict)"
	unavailable  = "Failed to load resource: the server responded with a status of 503 (Service Unavailable)"
	unreachable  = "Failed to load resource: net::ERR_CONNECTION_REFUSED"
	broken       = "Failed to load resource: net::ERR_INCOMPLETE_CHUNKED_ENCODING" // while the stream of events was read
	reset        = "Failed to load resource: net::ERR_CONNECTION_RESET"            // while a request was answered
	disconnected = "Failed to load resource: net::ERR_INTERNET_DISCONNECTED"
)

// expect says which words about failed requests are no trouble.
func (w *walker) expect(words ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(w.expected, words...)
}

// api sets what becomes of requests to the API, also of those that are held.
func (w *walker) api(m mood) {
	w.t.Helper()
	call(w, requests.Enable, requests.EnableParams{Patterns: []*requests.RequestPattern{{URLPattern: "*/api/v1/*"}}})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mood = m
	w.settle()
}

// settle lets the held requests go as the mood is. w.mu is locked.
func (w *walker) settle() {
	if w.mood == held {
		return
	}
	for _, e := range w.held {
		path := e.Request.URL
		said := w.mood == refused && !strings.HasSuffix(path, "/api/v1/me") && !strings.Contains(path, "/api/v1/events")
		w.settling.Go(func() { w.release(e.RequestID, said) })
	}
	w.held = nil
}

// release answers a request, or lets it pass. One whose page is gone is an error, and
// nobody's concern.
func (w *walker) release(id requests.RequestID, no503 bool) {
	_ = chromedp.Do(w.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		if !no503 {
			_, err = cdp.Call(ctx, t, requests.ContinueRequest, requests.ContinueRequestParams{RequestID: id})
			return err
		}
		_, err = cdp.Call(ctx, t, requests.FulfillRequest, requests.FulfillRequestParams{
			RequestID: id, ResponseCode: 503,
			ResponseHeaders: []*requests.HeaderEntry{{Name: "Content-Type", Value: "application/json"}},
			Body:            []byte(`{"error":{"message":"` + no + `","type":"server_error","param":null,"code":"unavailable"}}`),
		})
		return err
	}))
}

// offline pulls the plug, or puts it back.
func (w *walker) offline(on bool) {
	w.t.Helper()
	w.conditions(network.Conditions{Offline: on, DownloadThroughput: -1, UploadThroughput: -1})
	call(w, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: on, DownloadThroughput: -1, UploadThroughput: -1})
}

// conditions makes the network good or bad.
func (w *walker) conditions(c network.Conditions) {
	w.t.Helper()
	call(w, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{&c}})
}
