package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrNotPublic: an address leads somewhere else than to the public internet.
var ErrNotPublic = errors.New("tools: not on the public internet")

// Download reads a file of at most most bytes from the public internet, under the rules of
// web_fetch: no spelling, redirect or DNS answer leads into the operator's network. It takes
// as long as ctx lasts. Errors: ErrNotPublic, and what else net/http says.
func Download(ctx context.Context, address string, most int64) ([]byte, error) {
	return newFetcher(nil, nil).download(ctx, address, most)
}

func (f *fetcher) download(ctx context.Context, address string, most int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("tools: not a web address")
	}
	if err := checkURL(u); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotPublic, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("tools: not a web address")
	}
	req.Header.Set("User-Agent", "Dragoman")
	resp, err := f.client.Do(req)
	if guarded, is := errors.AsType[*refused](err); is {
		return nil, fmt.Errorf("%w: %w", ErrNotPublic, guarded)
	}
	if err != nil {
		return nil, fmt.Errorf("tools: download: %w", fetchFailed(ctx, err))
	}
	defer resp.Body.Close() // nothing was written
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("tools: download: HTTP %d", resp.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("tools: download: %w", fetchFailed(ctx, err))
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("tools: download: more than %d bytes", most)
	}
	return content, nil
}
