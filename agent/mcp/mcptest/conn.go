package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// message is what a client sends, as far as any behaviour cares.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Cursor    string `json:"cursor"`
		Arguments struct {
			Text string `json:"text"`
		} `json:"arguments"`
		RequestState   string          `json:"requestState"`
		InputResponses json.RawMessage `json:"inputResponses"`
		Meta           struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// conn is what a server writes to: a pipe, or the answer to one request of HTTP.
type conn struct {
	ctx    context.Context // ends with the request of HTTP
	web    bool
	mu     sync.Mutex
	out    io.Writer
	frame  string // how a message is written there, with a %s
	old    bool   // speaks the former era alone
	args   []string
	listen json.RawMessage // the request that asked for notifications
	asked  int
	call   json.RawMessage // the call that waits for answers to questions
	chaos  *chaos          // nil: what is sent is what was meant
}

// send writes one message, whatever it is, and whatever becomes of it.
func (c *conn) send(text string) {
	if c.chaos != nil {
		c.disturb(text)
		return
	}
	c.write(text)
}

func (c *conn) write(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, after, _ := strings.Cut(c.frame, "%s")
	_, err := io.WriteString(c.out, before+text+after)
	if err != nil && c.web {
		panic(http.ErrAbortHandler) // the client is gone; of a process the system takes care
	}
	if f, ok := c.out.(http.Flusher); ok {
		f.Flush()
	}
}

// wait lets time pass, while there is a client.
func (c *conn) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// beside lets f run while a process reads on. A request of HTTP has nothing else to do.
func (c *conn) beside(f func()) {
	if c.web {
		f()
		return
	}
	go f()
}

// result answers m with the members of a result.
func (c *conn) result(m message, members string) {
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, m.ID, members))
}

// text answers a call with a text.
func (c *conn) text(m message, text string) {
	c.result(m, `"content":[{"type":"text","text":`+quote(text)+`}]`)
}

// refuse answers m with an error of the protocol.
func (c *conn) refuse(m message, code int, words string) {
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, m.ID, code, quote(words)))
}

// changed says that the list of tools is another one.
func (c *conn) changed() {
	meta := ""
	if c.listen != nil {
		meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.listen) + `}`
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + meta + `}}`)
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

// one is the description of a tool that takes a text.
func one(name, description string, more ...string) string {
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}%s}`,
		quote(name), quote(description), strings.Join(more, ""))
}

// both are the tools of most behaviours.
var both = one("echo", "Says the text again.") + "," + one("work", "Does the work.")

const (
	// capabilities and itself are members of results; itself lacks the quote before its
	// name, which is longer in the present era.
	capabilities = `"capabilities":{"tools":{"listChanged":true}}`
	itself       = `serverInfo":{"name":"hostile","version":"1"}`
)

// usual is what a good server answers.
func usual(c *conn, m message, tools string) {
	if tools == "" {
		tools = both
	}
	switch m.Method {
	case "server/discover":
		if c.old {
			c.refuse(m, -32601, "method not found")
			return
		}
		c.result(m, `"_meta":{"io.modelcontextprotocol/`+itself+`},"ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28","2025-11-25"],`+capabilities)
	case "subscriptions/listen":
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID))
	case "initialize":
		c.result(m, `"protocolVersion":"2025-11-25",`+capabilities+`,"`+itself)
	case "ping":
		c.result(m, `"_meta":{}`)
	case "tools/list":
		c.result(m, `"ttlMs":0,"cacheScope":"public","tools":[`+tools+`]`)
	case "tools/call":
		c.text(m, m.Params.Arguments.Text)
	default:
		if m.ID != nil && m.Method != "" {
			c.refuse(m, -32601, "method not found")
		}
	}
}
