package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/app"
	"dragoman/internal/config"
)

// otlp is an ExportTraceServiceRequest as the specification has its JSON.
type otlp struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []otlpAttr }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []otlpSpan
		}
	}
}

// otlpSpan is a Span of OTLP.
type otlpSpan struct {
	TraceID           string `json:"traceId"`
	SpanID            string `json:"spanId"`
	ParentSpanID      string `json:"parentSpanId"`
	Name              string
	Kind              int
	StartTimeUnixNano string
	EndTimeUnixNano   string
	Attributes        []otlpAttr
	Status            struct{ Code int }
}

// otlpAttr is a KeyValue of OTLP.
type otlpAttr struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *string
		ArrayValue  *struct {
			Values []struct{ StringValue *string }
		}
	}
}

// attr is the value of an attribute of s, as text.
func (s *otlpSpan) attr(key string) string {
	for _, a := range s.Attributes {
		switch v := a.Value; {
		case a.Key != key:
		case v.StringValue != nil:
			return *v.StringValue
		case v.IntValue != nil:
			return *v.IntValue
		case v.ArrayValue != nil && len(v.ArrayValue.Values) == 1:
			return *v.ArrayValue.Values[0].StringValue
		}
	}
	return ""
}

// collector is a fake collector that reads strictly.
type collector struct {
	t      *testing.T
	server *httptest.Server

	mu     sync.Mutex
	bodies string
	spans  []otlpSpan
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s %s: %v", r.Method, r.URL.Path, r.Header.Get("Content-Type"), err)
	}
	if got := r.Header.Get("Authorization"); got != "Bearer canary-key" {
		c.t.Errorf("Authorization %q", got)
	}
	var got otlp
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		c.t.Errorf("%v in %s", err, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies += string(body)
	for _, rs := range got.ResourceSpans {
		if len(rs.Resource.Attributes) < 2 || *rs.Resource.Attributes[0].Value.StringValue != "dragoman" {
			c.t.Errorf("the resource is %+v", rs.Resource)
		}
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	_, _ = w.Write([]byte("{}"))
}

func (c *collector) named(name string) (found []otlpSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// A turn is one trace, with its parts below it, and says nothing of what was said.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	r := toolTurn(t, "traces: {url: '"+c.server.URL+"', headers: {Authorization: 'Bearer canary-key'}}")
	r.until("the spans", func() bool { return len(c.named("invoke_agent dragoman")) == 1 && len(c.named("deliver web")) == 1 })
	turn := c.named("invoke_agent dragoman")[0]
	for name, want := range map[string]int{"wait": 1, "chat main": 2, "execute_tool time": 1, "commit": 1} {
		parts := c.named(name)
		if len(parts) != want {
			t.Errorf("%d spans %q, want %d", len(parts), name, want)
		}
		for _, p := range parts {
			if p.TraceID != turn.TraceID || p.ParentSpanID != turn.SpanID {
				t.Errorf("%s is not a part of the turn: %+v", name, p)
			}
		}
	}
	if d := c.named("deliver web")[0]; d.TraceID != turn.TraceID || d.ParentSpanID != turn.SpanID || d.Kind != 3 || d.attr("dragoman.channel") != "web" {
		t.Errorf("the delivery is %+v", d)
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "dragoman", "dragoman.outcome": "answered", "dragoman.steps": "2",
	} {
		if got := turn.attr(key); got != want {
			t.Errorf("the turn's %s is %q, want %q", key, got, want)
		}
	}
	chat := c.named("chat main")[1]
	if got := chat.attr("gen_ai.response.model"); got != "main" {
		t.Errorf("the model that answered is %q", got)
	}
	if chat.Kind != 3 || chat.attr("gen_ai.request.model") != "main" || chat.attr("gen_ai.response.finish_reasons") == "" || chat.attr("dragoman.first_token_ms") == "" {
		t.Errorf("a call of the model is %+v", chat)
	}
	if chat.attr("gen_ai.provider.name") != "openai" || c.named("execute_tool time")[0].attr("gen_ai.tool.call.id") == "" {
		t.Errorf("the provider of %+v or the id of %+v is missing", chat, c.named("execute_tool time"))
	}
	c.checkAll()
	for _, word := range []string{"canary", "secret-room", "Ann", "late", "web:", "what time"} {
		if strings.Contains(c.bodies, word) {
			t.Errorf("%q is in the traces:\n%s", word, c.bodies)
		}
	}
}

// checkAll checks what all spans must have.
func (c *collector) checkAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[string]bool{}
	for _, s := range c.spans {
		begun, err1 := strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
		ended, err2 := strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
		if err1 != nil || err2 != nil || begun > ended || begun < 1e18 {
			c.t.Errorf("%s lasts from %q to %q", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(s.TraceID) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(s.SpanID) || ids[s.SpanID] {
			c.t.Errorf("%s has the ids %q and %q", s.Name, s.TraceID, s.SpanID)
		}
		ids[s.SpanID] = true
	}
}

// OpenTelemetry's variables count unless the configuration has an address.
func TestTracesByEnvironment(t *testing.T) {
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318",
		"OTEL_EXPORTER_OTLP_HEADERS":  "Authorization=Bearer%20theirs, x-tenant=a%2Cb,nonsense,=none,bad=%zz",
	}
	getenv := func(name string) string { return env[name] }
	address, headers := app.CollectorOf(&config.Config{}, getenv)
	want := map[string]string{"Authorization": "Bearer theirs", "x-tenant": "a,b"}
	if diff := cmp.Diff(want, headers); diff != "" || address != env["OTEL_EXPORTER_OTLP_ENDPOINT"] {
		t.Errorf("by the environment, traces go to %q; headers (-want +got):\n%s", address, diff)
	}
	written := &config.Config{Traces: config.Traces{URL: "http://127.0.0.1:9999", Headers: map[string]config.Secret{"X-Ours": config.NewSecret("ours")}}}
	address, headers = app.CollectorOf(written, getenv)
	if diff := cmp.Diff(map[string]string{"X-Ours": "ours"}, headers); diff != "" || address != "http://127.0.0.1:9999" {
		t.Errorf("by the configuration, traces go to %q; headers (-want +got):\n%s", address, diff)
	}
	address, _ = app.CollectorOf(&config.Config{}, func(string) string { return "" })
	if address != "" {
		t.Errorf("by neither, traces go to %q", address)
	}
}
