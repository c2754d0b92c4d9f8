package botapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type result struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func start(t *testing.T, o botapi.Options) *botapi.Server {
	t.Helper()
	s, err := botapi.Start("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func call(t *testing.T, s *botapi.Server, method string, args map[string]any) result {
	t.Helper()
	r, err := try(context.Background(), s, method, args)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return r
}

func try(ctx context.Context, s *botapi.Server, method string, args map[string]any) (result, error) {
	body, _ := json.Marshal(args)
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/bot"+s.Token()+"/"+method, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return result{}, err
	}
	defer resp.Body.Close()
	var r result
	return r, json.NewDecoder(resp.Body).Decode(&r)
}

func updateIDs(t *testing.T, r result) []int64 {
	t.Helper()
	if !r.OK {
		t.Fatalf("getUpdates = %d %s", r.Code, r.Description)
	}
	var list []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, u := range list {
		ids = append(ids, u.ID)
	}
	return ids
}

func TestUpdatesStayUntilConfirmed(t *testing.T) {
	s := start(t, botapi.Options{})
	ann := botapi.Person(7, "Ann")
	for i := range 3 {
		s.Private(ann).Say(ann, fmt.Sprint("text ", i))
	}
	first := updateIDs(t, call(t, s, "getUpdates", nil))
	if len(first) != 3 {
		t.Fatalf("got %v, want three updates", first)
	}
	if again := updateIDs(t, call(t, s, "getUpdates", map[string]any{"limit": 2})); !cmp.Equal(again, first[:2]) {
		t.Errorf("unconfirmed updates came again as %v, want %v", again, first[:2])
	}
	rest := updateIDs(t, call(t, s, "getUpdates", map[string]any{"offset": first[1]}))
	if !cmp.Equal(rest, first[1:]) {
		t.Errorf("after offset %d got %v, want %v", first[1], rest, first[1:])
	}
	if back := updateIDs(t, call(t, s, "getUpdates", map[string]any{"offset": first[0]})); !cmp.Equal(back, first[1:]) {
		t.Errorf("a lower offset gave %v, want what is not confirmed: %v", back, first[1:])
	}
	if got := s.Unconfirmed(); got != 2 {
		t.Errorf("Unconfirmed = %d, want 2", got)
	}
}

func TestOlderPollGetsConflict(t *testing.T) {
	s := start(t, botapi.Options{})
	older := make(chan result, 1)
	go func() {
		r, _ := try(context.Background(), s, "getUpdates", map[string]any{"timeout": 20})
		older <- r
	}()
	for {
		// Each of these ends the older poll if it has come; before that it ends none.
		call(t, s, "getUpdates", map[string]any{"timeout": 0})
		select {
		case r := <-older:
			if r.Code != http.StatusConflict {
				t.Errorf("the older poll got %d %q, want 409", r.Code, r.Description)
			}
			return
		default:
		}
	}
}

func TestHTML(t *testing.T) {
	s := start(t, botapi.Options{})
	ann := botapi.Person(7, "Ann")
	s.Private(ann)
	tests := map[string]struct{ in, text, refusal string }{
		"plain":           {in: "hello", text: "hello"},
		"bold and entity": {in: "<b>a &lt; b</b> &amp; c &#39;d&#39;", text: "a < b & c 'd'"},
		"language":        {in: `<pre><code class="language-go">x</code></pre>`, text: "x"},
		"link":            {in: `<a href="https://example.org/?a=1&amp;b=2">here</a>`, text: "here"},
		"bare ampersand":  {in: "a & b", text: "a & b"},
		"heading":         {in: "<h1>x</h1>", refusal: "can't parse entities: Unsupported start tag"},
		"not closed":      {in: "<b>x", refusal: "can't parse entities: Can't find end tag"},
		"crossed":         {in: "<b><i>x</b></i>", refusal: "can't parse entities: Unmatched end tag"},
		"less than":       {in: "1 < 2", refusal: "can't parse entities"},
		"stray end":       {in: "x</b>", refusal: "can't parse entities: Unexpected end tag"},
		"nested quote":    {in: "<blockquote><blockquote>x</blockquote></blockquote>", refusal: "can't parse entities"},
		"empty":           {in: "<b> </b>", refusal: "message text is empty"},
		"most":            {in: strings.Repeat("😀", 2048), text: strings.Repeat("😀", 2048)},
		"too long":        {in: strings.Repeat("😀", 2048) + "a", refusal: "message is too long"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			r := call(t, s, "sendMessage", map[string]any{"chat_id": 7, "text": c.in, "parse_mode": "HTML"})
			shown := s.FromBot(7)
			if c.refusal == "" && (!r.OK || shown[len(shown)-1] != c.text) {
				t.Errorf("got %v %q, shown %q, want %q", r.OK, r.Description, shown, c.text)
			}
			if c.refusal != "" && (r.Code != 400 || !strings.Contains(r.Description, c.refusal)) {
				t.Errorf("got %d %q, want 400 with %q", r.Code, r.Description, c.refusal)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, botapi.Options{ChatBurst: 2, ChatEvery: time.Hour})
	ann := botapi.Person(7, "Ann")
	chat := s.Private(ann)
	said := chat.Say(ann, "mine")
	s.Group(-5, "old").Migrate(-1005)
	sent := call(t, s, "sendMessage", map[string]any{"chat_id": 7, "text": "one"})
	var m struct {
		ID int64 `json:"message_id"`
	}
	_ = json.Unmarshal(sent.Result, &m)
	for name, c := range map[string]struct {
		method string
		args   map[string]any
		want   string
	}{
		"unknown chat":  {"sendMessage", map[string]any{"chat_id": 8, "text": "x"}, "chat not found"},
		"migrated":      {"sendMessage", map[string]any{"chat_id": -5, "text": "x"}, "upgraded to a supergroup"},
		"no thread":     {"sendMessage", map[string]any{"chat_id": 7, "message_thread_id": 99, "text": "x"}, "message thread not found"},
		"no reply":      {"sendMessage", map[string]any{"chat_id": 7, "text": "x", "reply_parameters": map[string]any{"message_id": 99}}, "to be replied not found"},
		"same edit":     {"editMessageText", map[string]any{"chat_id": 7, "message_id": m.ID, "text": "one"}, "message is not modified"},
		"edit of none":  {"editMessageText", map[string]any{"chat_id": 7, "message_id": 99, "text": "x"}, "message to edit not found"},
		"edit of yours": {"editMessageText", map[string]any{"chat_id": 7, "message_id": said, "text": "x"}, "can't be edited"},
		"bad command":   {"setMyCommands", map[string]any{"commands": []map[string]string{{"command": "No", "description": "x"}}}, "BOT_COMMAND_INVALID"},
		"not a method":  {"fly", nil, "Not Found"},
	} {
		if r := call(t, s, c.method, c.args); r.OK || !strings.Contains(r.Description, c.want) {
			t.Errorf("%s: %v %q, want %q", name, r.OK, r.Description, c.want)
		}
	}
	call(t, s, "sendMessage", map[string]any{"chat_id": 7, "text": "two"})
	if r := call(t, s, "sendMessage", map[string]any{"chat_id": 7, "text": "three"}); r.Code != 429 || r.Parameters.RetryAfter != 3600 {
		t.Errorf("beyond the limit: %d, retry after %d, want 429 and 3600", r.Code, r.Parameters.RetryAfter)
	}
}

func TestFaultsAndForms(t *testing.T) {
	s := start(t, botapi.Options{})
	s.Private(botapi.Person(7, "Ann"))
	args := map[string]any{"chat_id": 7, "text": "x"}
	s.Break(botapi.Fault{Method: "sendMessage", Times: 1, DropAfter: true})
	if _, err := try(t.Context(), s, "sendMessage", args); err == nil {
		t.Error("a dropped connection gave an answer")
	}
	if got := len(s.FromBot(7)); got != 1 {
		t.Errorf("dropped after: %d messages stored, want 1", got)
	}
	s.Break(botapi.Fault{Method: "sendMessage", Times: 1, DropBefore: true})
	if _, err := try(t.Context(), s, "sendMessage", args); err == nil {
		t.Error("a dropped connection gave an answer")
	}
	if got := len(s.FromBot(7)); got != 1 {
		t.Errorf("dropped before: %d messages stored, want still 1", got)
	}
	s.Break(botapi.Fault{Times: 1, Status: 502, Body: "<html>bad gateway</html>"})
	if _, err := try(t.Context(), s, "getMe", nil); err == nil {
		t.Error("an HTML page was decoded")
	}

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("chat_id", "7")
	_ = form.WriteField("text", "true") // a string, whatever it looks like
	_ = form.WriteField("reply_parameters", `{"message_id":1}`)
	_ = form.Close()
	resp, err := http.Post(s.URL()+"/bot"+s.Token()+"/sendMessage", form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	shown := s.Shown(7)
	if last := shown[len(shown)-1]; last.Text != "true" || last.ReplyTo == nil {
		t.Errorf("the form became %+v", last)
	}
}

func BenchmarkSendMessage(b *testing.B) {
	s, err := botapi.Start("127.0.0.1:0", botapi.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.Private(botapi.Person(7, "Ann"))
	b.ResetTimer()
	for b.Loop() {
		if r, err := try(context.Background(), s, "sendMessage", map[string]any{"chat_id": 7, "text": "x"}); err != nil || !r.OK {
			b.Fatal(r, err)
		}
	}
}
