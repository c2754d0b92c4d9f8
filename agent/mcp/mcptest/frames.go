package mcptest

import (
	"fmt"
	"strings"
	"time"
)

// megabyte is as much text.
var megabyte = strings.Repeat("0123456789abcdef", 1<<16)

// frames are behaviours of the protocol: broken, missing, doubled and endless messages.
var frames = map[string]behaviour{
	"bad-json": {
		does: "answers a call with JSON that breaks off",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`, m.ID))
		}},
	},
	"not-rpc": {
		does: "answers a call with JSON that is no message",
		on: map[string]func(c *conn, m message){"work": func(c *conn, _ message) {
			c.send(`{"hello":"world"}`)
		}},
	},
	"no-discover": {
		does: "does not answer server/discover",
		on:   map[string]func(c *conn, m message){"server/discover": silent},
	},
	"no-listen": {
		does: "does not acknowledge subscriptions/listen",
		on:   map[string]func(c *conn, m message){"subscriptions/listen": silent},
	},
	"no-list": {
		does: "does not answer tools/list",
		on:   map[string]func(c *conn, m message){"tools/list": silent},
	},
	"no-info": {
		does: "does not say who it is",
		on: map[string]func(c *conn, m message){
			"server/discover": func(c *conn, m message) {
				c.result(m, `"ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28"],`+capabilities)
			},
			"initialize": func(c *conn, m message) { c.result(m, `"protocolVersion":"2025-11-25",`+capabilities) },
		},
	},
	"future": {
		does: "speaks only a revision of the future",
		on: map[string]func(c *conn, m message){
			"server/discover": func(c *conn, m message) { c.refuse(m, -32601, "method not found") },
			"initialize": func(c *conn, m message) {
				c.result(m, `"protocolVersion":"2031-01-01",`+capabilities+`,"`+itself)
			},
		},
	},
	"hang": {
		does: "does not answer a call",
		on:   map[string]func(c *conn, m message){"work": silent},
	},
	"line": {
		does: "answers a call with 64 MB of one line that has no end",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.frame = "%s"
			c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[{"type":"text","text":"`)
			for range 64 {
				c.send(megabyte)
			}
		}},
	},
	"drip": {
		does: "answers a call with one byte a second, without an end",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.frame = "%s"
			c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[{"type":"text","text":"`)
			for {
				c.send("x")
				c.wait(time.Second)
			}
		}},
	},
	"ids": {
		does: "answers requests that nobody made, and each of ours twice, the second time with something else",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			for _, id := range []string{"99999", `"nobody"`, "-1", "1.5", "null"} {
				c.text(message{ID: []byte(id)}, "not asked")
			}
			c.text(m, "done")
			c.text(m, "done again, and otherwise")
			c.refuse(m, -32000, "and refused")
		}},
	},
	"text-ids": {
		does: "answers a call with its number as a text",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			m.ID = []byte(quote(string(m.ID)))
			c.text(m, "done")
		}},
	},
}

// silent gives no answer.
func silent(c *conn, _ message) {
	if c.web {
		c.wait(forever) // the end of the request would be one
	}
}
