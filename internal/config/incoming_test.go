package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// incoming is a configuration with one webhook that others call, with text changed in it.
func incoming(change ...string) string {
	hook := strings.NewReplacer(change...).Replace("name: shop, verify: bearer, secret: canary-canary-0123, to: 'web:default', prompt: '{{a}}'")
	return "incoming_webhooks: [{" + hook + "}]"
}

func TestIncomingWebhooks(t *testing.T) {
	c, err := load(t, incoming())
	if err != nil {
		t.Fatal(err)
	}
	h := c.IncomingWebhooks[0]
	if h.Name != "shop" || h.Owner != "operator" || h.Repeats != "id" || h.PerHour != 60 || h.MaxBytes != 1<<20 || h.Secret.Reveal() != "canary-canary-0123" {
		t.Errorf("the webhook is %+v, want the defaults", h)
	}
	if strings.Contains(c.Effective(), "canary") || strings.Contains(fmt.Sprintf("%+v", h), "canary") {
		t.Error("the secret of a webhook is shown")
	}
	for _, good := range []string{
		incoming("verify: bearer", "verify: github"),
		incoming("verify: bearer", "verify: standard", "canary-canary-0123", signing),
		incoming("verify: bearer", "verify: basic", "canary-canary", "shop:canary-canary"),
		incoming("prompt:", "message:"),
		incoming("name: shop", "name: shop, old_secret: 0123456789abcdef, repeats: body, per_hour: 1, max_bytes: 1KiB, owner: 'web:telegram:1'"),
	} {
		if _, err := load(t, good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestIncomingWebhooksAreChecked(t *testing.T) {
	for text, path := range map[string]string{
		incoming("name: shop, ", ""):                              "incoming_webhooks[0].name",
		incoming("name: shop", "name: a/b"):                       "incoming_webhooks[0].name",
		incoming("verify: bearer, ", ""):                          "incoming_webhooks[0].verify",
		incoming("verify: bearer", "verify: none"):                "incoming_webhooks[0].verify",
		incoming("secret: canary-canary-0123, ", ""):              "incoming_webhooks[0].secret",
		incoming("canary-canary-0123", "short"):                   "incoming_webhooks[0].secret",
		incoming("verify: bearer", "verify: basic"):               "incoming_webhooks[0].secret",
		incoming("verify: bearer", "verify: standard"):            "incoming_webhooks[0].secret",
		incoming("name: shop", "name: shop, old_secret: short"):   "incoming_webhooks[0].old_secret",
		incoming("to: 'web:default'", "to: 'nowhere:1'"):          "incoming_webhooks[0].to",
		incoming("to: 'web:default', ", ""):                       "incoming_webhooks[0].to",
		incoming(", prompt: '{{a}}'", ""):                         "incoming_webhooks[0]",
		incoming("prompt:", "message: x, prompt:"):                "incoming_webhooks[0]",
		incoming("{{a}}", "{{range .a}}"):                         "incoming_webhooks[0].prompt",
		incoming("name: shop", "name: shop, owner: 'telegram:1'"): "incoming_webhooks[0].owner",
		incoming("name: shop", "name: shop, repeats: never"):      "incoming_webhooks[0].repeats",
		incoming("name: shop", "name: shop, per_hour: 0"):         "incoming_webhooks[0].per_hour",
		"http: {listen: 'off'}\n" + incoming():                    "incoming_webhooks",
		strings.Replace(incoming(), "[{", "["+incoming()[len("incoming_webhooks: ["):len(incoming())-1]+", {", 1): "incoming_webhooks[1].name",
	} {
		_, err := load(t, text)
		found := false
		for _, p := range problems(t, err) {
			if strings.Contains(p, path+":") {
				found = true
			}
			if strings.Contains(p, "canary") {
				t.Errorf("%s: the problem shows the secret: %s", text, p)
			}
		}
		if !found {
			t.Errorf("%s: %v, want a problem with %s", text, err, path)
		}
	}
}
