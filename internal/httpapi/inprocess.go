package httpapi

import (
	"io"
	"net/http"
	"sync"
)

// InProcess makes a client for a handler in this process, so that a verb does the
// same with and without a daemon. The client reads an answer while the handler
// writes it. The handler's goroutine has ended when the answer's body is closed.
func InProcess(h http.Handler) *Client {
	return &Client{roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body == nil {
			r.Body = http.NoBody
		}
		from, to := io.Pipe()
		w := &recorder{header: http.Header{}, code: http.StatusOK, body: to, begun: make(chan struct{})}
		var handler sync.WaitGroup
		handler.Go(func() {
			h.ServeHTTP(w, r)
			w.WriteHeader(http.StatusOK) // if nothing was written
			_ = to.Close()
		})
		<-w.begun
		return &http.Response{
			StatusCode: w.code, Status: http.StatusText(w.code), Header: w.sent, Body: &answer{from, &handler}, Request: r,
		}, nil
	})}
}

// recorder passes an answer on. Status and header are fixed at the first write.
type recorder struct {
	header, sent http.Header
	code         int
	body         *io.PipeWriter
	once         sync.Once
	begun        chan struct{}
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.begun)
	})
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// answer is a body that waits for the handler when it is closed.
type answer struct {
	*io.PipeReader
	handler *sync.WaitGroup
}

func (a *answer) Close() error {
	err := a.PipeReader.Close() // the handler's next write fails
	a.handler.Wait()
	return err
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
