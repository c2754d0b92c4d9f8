package mcptest

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// traps are behaviours that make libraries panic, lock up or call themselves for ever.
var traps = map[string]behaviour{
	"null-question": {
		does: "wants a call repeated with the answer to a question that is null",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			require(c, m, 1, `{"q":null}`)
		}},
	},
	"no-params":    afterNotes(asking("asks without saying what, after notes that do not say of what they are", 1, "elicitation/create", "null")),
	"endless-form": asking("asks with a schema that refers to itself, for ever", 1, "elicitation/create", endlessForm),
	"mirror":       mirror,
	"leaves": {
		does: "asks, and breaks the call off before there can be an answer",
		on: map[string]func(c *conn, m message){"work": func(c *conn, _ message) {
			c.send(`{"jsonrpc":"2.0","id":"question","method":"elicitation/create","params":` + form + "}")
			c.wait(time.Second)
			if !c.web {
				os.Exit(5)
			}
		}},
	},
	"doubling-schema": structured("has a schema of its results whose references double sixty times",
		doubling(60), `{"n":7}`),
	"wide-schema": structured("has a schema of its results of ten thousand parts, and results of as many",
		`{"type":"object","properties":{"n":{"type":"array","items":{"allOf":[`+strings.Repeat("{},", 10_000)+`{}]}}}}`,
		`{"n":[`+strings.Repeat("0,", 45_000)+`0]}`),
	"pattern-schema": structured("has a schema of its results with patterns of a thousand repetitions",
		`{"type":"object","anyOf":[`+strings.Repeat(`{"properties":{"n":{"pattern":"^((a|b)*c?){1000}$"}}},`, 600)+`{}]}`,
		`{"n":"`+strings.Repeat("ab", 400_000)+`"}`),
}

// structured is a server with a schema of its results, and a result.
func structured(does, schema, result string) behaviour {
	return behaviour{
		does: does, tools: both[:len(both)-1] + `,"outputSchema":` + schema + "}",
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.result(m, `"content":[{"type":"text","text":"all is well"}],"structuredContent":`+result)
		}},
	}
}

// doubling is a schema that leads to its last definition in 2^levels ways.
func doubling(levels int) string {
	defs := ""
	for n := range levels {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, n+1)
		defs += fmt.Sprintf(`"d%d":{"allOf":[%s,%s]},`, n, next, next)
	}
	return fmt.Sprintf(`{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{%s"d%d":{}}}`, defs, levels)
}

// mirror asks what libraries ask back.
var mirror = func() behaviour {
	b := asking("asks the client what only clients ask, and does not answer that itself", 1, "completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"x","value":"x"}}`)
	b.on["completion/complete"] = silent
	return b
}()

const endlessForm = `{"mode":"form","message":"Which one?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"allOf":[{"$ref":"#"}]}}`

// afterNotes is b, with notes before each call of work that have no params.
func afterNotes(b behaviour) behaviour {
	work := b.on["work"]
	b.on["work"] = func(c *conn, m message) {
		for _, method := range []string{"elicitation/complete", "progress", "cancelled", "resources/updated"} { // fewer than what is heard in a second
			for _, params := range []string{"", `,"params":null`, `,"params":[]`, `,"params":7`} {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s"%s}`, method, params))
			}
		}
		work(c, m)
	}
	return b
}
