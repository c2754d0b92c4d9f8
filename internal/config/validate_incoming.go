package config

import (
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/webhook"
)

// operator is whoever runs Dragoman, as the owner of a webhook.
const operator = "operator"

// minSecret is how long the secret of an incoming webhook has to be, in characters.
const minSecret = 16

// incomingWebhooks checks what other programs may call.
func (v *validator) incomingWebhooks() {
	for i := range v.c.IncomingWebhooks {
		path := fmt.Sprintf("incoming_webhooks[%d]", i)
		h := &v.c.IncomingWebhooks[i]
		if h.Name == "" {
			v.bad(path+".name", "is missing", "write a name, like github")
		}
		if h.Verify == "" {
			v.bad(path+".verify", "is missing, so nobody could call it", "write bearer, github, standard or basic")
		}
		v.incomingSecret(path+".secret", h.Verify, h.Secret)
		if h.OldSecret.IsSet() {
			v.incomingSecret(path+".old_secret", h.Verify, h.OldSecret)
		}
		if (h.Prompt == "") == (h.Message == "") {
			v.bad(path, "a webhook needs either a prompt or a message", "write one of them, like message: \"{{title}}\"")
		}
		v.target(path+".to", h.To)
		v.incomingOwner(path+".owner", h)
	}
	if len(v.c.IncomingWebhooks) > 0 && v.c.HTTP.Listen == "off" {
		v.bad("incoming_webhooks", "nobody can call them, because http.listen is off", "write an address there, like 127.0.0.1:8787")
	}
}

// incomingSecret checks the secret of a hook that is verified in that way.
func (v *validator) incomingSecret(path, verify string, secret Secret) {
	text := secret.Reveal()
	switch {
	case !secret.IsSet():
		v.bad(path, "is missing, so nobody could call it", "make one with: openssl rand -hex 32")
	case verify == string(webhook.Standard):
		if what, want := signingFlaw(text); what != "" {
			v.bad(path, what, want)
		}
	case len(text) < minSecret:
		v.bad(path, fmt.Sprintf("is shorter than %d characters", minSecret), "make one with: openssl rand -hex 32")
	case verify == string(webhook.Basic) && !strings.Contains(text, ":"):
		v.bad(path, "has no user", "write USER:PASSWORD")
	}
}

// incomingOwner refuses an owner who is not on the network of the conversation: nobody there
// vouches for them.
func (v *validator) incomingOwner(path string, h *IncomingWebhook) {
	if h.Owner == operator {
		return
	}
	to, _, _ := strings.Cut(h.To, ":")
	owner, err := channels.ParseKey(h.Owner)
	if err != nil || owner.Channel() != to {
		v.bad(path, v.show(path, h.Owner)+" is not on the channel of to", "write operator, or an identity there, like "+to+":123456789")
	}
}
