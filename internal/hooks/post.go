package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/webhook"
)

// answer is what a server said to a letter.
type answer struct {
	status int           // 0: nothing
	after  time.Duration // its Retry-After; 0: none
	err    error         // nil: it has the letter
}

// post sends body under that id, signed as of now. Any answer but 2xx is a failure. It
// reads the answer only so that the connection can be used again.
func (s *sender) post(ctx context.Context, id string, body []byte, now time.Time) answer {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return answer{err: errors.New("the url cannot be used")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "dragoman")
	if s.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+s.Secret)
	}
	req.Header.Set(webhook.IDHeader, id)
	req.Header.Set(webhook.TimestampHeader, strconv.FormatInt(now.Unix(), 10))
	if len(s.Signing) > 0 {
		req.Header.Set(webhook.SignatureHeader, webhook.Sign(s.Signing, id, now, body))
	}
	resp, err := s.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // its text has the whole URL, which may contain a secret
			err = failed.Err
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = &slowError{s.Timeout}
		}
		return answer{err: err}
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 == 2 {
		return answer{status: resp.StatusCode}
	}
	return answer{
		status: resp.StatusCode, after: retryAfter(resp.Header.Get("Retry-After"), now),
		err: fmt.Errorf("it answered with status %d", resp.StatusCode),
	}
}

// slowError: a server did not answer in time.
type slowError struct{ within time.Duration }

func (e *slowError) Error() string { return fmt.Sprintf("did not finish within %s", e.within) }

// retryAfter reads a Retry-After, which is a number of seconds or a date. 0: there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return min(max(0, time.Duration(seconds)*time.Second), maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second, IdleConnTimeout: time.Minute, MaxIdleConns: 2,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
