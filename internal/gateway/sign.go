package gateway

import (
	"regexp"
	"strings"
	"sync"

	"dragoman/channels"
)

// spell writes the commands in text, which is our own and not the model's, as
// people write them on the network of k: "!new" on IRC.
func (g *Gateway) spell(k channels.Key, text string) string {
	b := g.bindings[k.Channel()]
	if b == nil {
		return text
	}
	signed, ok := b.Channel.(channels.CommandSigner)
	if !ok {
		return text
	}
	return commandWord().ReplaceAllStringFunc(text, func(word string) string {
		return strings.Replace(word, "/", signed.CommandSign(), 1)
	})
}

// commandWord is a command at the beginning of a word.
var commandWord = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, c := range Commands() {
		names = append(names, c.Name)
	}
	return regexp.MustCompile(`(?:^|[\s(])/(?:` + strings.Join(names, "|") + `)\b`)
})
