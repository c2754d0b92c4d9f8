package story_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels/channeltest/wasim"
)

// onWhatsAppAsked starts a daemon whose file tool asks, linked to WhatsApp, with Ann who asks
// and Bob who approves in groups.
func onWhatsAppAsked(t *testing.T) (w *whatsapp, bob *wasim.Contact) {
	w = newWhatsApp(t)
	bob = w.server.Contact("+15550000003", "Bob")
	w.house.configure(plan{
		channels: fmt.Sprintf("enabled: false\n  whatsapp:\n    type: whatsapp\n    allow: [%q, %q]", w.ann.Number(), bob.Number()),
		rest:     askedSettings("whatsapp:" + bob.Number()),
	})
	w.begin()
	w.login()
	return w, bob
}

// idOf is the id of the message with that text.
func idOf(list []wasim.Message, text string) string {
	for _, m := range list {
		if m.Text == text {
			return m.ID
		}
	}
	return ""
}

// In a private chat on WhatsApp, a person answers by a command, by words, by quoting and by a
// thumb.
func TestAskedOnWhatsApp(t *testing.T) {
	w, bob := onWhatsAppAsked(t)
	ann := w.ann
	n := &askedNet{
		daemon: w.daemon, heard: ann.Texts,
		asks:   func(text string) { ann.Say(text) },
		shown:  func(text string) string { return idOf(ann.Received(), text) },
		denies: func(code string) { ann.Say("/deny " + code) },
	}
	says := func(format string) func(askedQuestion) {
		return func(q askedQuestion) { ann.Say(strings.ReplaceAll(format, "CODE", q.code)) }
	}
	quotes := func(text string) func(askedQuestion) {
		return func(q askedQuestion) {
			ann.Send(wasim.Note{Text: strings.ReplaceAll(text, "CODE", q.code), Quote: q.id})
		}
	}
	reacts := func(emoji string) func(askedQuestion) {
		return func(q askedQuestion) { ann.React(q.id, emoji) }
	}
	n.run(t, []askedCase{
		{"a command", says("/allow CODE"), "used"},
		{"a command for no", says("/deny CODE"), "denied"},
		{"the words", says("Allow CODE"), "used"},
		{"the words for no", says("deny CODE"), "denied"},
		{"a quote with allow", quotes("allow"), "used"},
		{"a quote with deny", quotes("Deny"), "denied"},
		{"a quote with the code", quotes("CODE"), "used"},
		{"a quote with yes", quotes("yes"), "pending"},
		{"a quote with another code", quotes("1111"), "pending"},
		{"a thumb", reacts("👍🏽"), "used"},
		{"a thumb down", reacts("👎"), "denied"},
		{"a heart", reacts("❤️"), "pending"},
		{"a yes alone", says("yes"), "pending"},
		{"another code", says("/allow 1111"), "pending"},
		{"a forwarded command", func(q askedQuestion) { ann.Send(wasim.Note{Text: "/allow " + q.code, Forwarded: true}) }, "pending"},
		{"forwarded words", func(q askedQuestion) { ann.Send(wasim.Note{Text: "allow " + q.code, Forwarded: true}) }, "pending"},
		{"a forwarded quote", func(q askedQuestion) { ann.Send(wasim.Note{Text: "allow", Quote: q.id, Forwarded: true}) }, "pending"},
		{"an edit", func(q askedQuestion) { ann.Edit(ann.Say("hm"), "/allow "+q.code) }, "pending"},
		{"a quote of another message", func(askedQuestion) { ann.Send(wasim.Note{Text: "allow", Quote: ann.Received()[0].ID}) }, "pending"},
		{"a thumb on another message", func(askedQuestion) { ann.React(ann.Received()[0].ID, "👍") }, "pending"},
		{"yes, and then no", func(q askedQuestion) { ann.Say("/allow " + q.code); ann.React(q.id, "👎") }, "used"},
		{"the file has changed", func(q askedQuestion) { n.changes(q); ann.Say("/allow " + q.code) }, "closed"},
		{"a new conversation between", func(q askedQuestion) { ann.Say("/new"); ann.Say("/allow " + q.code) }, "closed"},
		{"somebody else, in their own chat", func(q askedQuestion) { bob.Say("/allow " + q.code) }, "pending"},
	})
}

// In a group on WhatsApp, the approver answers, and nobody else.
func TestAskedInAWhatsAppGroup(t *testing.T) {
	w, bob := onWhatsAppAsked(t)
	ann := w.ann
	carol := w.server.Contact("+15550000004", "Carol")
	group := w.server.Group("Team", ann, bob, carol)
	owner := w.server.Owner().Number()
	n := &askedNet{
		daemon: w.daemon, heard: group.Texts,
		asks: func(text string) {
			ann.Send(wasim.Note{In: group, Text: "@" + strings.TrimPrefix(owner, "+") + " " + text, Mention: []string{owner}})
		},
		shown:  func(text string) string { return idOf(group.Received(), text) },
		denies: func(code string) { bob.SayIn(group, "/deny "+code) },
	}
	says := func(who *wasim.Contact, format string) func(askedQuestion) {
		return func(q askedQuestion) { who.SayIn(group, strings.ReplaceAll(format, "CODE", q.code)) }
	}
	quotes := func(who *wasim.Contact, text string) func(askedQuestion) {
		return func(q askedQuestion) { who.Send(wasim.Note{In: group, Text: text, Quote: q.id}) }
	}
	n.run(t, []askedCase{
		{"the approver", says(bob, "/allow CODE"), "used"},
		{"the approver's words that address nobody", says(bob, "allow CODE"), "used"},
		{"the approver quotes", quotes(bob, "allow"), "used"},
		{"the approver's thumb", func(q askedQuestion) { bob.React(q.id, "👍") }, "used"},
		{"the approver in private", func(q askedQuestion) { bob.Say("/allow " + q.code) }, "used"},
		{"whoever asked", says(ann, "/allow CODE"), "pending"},
		{"whoever asked quotes", quotes(ann, "allow"), "pending"},
		{"the thumb of whoever asked", func(q askedQuestion) { ann.React(q.id, "👍") }, "pending"},
		{"a stranger", says(carol, "/allow CODE"), "pending"},
		{"a stranger quotes", quotes(carol, "allow"), "pending"},
		{"the approver forwards", func(q askedQuestion) {
			bob.Send(wasim.Note{In: group, Text: "allow " + q.code, Forwarded: true})
		}, "pending"},
		{"a new conversation between", func(q askedQuestion) { bob.SayIn(group, "/new"); bob.SayIn(group, "/allow "+q.code) }, "closed"},
	})
}
