package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Random is the name of a server that misbehaves at random: its argument is the seed.
const Random = "random"

// chaos changes what a server sends. It is safe for concurrent use.
type chaos struct {
	mu   sync.Mutex
	rand *rand.Rand
	// calm of a hundred messages are sent as they should be.
	calm int
}

func newChaos(seed uint64) *chaos {
	r := rand.New(rand.NewPCG(seed, 7))
	return &chaos{rand: r, calm: []int{30, 60, 85, 95}[r.IntN(4)]}
}

// seedOf is the first argument of a server.
func seedOf(args []string) uint64 {
	if len(args) == 0 {
		return 1
	}
	seed, _ := strconv.ParseUint(args[0], 10, 64)
	return seed
}

// n is a number below most.
func (x *chaos) n(most int) int { return x.rand.IntN(most) }

// randomBehaviour answers as it should, but for what the chaos of the connection does to it.
func randomBehaviour(old bool) behaviour {
	return behaviour{start: func(c *conn) { c.old = c.old || old }, on: map[string]func(c *conn, m message){
		"work": func(c *conn, m message) {
			c.result(m, `"content":[{"type":"text","text":"done"},{"type":"resource","resource":{"uri":"file:///x","text":"within"}},`+
				`{"type":"resource_link","name":"x","uri":"file:///x"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"n":[1,"x",null]},"isError":false`)
		},
	}}
}

// sends is what is sent instead of a message; end: then the server is gone.
func (x *chaos) sends(text string) (list []string, pause time.Duration, end bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	calm := x.calm
	if strings.Contains(text, `"tools":`) || strings.Contains(text, "supportedVersions") {
		calm = max(calm, 75) // or no call is ever made
	}
	if x.n(100) < calm {
		return []string{text}, 0, false
	}
	for range x.n(3) {
		list = append(list, x.unasked()...)
	}
	changed := text
	for range 1 + x.n(3) {
		changed = x.change(changed)
	}
	switch x.n(12) {
	case 0:
		return list, 0, true
	case 1:
		return append(list, changed[:x.n(len(changed)+1)]), 0, x.n(2) == 0
	case 2:
		return list, 0, false // and never an answer
	case 3:
		return append(list, changed, text, changed), 0, false
	case 4:
		return append(list, x.garbage(), changed), time.Duration(x.n(300)) * time.Millisecond, false
	case 5:
		return append(list, "["+changed+","+text+"]", text), 0, false
	}
	return append(list, changed), 0, false
}

// unasked is something that a server says or asks by itself, once or very often.
func (x *chaos) unasked() []string {
	methods := []string{
		"notifications/progress", "notifications/message", "notifications/cancelled", "notifications/tools/list_changed",
		"notifications/elicitation/complete", "notifications/resources/updated", "notifications/subscriptions/acknowledged", "notifications/prompts/list_changed",
		"elicitation/create", "sampling/createMessage", "roots/list", "ping", "completion/complete", "tools/call", "initialize", "", "x",
	}
	one := map[string]any{"jsonrpc": "2.0", "method": methods[x.n(len(methods))]}
	if x.n(2) == 0 {
		one["id"] = x.junk()
	}
	switch x.n(4) {
	case 0:
		one["params"] = x.junk()
	case 1:
		one["params"] = map[string]any{
			"mode": "form", "message": x.junk(), "progressToken": x.junk(), "progress": x.junk(), "requestId": x.junk(), "elicitationId": x.junk(),
			"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"name": x.junk(), "b": map[string]any{"type": "string", "pattern": "(a|a)*$"}}, "allOf": []any{map[string]any{"$ref": "#"}}},
			"messages":        []any{nil, x.junk(), map[string]any{"role": "user", "content": x.junk()}},
		}
	}
	text, _ := json.Marshal(one) // all of it is JSON
	times := min([]int{1, 1, 1, 40, 1500}[x.n(5)], 1+(4<<20)/len(text))
	return []string{strings.Repeat(string(text)+"\n", times-1) + string(text)}
}

// garbage is no message.
func (x *chaos) garbage() string {
	b := make([]byte, x.n(200))
	for i := range b {
		b[i] = byte(x.n(256))
	}
	return []string{string(b), "{", "}", "null", "[]", "\"", "{}{}", "\x00", "\xff\xfe", strings.Repeat("{\"a\":", 3000), strings.Repeat("x", 2<<20)}[x.n(11)]
}

// junk is a value that is hardly what was expected.
func (x *chaos) junk() any {
	deep := func(levels int) any {
		return json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
	}
	list := []any{
		nil, true, 0, -1, 1.5, json.RawMessage("1e999"), json.RawMessage("99999999999999999999999"), "", "x", "\u0000\u202e", strings.Repeat("word ", 20_000),
		[]any{},
		[]any{nil},
		[]any{1, "x", nil, []any{}},
		map[string]any{},
		map[string]any{"": nil},
		map[string]any{"type": 7, "$ref": "#", "items": nil},
		deep(50), deep(150), deep(5000), json.RawMessage("[" + strings.Repeat("{},", 30_000) + "0]"), strings.Repeat("y", 1<<20),
	}
	return list[x.n(len(list))]
}

// change is a message with a value that is another one, or missing, or new.
func (x *chaos) change(text string) string {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	changed, err := json.Marshal(x.alter(v))
	if err != nil {
		return text
	}
	return string(changed)
}

// alter changes one value in v.
func (x *chaos) alter(v any) any {
	if x.n(6) == 0 {
		return x.junk()
	}
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return []any{x.junk()}
		}
		i := x.n(len(v))
		if x.n(5) == 0 {
			return append(v, nil, x.junk())
		}
		v[i] = x.alter(v[i])
		return v
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		added := []string{"inputRequests", "nextCursor", "error", "isError", "resultType", "annotations", "icons", "outputSchema", "_meta", "content", "method"}
		if len(names) == 0 || x.n(6) == 0 {
			v[added[x.n(len(added))]] = x.junk()
			return v
		}
		name := names[x.n(len(names))]
		switch x.n(8) {
		case 0:
			delete(v, name)
		case 1:
			v["resultType"] = "input_required"
			v["inputRequests"] = map[string]any{"q": []any{nil, x.junk(), map[string]any{"method": "elicitation/create", "params": x.junk()}, map[string]any{"method": "sampling/createMessage", "params": map[string]any{"messages": []any{nil}}}}[x.n(4)]}
		default:
			v[name] = x.alter(v[name])
		}
		return v
	}
	return x.junk()
}

// disturb sends what chaos makes of a message.
func (c *conn) disturb(text string) {
	list, pause, end := c.chaos.sends(text)
	for _, one := range list {
		if c.web {
			one = strings.ReplaceAll(one, "\n", "\n\ndata: ")
		}
		c.write(one)
	}
	if pause > 0 {
		c.wait(pause)
	}
	switch {
	case end && c.web:
		panic(http.ErrAbortHandler)
	case end:
		os.Exit(6)
	}
}

// randomHandler is the random server over HTTP.
func randomHandler(args []string) http.Handler {
	x := newChaos(seedOf(args))
	old := x.n(2) == 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		odd := x.n(100) >= x.calm
		status := []int{200, 200, 200, 200, 202, 204, 301, 400, 401, 404, 405, 429, 500, 503}[x.n(14)]
		kind := []string{"application/json", "text/html", "text/event-stream; charset=x", ""}[x.n(4)]
		x.mu.Unlock()
		frame := "data: %s\n\n"
		if odd {
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", status))
			w.Header().Set("Content-Type", kind)
			if !strings.HasPrefix(kind, "text/event") {
				frame = "%s\n"
			}
			if status != 200 {
				w.WriteHeader(status)
			}
		}
		answer(randomBehaviour(old), &conn{ctx: r.Context(), out: w, frame: frame, old: old, web: true, chaos: x}, w, r)
	})
}
