package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/agent/mcp"
)

// question asks for one value.
func question(name, title, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: "Please tell me.", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{name: map[string]any{"type": kind, "title": title}},
	}}
}

// People are asked for postal codes and keys of projects, and not for what opens something.
func TestNobodyIsAskedForASecret(t *testing.T) {
	for _, name := range []string{
		"postal code", "postalCode", "zip_code", "zipcode", "postcode", "Project key", "projectKey", "country code", "country_codes", "pinned", "shipping", "issue key", "currency-code", "keyboard", "public_key",
		"monkey", "encoding", "discount code", "keyword", "pinnedItems", "status code",
	} {
		if _, why := mcp.FormOf("x", question(name, "", "string")); why != "" {
			t.Errorf("%q is not asked for: %s", name, why)
		}
	}
	for _, name := range []string{
		"api key", "apiKey", "API_KEY", "apikey", "access code", "accessCode", "PIN", "pin", "one-time code", "onetimecode", "secret", "client_secret", "password", "token", "authToken", "key", "code", "security code",
		"6-digit code", "sign-in code", "2FA code", "ssh key", "private-key", "passcode", "verification_code", "PIN code", "card number", "Your key",
	} {
		for _, p := range []*sdk.ElicitParams{question(name, "", "string"), question("value", name, "string")} {
			if _, why := mcp.FormOf("x", p); !strings.Contains(why, "a password or a key") {
				t.Errorf("%q is asked for, %q", name, why)
			}
		}
	}
	for _, p := range []*sdk.ElicitParams{question("key", "Project key", "string"), question("remember_password", "", "boolean")} {
		if _, why := mcp.FormOf("x", p); why != "" {
			t.Errorf("%+v is not asked for: %s", p.RequestedSchema, why)
		}
	}
	p := question("value", "", "string")
	p.Message = "Enter the code that we have sent to you."
	if _, why := mcp.FormOf("x", p); why == "" {
		t.Error("a code is asked for in the message")
	}
}

// Whatever a server asks, people are asked a form of bounded size without invisible words, or
// there is a reason why not.
func FuzzFormOf(f *testing.F) {
	f.Add("Which one?", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, "")
	f.Add("?", `{"type":"array","properties":7}`, "")
	f.Add("", `{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"minItems":1},"b":{"type":"integer","minimum":1,"default":2}}}`, "")
	f.Add("Sign in", "", "https://example.org/login")
	f.Add("", `{"properties":{"postalCode":{"type":"string","enum":["1","2"],"enumNames":["one"],"pattern":"((("}}}`, "")
	f.Fuzz(func(t *testing.T, message, schema, url string) {
		p := &sdk.ElicitParams{Message: message, URL: url}
		var any any
		if json.Unmarshal([]byte(schema), &any) == nil {
			p.RequestedSchema = any
		}
		form, why := mcp.FormOf("x", p)
		if why != "" {
			return
		}
		text, err := json.Marshal(form)
		if err != nil || len(text) > 1<<20 || len(form.Fields) > 10 || strings.ContainsAny(form.Message, "\u202e\u200b\x1b") {
			t.Fatalf("%d bytes, %v: %.300s", len(text), err, text)
		}
		for _, field := range form.Fields {
			if field.Name == "" || len(field.Choices) > 50 || strings.ContainsAny(field.Name+field.Title+strings.Join(field.Choices, ""), "\n\x1b\u202e") {
				t.Errorf("a field is %+v", field)
			}
		}
	})
}
