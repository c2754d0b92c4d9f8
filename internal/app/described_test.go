package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/agent/mcp/mcptest"
	"dragoman/channels"
	"dragoman/docs"
	"dragoman/internal/api"
	"dragoman/internal/storage"
	"dragoman/sessions"

	"github.com/google/jsonschema-go/jsonschema"
)

// operation is a verb as docs/openapi.json describes it.
type operation struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   json.RawMessage
	}
	RequestBody *struct{ Content map[string]content }
	Responses   map[string]struct{ Content map[string]content }

	template *regexp.Regexp // of its path
}

// content is a body of one media type.
type content struct{ Schema json.RawMessage }

// description is docs/openapi.json, and what of it was tried.
type description struct {
	t          *testing.T
	operations map[string]*operation // by method and path
	schemas    json.RawMessage
	resolved   map[string]*jsonschema.Resolved
	tried      map[string]bool // operations that succeeded
}

func readDescription(t *testing.T) *description {
	t.Helper()
	var doc struct {
		Paths      map[string]map[string]*operation
		Components struct{ Schemas json.RawMessage }
	}
	if err := json.Unmarshal([]byte(docs.OpenAPI), &doc); err != nil {
		t.Fatal(err)
	}
	d := &description{
		t: t, operations: map[string]*operation{}, schemas: doc.Components.Schemas,
		resolved: map[string]*jsonschema.Resolved{}, tried: map[string]bool{},
	}
	argument := regexp.MustCompile(`\\\{\w+\\\}`)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			pattern := argument.ReplaceAllString(regexp.QuoteMeta(api.Root+path), "([^/?]+)")
			op.template = regexp.MustCompile("^" + pattern + "$")
			d.operations[strings.ToUpper(method)+" "+path] = op
		}
	}
	return d
}

// check validates a JSON value against a schema of the description.
func (d *description) check(what string, schema json.RawMessage, value []byte) {
	d.t.Helper()
	known := d.resolved[string(schema)]
	if known == nil {
		text := fmt.Sprintf(`{"$defs": %s, "allOf": [%s]}`, d.schemas, schema)
		var root jsonschema.Schema
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/")), &root); err != nil {
			d.t.Fatalf("%s: %v", what, err)
		}
		var err error
		known, err = root.Resolve(nil)
		if err != nil {
			d.t.Fatalf("%s: %v", what, err)
		}
		d.resolved[string(schema)] = known
	}
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		d.t.Errorf("%s is no JSON: %v in %.200s", what, err, value)
		return
	}
	if err := known.Validate(decoded); err != nil {
		d.t.Errorf("%s is not as described: %v in %.300s", what, err, value)
	}
}

// find returns the operation that serves a request.
func (d *description) find(r *http.Request) (name string, op *operation) {
	for name, op := range d.operations {
		method, path, _ := strings.Cut(name, " ")
		exact := !strings.Contains(path, "{") || !d.hasExact(r)
		if method == r.Method && exact && op.template.MatchString(r.URL.EscapedPath()) {
			return name, op
		}
	}
	return "", nil
}

// hasExact reports whether a path is one without arguments.
func (d *description) hasExact(r *http.Request) bool {
	return d.operations[r.Method+" "+strings.TrimPrefix(r.URL.Path, api.Root)] != nil
}

// checkRequest validates the arguments of a request.
func (d *description) checkRequest(op *operation, r *http.Request, body []byte) {
	d.t.Helper()
	known := map[string]bool{}
	for _, p := range op.Parameters {
		known[p.Name] = true
		if p.In == "query" && p.Required && !r.URL.Query().Has(p.Name) {
			d.t.Errorf("%s lacks the argument %s", r.URL, p.Name)
		}
	}
	for name := range r.URL.Query() {
		object, _, _ := strings.Cut(name, ".")
		if !known[object] {
			d.t.Errorf("%s has the argument %s, which is not described", r.URL, name)
		}
	}
	if op.RequestBody == nil {
		return
	}
	if described, found := op.RequestBody.Content["application/json"]; found {
		d.check("the body of "+r.Method+" "+r.URL.Path, described.Schema, body)
	}
}

// checkAnswer validates a response.
func (d *description) checkAnswer(name string, op *operation, resp *http.Response, body []byte) {
	d.t.Helper()
	status := fmt.Sprint(resp.StatusCode)
	what := fmt.Sprintf("the answer to %s (%s)", name, status)
	described, found := op.Responses[status]
	if !found {
		if resp.StatusCode < 400 {
			d.t.Errorf("%s is not described", what)
			return
		}
		d.check(what, json.RawMessage(`{"$ref": "#/components/schemas/Refusal"}`), body)
		return
	}
	d.tried[name] = true
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	of, found := described.Content[kind]
	switch {
	case len(described.Content) == 0 && len(body) == 0:
	case !found:
		d.t.Errorf("%s is of the type %q, which is not described", what, kind)
	case of.Schema == nil: // a file
	case kind == "application/json":
		d.check(what, of.Schema, body)
	default: // one JSON object a line, after "data: " in a stream of events
		for line := range strings.Lines(string(body)) {
			data, isData := strings.CutPrefix(line, "data: ")
			if isData || kind == "application/x-ndjson" {
				d.check(what, of.Schema, []byte(data))
			}
		}
	}
}

// send sends a request to the socket, validates both ends and returns the answer.
func (d *description) send(c *http.Client, method, path, body string) string {
	d.t.Helper()
	within := most
	if strings.HasPrefix(path, "/events") || strings.HasPrefix(path, "/log/events") {
		within = 2 * time.Second // it does not end by itself
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://dragoman"+api.Root+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	name, op := d.find(r)
	if op == nil {
		d.t.Errorf("%s %s is not described", method, path)
		return ""
	}
	d.checkRequest(op, r, []byte(body))
	if strings.HasPrefix(path, "/hooks/") {
		r.Header.Set("Authorization", "Bearer "+shopSecret)
		r.Header.Set("webhook-id", "1")
	}
	resp, err := c.Do(r)
	if err != nil {
		d.t.Errorf("%s %s: %v", method, path, err)
		return ""
	}
	defer resp.Body.Close()
	var answer bytes.Buffer
	_, err = io.Copy(&answer, resp.Body)
	if err != nil && ctx.Err() == nil {
		d.t.Errorf("%s %s: %v", method, path, err)
	}
	d.checkAnswer(name, op, resp, answer.Bytes())
	return answer.String()
}

// refusedHere are operations that need a message with a file: here they are only refused.
var refusedHere = []string{"GET /conversations/{key}/messages/{seq}/files/{n}"}

// phone is a channel whose account lives on a phone, which links at once.
type phone struct{ channels.Channel }

func (phone) Link(_ context.Context, number string, show func(channels.Invitation)) (string, error) {
	show(channels.Invitation{QR: "a code to scan"})
	if number != "" {
		show(channels.Invitation{Code: "AAAA-BBBB"})
	}
	return "a phone", nil
}

func (phone) Unlink(context.Context) (told bool, err error) { return true, nil }

// described are requests, one for each operation at least, in this order.
func described(dead, aside string, known api.Remembered) [][3]string {
	own := url.PathEscape(ownTalk)
	dead = url.PathEscape(dead)
	fact := fmt.Sprint(known.ID)
	return [][3]string{
		{"GET", "/status"},
		{"GET", "/health"},
		{"GET", "/models"},
		{"GET", "/commands"},
		{"GET", "/me"},
		{"GET", "/settings"},
		{"GET", "/log?level=info&channel=web&limit=5"},
		{"GET", "/log/events?limit=5"},
		{"GET", "/nodes"},
		{"GET", "/statistics"},
		{"GET", "/statistics/usage?by=model&days=true"},
		{"GET", "/usage"},
		{"GET", "/budgets"},
		{"GET", "/statistics/budgets"},
		{"GET", "/channels"},
		{"GET", "/channels/history"},
		{"GET", "/openapi.json"},
		{"POST", "/ask", `{"key": "web:default", "text": "hello", "id": "one"}`},
		{"GET", "/conversations"},
		{"GET", "/conversations?limit=1&meta.color=blue"},
		{"GET", "/conversations/" + own},
		{"GET", "/conversations/" + own + "/agents"},
		{"GET", "/conversations/" + own + "/messages?limit=5"},
		{"GET", "/conversations/" + own + "/feed"},
		{"GET", "/conversations/" + own + "/messages/1/files/0"},
		{"POST", "/files", `"a note"`},
		{"GET", "/files?limit=5"},
		{"GET", "/files?key=web:default"},
		{"GET", "/export?key=web:default&format=markdown"},
		{"GET", "/export?key=web:default&key=web:other"},
		{"GET", "/export?format=jsonl"},
		{"GET", "/conversations/" + own + "/running"},
		{"GET", "/conversations/" + own + "/summary"},
		{"GET", "/conversations/" + own + "/generations"},
		{"PUT", "/conversations/" + own + "/messages/2/feedback", `{"value": "down", "note": "too short"}`},
		{"GET", "/conversations/" + own + "/messages"},
		{"GET", "/feedback"},
		{"GET", "/statistics/feedback"},
		{"DELETE", "/conversations/" + own + "/messages/2/feedback"},
		{"POST", "/conversations/" + own + "/messages/1/edit", `{"text": "hello again"}`},
		{"GET", "/conversations/" + own + "/messages"},
		{"GET", "/search?query=hello"},
		{"PUT", "/conversations/" + own + "/read", "{}"},
		{"DELETE", "/conversations/" + own + "/read"},
		{"PUT", "/conversations/" + own + "/pin", "{}"},
		{"GET", "/conversations?pinned=true"},
		{"DELETE", "/conversations/" + own + "/pin"},
		{"POST", "/conversations/" + own + "/messages", `{"text": "hello", "mode": "steer"}`},
		{"POST", "/conversations/" + own + "/stop", "{}"},
		{"POST", "/conversations/" + own + "/again", `{"id": "g1"}`},
		{"POST", "/conversations/" + own + "/compact", "{}"},
		{"POST", "/conversations/" + own + "/replies", `{"text": "by hand", "as": "me"}`},
		{"POST", "/conversations/" + own + "/new", "{}"},
		{"PATCH", "/conversations/" + own, `{"tag": ["work"], "meta": {"color": "blue"}}`},
		{"PUT", "/conversations/" + own + "/title", `{"title": "A title"}`},
		{"GET", "/facts?target=web:default"},
		{"PUT", "/facts/" + fact + "/pin", `{"target": "web:default"}`},
		{"DELETE", "/facts/" + fact + "/pin?target=web:default"},
		{"PATCH", "/facts/" + fact, `{"target": "web:default", "text": "something else"}`},
		{"POST", "/facts/undo", fmt.Sprintf(`{"target": "web:default", "scope": %q}`, known.Scope)},
		{"DELETE", "/facts/" + fact + "?target=web:default"},
		{"GET", "/queue"},
		{"GET", "/queue/" + dead},
		{"POST", "/queue/" + dead + "/retry", "{}"},
		{"DELETE", "/queue/" + url.PathEscape(aside)},
		{"GET", "/jobs"},
		{"POST", "/jobs/hourly/run", "{}"},
		{"PUT", "/jobs/hourly/pause", "{}"},
		{"DELETE", "/jobs/hourly/pause"},
		{"POST", "/reminders", `{"text": "water the beans", "repeat": {"freq": "daily", "times": ["09:00"]}}`},
		{"PATCH", "/reminders/web:owner%2Fr1", `{"in": "1h"}`},
		{"DELETE", "/reminders/web:owner%2Fr1"},
		{"POST", "/reminders/web:owner%2Fr1/restore", "{}"},
		{"GET", "/occurrences"},
		{"GET", "/pairings"},
		{"POST", "/pairings", `{"code": "AAAA-BBBB-CCCCC"}`},
		{"DELETE", "/pairings/DDDD-EEEE-FFFFF"},
		{"DELETE", "/pairings/telegram/7"},
		{"POST", "/people", `{"one": "telegram:7", "other": "telegram:8"}`},
		{"GET", "/people"},
		{"GET", "/people/telegram:7"},
		{"DELETE", "/people/telegram:8"},
		{"POST", "/tokens", `{"name": "t", "scope": "chat"}`},
		{"GET", "/tokens"},
		{"POST", "/tokens/t/rotate", "{}"},
		{"DELETE", "/tokens/t"},
		{"POST", "/console/links", "{}"},
		{"POST", "/hooks/shop", `{"what": "a book"}`},
		{"POST", "/hooks/shop", `{"what": "a book"}`},
		{"POST", "/hooks/none", `{"what": "a book"}`},
		{"GET", "/events"},
		{"GET", "/events?type=text&key=web:default"},
		{"POST", "/channels/none/link", "{}"},
		{"DELETE", "/channels/none/link"},
		{"POST", "/channels/phone/link", `{"phone": "+49 170 1234567", "picture": true, "within_seconds": 60}`},
		{"DELETE", "/channels/phone/link"},
		{"GET", "/records?key=web:default"},
		{"GET", "/erasures?target=web:default"},
		{"POST", "/conversations/web:other/join", `{"to": "web:default"}`},
		{"POST", "/erasures", `{"keys": ["web:default"]}`},
		{"DELETE", "/conversations/heartbeat:hourly"},
		{"GET", "/search?query=hello&limit=x"},
		{"GET", "/conversations/telegram:404"},
	}
}

// TestDescribed calls every operation of docs/openapi.json on a real daemon, and validates
// requests and answers against it.
func TestDescribed(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "heartbeat:\n  jobs: [{name: hourly, every: 1h, target: \"web:default\", prompt: 'say: good hour'}]\n"+shopHook).run()
	r.daemon.AddLinker("phone", phone{})
	restoreTalk(t, r.admin, channels.MustKey("web:other"))
	restoreQueue(t, r.admin)
	queue, err := api.ListQueue.Call(t.Context(), r.admin, api.QueueQuery{})
	if err != nil || len(queue.Data) < 2 {
		t.Fatalf("the queue is %v, %v; want two entries", queue, err)
	}
	facts, err := api.ListFacts.Call(t.Context(), r.admin, api.FactsOf{Target: ownTalk})
	if err != nil || len(facts.Data) != 1 {
		t.Fatalf("the facts are %v, %v; want one", facts, err)
	}
	dead, aside := queue.Data[0].ID, queue.Data[1].ID
	if strings.HasPrefix(aside, "out/") {
		dead, aside = aside, dead
	}
	c := r.overSocket()
	d := readDescription(t)
	records := d.send(c, "GET", "/records?key=web:other", "")
	for _, call := range described(dead, aside, facts.Data[0]) {
		d.send(c, call[0], call[1], call[2])
	}
	d.send(c, "POST", "/records", records) // they were joined into another conversation
	d.describedApprovals()
	d.describedToolServers()
	d.describedSkills()
	for name := range d.operations {
		if !d.tried[name] && !strings.Contains(strings.Join(refusedHere, ","), name) {
			t.Errorf("%s never succeeded: add a row with a request of it to described()", name)
		}
	}
}

// describedApprovals calls the operations of approvals, on a daemon with a question.
func (d *description) describedApprovals() {
	d.t.Helper()
	server := agenttest.Serve(d.t, agenttest.Options{Models: []string{"m"}})
	r := newPlace(d.t, fmt.Sprintf("model: {type: openai, base_url: '%s', name: m}\nagent: {tools: {web_fetch: ask}}\n", server.URL())).run()
	server.Next(
		agenttest.ToolReply(agenttest.ToolDelta{ID: "c1", Name: "web_fetch", Arguments: `{"url":"http://127.0.0.1/page"}`}),
		agenttest.TextReply("Here you are."),
	)
	r.ask(r.page(""), "What does the page say?")
	c := r.overSocket()
	question := d.first(d.send(c, "GET", "/approvals", ""))
	d.send(c, "GET", "/approvals/"+question, "")
	d.send(c, "POST", "/approvals/"+question, `{"answer": "always"}`)
	standing := d.first(d.send(c, "GET", "/standings?key=web:default", ""))
	d.send(c, "DELETE", "/conversations/web:default/standings/"+standing, "")
}

// describedToolServers does what operators do with servers of tools.
func (d *description) describedToolServers() {
	d.t.Helper()
	server := httptest.NewServer(mcptest.Handler(mcptest.Good[0]))
	defer server.Close()
	login := &mcptest.Login{Client: "dragoman", Redirect: "http://127.0.0.1:1/callback", Tools: mcptest.Handler(mcptest.Good[0])}
	locked := httptest.NewServer(login)
	defer locked.Close()
	r := newPlace(d.t, "mcp: {servers: {good: {url: '"+server.URL+"'}, locked: {url: '"+locked.URL+"/mcp', oauth: {client_id: dragoman, redirect: '"+login.Redirect+"'}}}}\n").run()
	c := r.overSocket()
	var report api.ToolReport
	err := json.Unmarshal([]byte(d.send(c, "POST", "/tool-servers/good/test", "{}")), &report)
	if err != nil || len(report.Tools) == 0 || report.Tools[0].Name == "" {
		d.t.Errorf("the test of a server says %+v, %v", report, err)
	}
	d.send(c, "POST", "/tool-servers/good/accept", `{"digest": "other"}`)
	d.send(c, "POST", "/tool-servers/good/accept", `{"digest": "`+report.Digest+`"}`)
	if list := d.send(c, "GET", "/tool-servers", ""); !strings.Contains(list, `"since"`) {
		d.t.Errorf("after it was accepted, the servers are %s", list)
	}
	d.describedLogin(c)
	for _, token := range login.Tokens() {
		if list := d.send(c, "GET", "/tool-servers", ""); strings.Contains(list, token) || !strings.Contains(list, `"renews"`) {
			d.t.Errorf("after the login, the servers are %s", list)
		}
	}
	d.send(c, "DELETE", "/tool-servers/locked/login", "")
}

// describedLogin logs in at the server locked.
func (d *description) describedLogin(c *http.Client) {
	d.t.Helper()
	d.send(c, "POST", "/tool-servers/locked/login/answer", `{"address": "hello"}`)
	var link api.ToolLogin
	err := json.Unmarshal([]byte(d.send(c, "POST", "/tool-servers/locked/login", "{}")), &link)
	if err != nil {
		d.t.Fatal(err)
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(link.URL)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = resp.Body.Close()
	d.send(c, "POST", "/tool-servers/locked/login/answer", fmt.Sprintf(`{"address": %q}`, resp.Header.Get("Location")))
}

// first is the id of the first of a list.
func (d *description) first(page string) string {
	d.t.Helper()
	var list api.Page[struct{ ID string }]
	err := json.Unmarshal([]byte(page), &list)
	if err != nil || len(list.Data) == 0 {
		d.t.Fatalf("the list is %.300s, %v; want one", page, err)
	}
	return list.Data[0].ID
}

// overSocket is a client of the operator's socket.
func (r *running) overSocket() *http.Client {
	socket := storage.Socket(r.state(""))
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}
}

// restoreQueue stores a dead delivery, a quarantined message, a fact, and two people who are or want to be paired.
func restoreQueue(t *testing.T, c *api.Client) {
	t.Helper()
	k := channels.MustKey(othersTalk)
	records := []sessions.Record{
		{Conversation: &sessions.ConversationRecord{Key: k, Seq: 1, Created: time.Now(), Updated: time.Now()}},
		{Outbox: &sessions.OutboxRecord{Delivery: sessions.Delivery{ID: "d1", Key: k, Seq: 1, Text: "hi", State: sessions.DeliveryDead, Created: time.Now()}}},
		{Quarantined: &sessions.QuarantineRecord{
			Quarantined: sessions.Quarantined{Channel: "telegram", ID: "1", Raw: []byte("{"), Why: "no JSON"}, At: time.Now(),
		}},
		{Fact: &sessions.FactRecord{Scope: "chat:" + ownTalk, Fact: sessions.Fact{ID: 1, Text: "a fact", At: time.Now()}}},
		{Pairing: &sessions.Pairing{Channel: "telegram", PersonID: "7", Name: "Ann", Approved: time.Now()}},
		{Pairing: &sessions.Pairing{Channel: "telegram", PersonID: "8", Name: "Bob", Code: "AAAA-BBBB-CCCCC", Expires: time.Now().Add(time.Hour)}},
		{Pairing: &sessions.Pairing{Channel: "telegram", PersonID: "9", Name: "Cleo", Code: "DDDD-EEEE-FFFFF", Expires: time.Now().Add(time.Hour)}},
	}
	_, err := c.Restore(t.Context(), func() (sessions.Record, error) {
		if len(records) == 0 {
			return sessions.Record{}, io.EOF
		}
		next := records[0]
		records = records[1:]
		return next, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
