package exchange

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
)

// opaqueKey begins the keys that PicoClaw makes of a hash. They do not say which chat
// they mean.
const opaqueKey = "sk_v1_"

// errOpaque: neither the scope nor an alias names the chat.
var errOpaque = fmt.Errorf("%w: PicoClaw's key %s… names no chat, and neither do the scope and the aliases of its .meta.json", ErrNoKey, opaqueKey)

// picoScope is what PicoClaw keeps of the chat behind an opaque key.
type picoScope struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Values  struct {
		Chat  string `json:"chat"`  // "direct:7", "group:-1007/5"
		Topic string `json:"topic"` // "topic:5"
	} `json:"values"`
}

// clarifyKey replaces PicoClaw's opaque key in f by that of the chat.
func (t *conversation) clarifyKey(f fieldSet) error {
	var key string
	if json.Unmarshal(f["key"], &key) != nil || !strings.HasPrefix(key, opaqueKey) {
		return nil
	}
	var scope picoScope
	_ = json.Unmarshal(f["scope"], &scope) // a scope of another form names no chat
	k, ok := chatKey(scope.Channel, scope.Values.Chat, scope.Values.Topic)
	if !ok {
		var aliases []string
		_ = json.Unmarshal(f["aliases"], &aliases)
		k, ok = aliasKey(aliases)
	}
	if !ok {
		return errOpaque
	}
	if scope.Account != "" && scope.Account != "default" {
		t.note("its account on %s was %q; the key does not say so", k.Channel(), scope.Account)
	}
	if k.Channel() != "telegram" && k.Channel() != "whatsapp" {
		t.note("PicoClaw writes the names of chats in small letters, so %s may have been written otherwise", k)
	}
	t.key = k.String()
	delete(f, "key")
	return nil
}

// chatKey makes a key of a channel's name, a chat with its kind before it, and perhaps a
// topic.
func chatKey(channel, chat, topic string) (channels.Key, bool) {
	_, id, kinded := strings.Cut(chat, ":")
	if !kinded {
		id = chat
	}
	if topic != "" {
		id += ":" + topic[strings.LastIndexByte(topic, ':')+1:]
	}
	id = strings.ReplaceAll(id, "/", ":") // -1007/5 is topic 5
	if channel == "whatsapp" && strings.Trim(id, "0123456789") == "" && id != "" {
		id = "+" + id
	}
	k, err := channels.NewKey(channel, id)
	return k, err == nil
}

// chatKinds are the words before a chat in an alias.
var chatKinds = []string{"direct", "dm", "group", "channel"}

// aliasKey makes a key of the first alias that names a chat:
// agent:main:telegram:direct:7, or with an account, agent:main:telegram:home:direct:7.
func aliasKey(aliases []string) (k channels.Key, ok bool) {
	for _, alias := range aliases {
		parts := strings.Split(alias, ":")
		at := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(chatKinds, part) })
		if at < 3 || at > 4 || parts[0] != "agent" {
			continue
		}
		k, ok = chatKey(parts[2], strings.Join(parts[at:], ":"), "")
		if ok {
			return k, true
		}
	}
	return k, false
}
