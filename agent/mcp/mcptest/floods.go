package mcptest

import (
	"fmt"
	"time"
)

// floods are behaviours of servers that send much.
var floods = map[string]behaviour{
	"notes": {
		does: "sends 10,000 notes of progress and 10,000 of the log before it answers a call",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			token := m.Params.Meta.ProgressToken
			if token == nil {
				token = []byte(`"none"`)
			}
			for n := range 10_000 {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":10000,"message":"still at it"}}`, token, n))
				c.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"still at it"}}`)
			}
			c.text(m, "done")
		}},
	},
	"progress": {
		does: "sends progress for ever and never answers a call",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.beside(func() { endlessProgress(c, m) })
		}},
	},
	"storm": {
		does: "says 10,000 times that its list has changed before it answers a call",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			for range 10_000 {
				c.changed()
			}
			c.text(m, "done")
		}},
	},
	"requests": {
		does: "asks 10,000 things at once that no client answers, before it answers a call",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			for n := range 10_000 {
				method := [...]string{"ping", "roots/list", "sampling/createMessage", "tools/call", "no/such"}[n%5]
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":%q,"params":{}}`, n, method))
			}
			c.text(m, "done")
		}},
	},
}

// endlessProgress tells of progress ten times a second.
func endlessProgress(c *conn, m message) {
	for n := 0; ; n++ {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.Params.Meta.ProgressToken, n))
		c.wait(100 * time.Millisecond)
	}
}
