package app_test

import (
	"io"
	"net/http"
	"testing"

	"dragoman/internal/api"
)

// open asks the port with a token; end goes away.
func (r *running) open(path, token string) (resp *http.Response, end func()) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.status().Listen+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{}
	resp, err = (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, func() {
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
	}
}

// get asks the port with a token, and reads all of the answer.
func (r *running) get(path, token string) (*http.Response, []byte) {
	r.t.Helper()
	resp, end := r.open(path, token)
	defer end()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, body
}

// The scope admin profiles the process, one profile over time at a time.
func TestProfiles(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	made, err := api.CreateToken.Call(t.Context(), r.admin, api.NewToken{Name: "admin", Scope: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	const path = api.Root + "/debug/pprof/"
	first, end := r.open(path+"cpu?seconds=60", made.Secret)
	if first.StatusCode != http.StatusOK {
		t.Fatalf("the first profile is answered with %d", first.StatusCode)
	}
	if resp, _ := r.get(path+"profile?seconds=1", made.Secret); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a second one beside it is answered with %d", resp.StatusCode)
	}
	end()
	r.until("the next profile", func() bool {
		resp, body := r.get(path+"profile?seconds=1", made.Secret)
		return resp.StatusCode == http.StatusOK && len(body) > 100
	})
	for _, name := range []string{"heap", "goroutine", "trace?seconds=1"} {
		resp, body := r.get(path+name, made.Secret)
		if resp.StatusCode != http.StatusOK || len(body) < 100 {
			t.Errorf("%s: %d, %d bytes", name, resp.StatusCode, len(body))
		}
		zipped := len(body) > 2 && body[0] == 0x1f && body[1] == 0x8b
		if name != "trace?seconds=1" && !zipped {
			t.Errorf("%s is not what go tool pprof reads", name)
		}
	}
	for _, wrong := range []string{"cpu?seconds=0", "cpu?seconds=301", "cpu?seconds=x"} {
		if resp, _ := r.get(path+wrong, made.Secret); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, resp.StatusCode)
		}
	}
	if resp, _ := r.get(path+"cmdline", made.Secret); resp.StatusCode != http.StatusNotFound {
		t.Errorf("cmdline: %d", resp.StatusCode)
	}
}
