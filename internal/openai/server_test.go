package openai_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"dragoman/internal/openai"
	"dragoman/internal/people"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// house is the API over scripted models.
type house struct {
	t      *testing.T
	api    http.Handler
	caller people.Principal
}

func newHouse(t *testing.T, o openai.Options) *house {
	t.Helper()
	if o.Models == nil {
		o.Models = func() []string { return []string{"fake", "fake-small", "fake"} }
	}
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	return &house{t: t, api: openai.New(o), caller: people.Principal{ID: people.OperatorID, Name: "operator", Scope: people.Chat, Token: "test", TokenID: "1"}}
}

// send makes a request. headers are names and values.
func (h *house) send(method, path, body string, headers ...string) *http.Response {
	h.t.Helper()
	return h.sendIn(h.t.Context(), method, path, body, headers...)
}

func (h *house) sendIn(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	h.t.Helper()
	r := httptest.NewRequestWithContext(people.With(ctx, h.caller), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.api.ServeHTTP(w, r)
	return w.Result()
}

// decoded reads the JSON of a response.
func decoded(t *testing.T, resp *http.Response) (v map[string]any) {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v in %s", resp.Status, err, data)
	}
	return v
}

// refused checks the form of a refusal and returns its error object.
func refused(t *testing.T, resp *http.Response) map[string]any {
	t.Helper()
	v := decoded(t, resp)
	no, _ := v["error"].(map[string]any)
	for _, key := range []string{"message", "type", "param", "code"} {
		if _, found := no[key]; !found || len(no) != 4 || len(v) != 1 {
			t.Fatalf("%s: %v is no error object of OpenAI's", resp.Status, v)
		}
	}
	return no
}

func TestModels(t *testing.T) {
	h := newHouse(t, openai.Options{})
	resp := h.send("GET", "/v1/models", "")
	entry := func(id string) any {
		return map[string]any{"id": id, "object": "model", "created": float64(noon.Unix()), "owned_by": "dragoman"}
	}
	want := map[string]any{"object": "list", "data": []any{entry("dragoman"), entry("fake"), entry("fake-small")}}
	if diff := cmp.Diff(want, decoded(t, resp)); diff != "" || resp.StatusCode != 200 {
		t.Errorf("GET /v1/models = %s (-want +got):\n%s", resp.Status, diff)
	}
	if diff := cmp.Diff(entry("fake"), any(decoded(t, h.send("GET", "/v1/models/fake", "")))); diff != "" {
		t.Errorf("GET /v1/models/fake (-want +got):\n%s", diff)
	}
	resp = h.send("GET", "/v1/models/org/other", "")
	if no := refused(t, resp); resp.StatusCode != 404 || no["code"] != "model_not_found" {
		t.Errorf("GET /v1/models/org/other = %s %v", resp.Status, no)
	}
}

// What is not there is refused in OpenAI's form, too.
func TestUnknownPaths(t *testing.T) {
	h := newHouse(t, openai.Options{})
	for request, want := range map[string]int{
		"GET /v1/nothing": 404, "POST /v1/embeddings": 404, "POST /v1/audio/transcriptions": 404, "POST /v1/files": 404,
		"GET /v1/": 404, "POST /v1/models": 405, "DELETE /v1/models/fake": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		resp := h.send(method, path, "{}")
		no := refused(t, resp)
		if resp.StatusCode != want || no["type"] != "invalid_request_error" {
			t.Errorf("%s = %s %v, want %d", request, resp.Status, no, want)
		}
		if want == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s does not say what is allowed", request)
		}
	}
	h.caller = people.Principal{}
	api := h.api
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/v1/models", nil))
	if resp := w.Result(); resp.StatusCode != 401 {
		t.Errorf("without a principal = %s, want 401", resp.Status)
	}
}
