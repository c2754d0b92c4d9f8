package gateway

import (
	"fmt"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// reminderForm is the job of a reminder: its maker, and its number.
var reminderForm = lazily.Compile(`^(.+:.+)/(r[0-9]{1,9})$`)

// reminderOf is the number in the job of a reminder.
func reminderOf(job string) string {
	found := reminderForm.Regexp().FindStringSubmatch(job)
	if found == nil {
		return job
	}
	return found[2]
}

// reminderNote is what a conversation remembers of a reminder that came due in it: text,
// with the words of taint.
func reminderNote(name, text string, taint []sessions.Origin) sessions.Message {
	return sessions.Message{
		Role: sessions.RoleUser, Content: fmt.Sprintf("[The reminder %s came due, and this was written here:]\n%s", name, text),
		Origins: taint, Synthetic: true,
	}
}

// Remind fills m, the occurrence of a reminder called name, with text as the network of m.Key
// takes it, and with what the conversation remembers of it. m.Occurrence names the job.
func (g *Gateway) Remind(m *sessions.Reminding, name, text string, taint []sessions.Origin) {
	m.Replies = g.split(sessions.Label{Kind: channels.KindJob, Job: m.Occurrence.Job}, m.Key, text, channels.Inbound{})
	m.Append = []sessions.Message{reminderNote(name, text, taint)}
}

// Reminded lets k deliver what the store was given for it.
func (g *Gateway) Reminded(k channels.Key) { g.chats.kick(k) }
