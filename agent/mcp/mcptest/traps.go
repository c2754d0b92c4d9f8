package mcptest

import "fmt"

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
