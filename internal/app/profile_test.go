package app_test

import (
	"io"
	"net/http"
	"testing"

	"dragoman/internal/api"
)

// get asks the port with a token.
func (r *running) get(path, token string) (*http.Response, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.status().Listen+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
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
	busy := make(chan int)
	go func() {
		resp, _ := r.get(path+"cpu?seconds=3", made.Secret)
		busy <- resp.StatusCode
	}()
	r.until("a second profile to be refused", func() bool {
		resp, _ := r.get(path+"profile?seconds=1", made.Secret)
		return resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != ""
	})
	if status := <-busy; status != http.StatusOK && status != http.StatusTooManyRequests {
		t.Errorf("the first profile is answered with %d", status)
	}
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
