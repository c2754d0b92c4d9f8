package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// How spans are sent.
const (
	maxBatch   = 256
	batchAfter = 2 * time.Second // after the first span of a batch
	sendWithin = 10 * time.Second
	drainLimit = 3 * time.Second
	sayEvery   = time.Hour
)

// newClient makes a client that follows no redirect, so that the headers reach no other
// server.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       sendWithin,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Run sends spans until ctx ends, and then what still waits, within three seconds.
func (t *Tracer) Run(ctx context.Context) {
	defer t.http.CloseIdleConnections()
	for {
		select {
		case first := <-t.queue:
			t.send(ctx, t.gather(ctx, first))
		case <-ctx.Done():
			t.drain()
			return
		}
	}
}

// gather waits until a batch is full or its time is over.
func (t *Tracer) gather(ctx context.Context, first *Span) []*Span {
	batch := []*Span{first}
	over := time.NewTimer(batchAfter)
	defer over.Stop()
	for len(batch) < maxBatch {
		select {
		case s := <-t.queue:
			batch = append(batch, s)
		case <-over.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

func (t *Tracer) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	for len(t.queue) > 0 && ctx.Err() == nil {
		var batch []*Span
		for len(batch) < maxBatch && len(t.queue) > 0 {
			batch = append(batch, <-t.queue)
		}
		t.send(ctx, batch)
	}
}

// send sends one batch. While ctx ends, a batch has drainLimit.
func (t *Tracer) send(ctx context.Context, batch []*Span) {
	if ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		ctx = late
	}
	if err := t.post(ctx, batch); err != nil {
		t.opts.Count("failed", len(batch))
		now := time.Now().Unix()
		if now-t.said.Load() >= int64(sayEvery.Seconds()) {
			t.said.Store(now)
			t.opts.Logger.Warn("traces could not be sent; they are lost until the collector works", "err", err)
		}
		return
	}
	t.opts.Count("sent", len(batch))
}

func (t *Tracer) post(ctx context.Context, batch []*Span) error {
	body, err := json.Marshal(t.request(batch))
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.opts.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	for name, value := range t.opts.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return fmt.Errorf("trace: send: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("trace: send: the collector answers %s", resp.Status)
	}
	return nil
}

// The types of an ExportTraceServiceRequest of OTLP 1.x in JSON: ids in hexadecimal,
// 64-bit numbers as strings.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []Attr `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []wireSpan `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	wireSpan struct {
		TraceID    string `json:"traceId"`
		SpanID     string `json:"spanId"`
		ParentID   string `json:"parentSpanId,omitempty"`
		Name       string `json:"name"`
		Kind       Kind   `json:"kind"`
		Begun      string `json:"startTimeUnixNano"`
		Ended      string `json:"endTimeUnixNano"`
		Attributes []Attr `json:"attributes,omitempty"`
		Status     status `json:"status"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
)

// statusError is STATUS_CODE_ERROR.
const statusError = 2

func (t *Tracer) request(batch []*Span) exportRequest {
	about := []Attr{Text("service.name", Agent), Text("service.version", cmp.Or(t.opts.Version, "unknown"))}
	if t.opts.Node != "" {
		about = append(about, Text("service.instance.id", t.opts.Node))
	}
	spans := make([]wireSpan, 0, len(batch))
	for _, s := range batch {
		w := wireSpan{
			TraceID: hex.EncodeToString(s.trace[:]), SpanID: hex.EncodeToString(s.id[:]), Name: s.name, Kind: s.kind,
			Begun: nanos(s.begun), Ended: nanos(s.ended), Attributes: s.attrs,
		}
		if s.parent != [8]byte{} {
			w.ParentID = hex.EncodeToString(s.parent[:])
		}
		if s.failed {
			w.Status.Code = statusError
		}
		spans = append(spans, w)
	}
	return exportRequest{[]resourceSpans{{
		Resource: resource{about}, ScopeSpans: []scopeSpans{{Scope: scope{Agent, t.opts.Version}, Spans: spans}},
	}}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
