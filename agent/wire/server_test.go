package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/openai"
	"dragoman/agent/wire"
	"dragoman/sessions"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transport answers every request with body.
type transport struct {
	status int
	body   io.Reader
	header http.Header
	got    *http.Request
	sent   string
}

func (c *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c.got, c.sent = req, string(b)
	// As in net/http, the end of the context ends the body.
	body := &contextBody{ctx: req.Context().Done(), r: c.body}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: body, Request: req}, nil
}

type contextBody struct {
	ctx <-chan struct{}
	r   io.Reader
}

func (e *contextBody) Read(p []byte) (int, error) {
	select {
	case <-e.ctx:
		return 0, errors.New("the body is closed")
	default:
		return e.r.Read(p)
	}
}

func (e *contextBody) Close() error { return nil }

// talk asks a server that answers with c, and returns the content of the
// answer.
func talk(t *testing.T, c *transport, o wire.Options) (string, error) {
	t.Helper()
	return request(t, c, o, agent.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}})
}

// request is talk with another request.
func request(t *testing.T, c *transport, o wire.Options, r agent.Request) (string, error) {
	t.Helper()
	o.HTTP = &http.Client{Transport: c}
	if o.BaseURL == "" {
		o.BaseURL = "http://127.0.0.1:1/v1"
	}
	if c.status == 0 {
		c.status = http.StatusOK
	}
	s, err := wire.New(o)
	if err != nil {
		t.Fatal(err)
	}
	in := &wire.Input{
		Request: &r,
		To:      sessions.Provenance{Model: "m"},
		Extra:   map[string]json.RawMessage{"top_k": json.RawMessage(`5`), "stream_options": json.RawMessage(`null`)},
	}
	a, err := s.Complete(t.Context(), &openai.Chat{}, in, func(agent.Delta) {})
	if err != nil {
		return "", err
	}
	var resp agent.Response
	a.Fill(&resp)
	return resp.Message.Content, nil
}

const (
	well = `{"choices":[{"index":0,"delta":{"content":"all well"},"finish_reason":null}]}`
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

// Lines may end with LF or CRLF, an event may span several lines, and the
// network may cut the stream anywhere.
func TestEvents(t *testing.T) {
	lines := strings.NewReplacer("{", "{\ndata: ", ",", ",\ndata:")
	usual := "data: " + well + "\n\ndata: " + stop + "\n\ndata: [DONE]\n\n"
	several := "event: x\ndata: " + lines.Replace(well) + "\n\ndata: " + lines.Replace(stop) + "\n\n"
	for name, body := range map[string]string{
		"usual":                   usual,
		"both":                    strings.ReplaceAll(usual, "\n", "\r\n"),
		"several lines":           several,
		"several, both":           strings.ReplaceAll(several, "\n", "\r\n"),
		"several, no end":         strings.TrimRight(several, "\n"),
		"no blank lines":          strings.ReplaceAll(usual, "\n\n", "\n"),
		"a comment of 9000 bytes": ": " + strings.Repeat("x", 9000) + "\n\n" + usual,
		"the first line is long":  "data: " + strings.Replace(well, "all well", `all well","x":"`+strings.Repeat("x", 9000), 1) + "\n\ndata: " + stop + "\n\n",
	} {
		for cut, r := range map[string]io.Reader{"at once": strings.NewReader(body), "by bytes": iotest.OneByteReader(strings.NewReader(body))} {
			if got, err := talk(t, &transport{body: r}, wire.Options{}); err != nil || got != "all well" {
				t.Errorf("%s, %s: %q, %v, want all well", name, cut, got, err)
			}
		}
	}
}

// drip returns one piece each second.
type drip struct {
	pieces []string
	then   func() string // returns the later pieces; nil ends the body
}

func (d *drip) Read(p []byte) (int, error) {
	time.Sleep(time.Second - time.Millisecond) // never at the moment at which a limit ends
	if len(d.pieces) > 0 {
		n := copy(p, d.pieces[0])
		d.pieces = d.pieces[1:]
		return n, nil
	}
	if d.then == nil {
		return 0, io.EOF
	}
	return copy(p, d.then()), nil
}

// TestSilence: signs of life prolong the wait for a piece of the answer until the caller
// gives up, or to the end of the call. Nothing prolongs it for ever, and silence is
// silence. A slow answer is an answer.
func TestSilence(t *testing.T) {
	content, end := "data: "+well+"\n\n", "data: "+stop+"\n\n"
	role := `data: {"choices":[{"delta":{"role":"assistant"}}]}` + "\n\n"
	times := func(n int, s string, more ...string) []string {
		return append(strings.Split(strings.TrimSuffix(strings.Repeat(s+"|", n), "|"), "|"), more...)
	}
	always := func(s string) func() string { return func() string { return s } }
	quiet := always("")
	for name, tt := range map[string]struct {
		body  drip
		until time.Duration // 0: not limited
		want  string        // in the error
		took  time.Duration
	}{
		"silence":                 {drip{nil, quiet}, 0, "no piece of the answer for 20s (model.first_byte_timeout)", 20 * time.Second},
		"silence after a piece":   {drip{[]string{content}, quiet}, 0, "no piece of the answer for 5s (model.idle_timeout)", 6 * time.Second},
		"an open thought":         {drip{[]string{`data: {"choices":[{"delta":{"reasoning":"hm"}}]}` + "\n\n"}, quiet}, 0, "no piece of the answer for 5s (model.idle_timeout)", 6 * time.Second},
		"a sign after a piece":    {drip{[]string{content, role}, quiet}, 0, "only signs of life (model.idle_timeout, agent.give_up_after)", 7 * time.Second},
		"comments first":          {drip{nil, always(": alive\n\n")}, 30 * time.Second, "only signs of life", 30 * time.Second},
		"comments after":          {drip{[]string{content, content}, always(": OPENROUTER PROCESSING\n\n")}, 30 * time.Second, "only signs of life", 30 * time.Second},
		"blank lines":             {drip{nil, always("\n\n")}, 30 * time.Second, "only signs of life", 30 * time.Second},
		"pings":                   {drip{nil, always("event: ping\ndata: {\"type\": \"ping\"}\n\n")}, 30 * time.Second, "only signs of life", 30 * time.Second},
		"roles":                   {drip{nil, always(role)}, 30 * time.Second, "only signs of life", 30 * time.Second},
		"comments, no limit":      {drip{nil, always(": alive\n\n")}, 0, "not complete after 1m0s (model.call_timeout)", 60 * time.Second},
		"one sign, then silence":  {drip{[]string{role}, quiet}, 0, "only signs of life (model.first_byte_timeout, agent.give_up_after)", 21 * time.Second},
		"the caller is giving up": {drip{nil, always(": alive\n\n")}, time.Second, "only signs of life", 20 * time.Second},
		"an answer for ever":      {drip{nil, always(content)}, 30 * time.Second, "not complete after 1m0s", 60 * time.Second},
		"thoughts are pieces":     {drip{nil, always(`data: {"choices":[{"delta":{"reasoning":"hm"}}]}` + "\n\n")}, 0, "not complete after 1m0s", 60 * time.Second},
		"calls are pieces":        {drip{nil, always(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}}]}` + "\n\n")}, 0, "not complete after 1m0s", 60 * time.Second},
		"a slow start":            {drip{times(40, ": alive\n\n", content, end, "data: [DONE]\n\n"), nil}, 50 * time.Second, "", 44 * time.Second},
		"a pause between words":   {drip{append([]string{content}, times(15, "event: ping\ndata: {}\n\n", content, end)...), nil}, 0, "", 19 * time.Second},
		"comments after the end":  {drip{[]string{content, end}, always(": alive\n\n")}, 0, "", 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				o := wire.Options{FirstByteTimeout: 20 * time.Second, IdleTimeout: 5 * time.Second, CallTimeout: time.Minute}
				r := agent.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}}
				if tt.until > 0 {
					r.Until = begun.Add(tt.until)
				}
				_, err := request(t, &transport{body: &tt.body}, o, r)
				var me *agent.ModelError
				switch {
				case tt.want == "" && err != nil:
					t.Errorf("Complete = %v, want an answer", err)
				case tt.want != "" && (!errors.As(err, &me) || me.Kind != agent.ErrorTemporary || me.Cause != agent.CauseSlow || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("Complete = %v, want %q", err, tt.want)
				}
				if took := time.Since(begun); took < tt.took-100*time.Millisecond || took > tt.took+time.Second {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// A base URL may have a query and may be the address of one API. Headers and
// fields of the body can be added, replaced and removed.
func TestAddresses(t *testing.T) {
	for base, want := range map[string]string{
		"http://x/v1":                       "http://x/v1/chat/completions",
		"http://x/v1/":                      "http://x/v1/chat/completions",
		"http://x":                          "http://x/chat/completions",
		"http://x/v1/chat/completions/":     "http://x/v1/chat/completions",
		"http://x/v1/responses":             "http://x/v1/chat/completions",
		"http://x/v1/messages":              "http://x/v1/chat/completions",
		"http://x/a%2Fb/v1?api-version=1&k": "http://x/a%2Fb/v1/chat/completions?api-version=1&k",
		"http://x/v1/chat/completions?v=1":  "http://x/v1/chat/completions?v=1",
	} {
		c := &transport{body: strings.NewReader("data: " + well + "\n\ndata: [DONE]\n\n")}
		_, err := talk(t, c, wire.Options{BaseURL: base, APIKey: "key", Headers: map[string]string{"authorization": "Other", "X-Portkey": "p"}})
		if err != nil || c.got.URL.String() != want {
			t.Errorf("%s: requested %v, %v, want %s", base, c.got.URL, err, want)
		}
		if h := c.got.Header; h.Get("Authorization") != "Other" || len(h["Authorization"]) != 1 || h.Get("X-Portkey") != "p" {
			t.Errorf("headers = %v", h)
		}
		if !strings.Contains(c.sent, `"top_k":5`) || strings.Contains(c.sent, "stream_options") || c.got.ContentLength != int64(len(c.sent)) {
			t.Errorf("body = %s, Content-Length %d", c.sent, c.got.ContentLength)
		}
	}
	for base, want := range map[string]string{"http://x/v1": "", "http://x/chat/completions": wire.APIChat, "http://x/responses/": wire.APIResponses, "http://x/v1/messages?a=b": wire.APIMessages} {
		if _, api, err := wire.ParseBase(base); err != nil || api != want {
			t.Errorf("ParseBase(%s) = %q, %v, want %q", base, api, err, want)
		}
	}
}

// No error repeats a header or the query of the base URL.
func TestSecretsOfRouters(t *testing.T) {
	const secret = "pk-abcdefghijklmnopqrstuvwxyz"
	c := &transport{status: 401, body: strings.NewReader(`{"error":{"message":"wrong key ` + secret + ` and ` + strings.ToUpper(secret) + `"}}`)}
	_, err := talk(t, c, wire.Options{BaseURL: "http://x/v1?key=" + strings.ToUpper(secret), Headers: map[string]string{"X-Key": secret}})
	if err == nil || strings.Contains(strings.ToLower(err.Error()), secret[3:12]) {
		t.Errorf("Complete = %v, want an error without the secret", err)
	}
}

func TestCauses(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   agent.Cause
	}{
		{401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, agent.CauseKey},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, agent.CauseKey},
		{403, `{"error":{"message":"forbidden"}}`, agent.CauseAccess},
		{401, ``, agent.CauseKey},
		{404, "{\"error\":{\"message\":\"The model `gpt-9` does not exist or you do not have access to it.\",\"code\":\"model_not_found\"}}", agent.CauseModel},
		{404, `{"error":{"message":"model \"qwen9\" not found, try pulling it first","type":"api_error"}}`, agent.CauseModel},
		{404, `{"error":{"message":"there is no model gpt-9"}}`, agent.CauseModel},
		{404, `{"error":{"message":"No model named 'gpt-9' found"}}`, agent.CauseModel},
		{404, `{"detail":"Not Found"}`, agent.CauseURL},
		{400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, agent.CauseModel},
		{400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, agent.CauseModel},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, agent.CauseModel},
		{404, `{"error":{"message":"models/gemini-9 is not found for API version v1main"}}`, agent.CauseModel},
		{404, `404 page not found`, agent.CauseURL},
		{405, ``, agent.CauseURL},
		{302, ``, agent.CauseURL},
		{200, `<!doctype html>`, agent.CauseURL},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, agent.CauseQuota},
		{402, `{"error":{"message":"Insufficient Balance"}}`, agent.CauseQuota},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, agent.CauseQuota},
		{429, `{"error":{"message":"Rate limit reached"}}`, agent.CauseBusy},
		{503, ``, agent.CauseBusy},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, agent.CauseBusy},
		{200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", agent.CauseBusy},
		{400, `{"error":{"message":"The response was filtered","code":"content_filter"}}`, agent.CauseFilter},
		{400, `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error"}}`, agent.CauseTools},
		{404, `{"error":{"message":"No endpoints found that support tool use."}}`, agent.CauseTools},
		{400, `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`, agent.CauseTools},
		{400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.3","param":"temperature","code":"unsupported_value"}}`, agent.CauseParameter},
		{400, `{"error":{"message":"This model's maximum context length is 4096 tokens."}}`, ""},
		{500, `{"error":{"message":"model runner has unexpectedly stopped"}}`, ""},
	} {
		_, err := talk(t, &transport{status: tt.status, body: strings.NewReader(tt.body)}, wire.Options{})
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Cause != tt.want {
			t.Errorf("%d %s: %v, cause %q, want %q", tt.status, tt.body, err, me.Cause, tt.want)
		}
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	for _, base := range []string{dead.URL, "http://nowhere.invalid/v1"} {
		s, err := wire.New(wire.Options{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Complete(t.Context(), &openai.Chat{}, &wire.Input{Request: &agent.Request{}}, func(agent.Delta) {})
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Cause != agent.CauseUnreachable || me.Kind != agent.ErrorTemporary {
			t.Errorf("%s: %v, want unreachable", base, err)
		}
	}
}

func TestAuthHeader(t *testing.T) {
	h := wire.AuthHeader(wire.APIMessages, "k")
	if h.Get("x-api-key") != "k" || h.Get("anthropic-version") != "2023-06-01" {
		t.Errorf("AuthHeader = %v", h)
	}
	if _, found := wire.AuthHeader(wire.APIMessages, "")["X-Api-Key"]; found {
		t.Error("AuthHeader without a key has x-api-key")
	}
	for _, api := range []string{"", wire.APIChat, wire.APIResponses} {
		if got := wire.AuthHeader(api, "k").Get("Authorization"); got != "Bearer k" || len(wire.AuthHeader(api, "")) > 0 {
			t.Errorf("AuthHeader(%q) = %q", api, got)
		}
	}
}
