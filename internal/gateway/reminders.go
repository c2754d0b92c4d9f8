package gateway

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// Reminders are what people asked to be reminded of: internal/reminders.Book. Errors of type
// heartbeat.Refusal are sentences for whoever asks.
type Reminders interface {
	ListJobs(ctx context.Context, c agent.Call) (said string, err error)
	CancelJob(ctx context.Context, c agent.Call, id string) (said string, err error)
	// RestoreJob brings back what was cancelled within the last hour.
	RestoreJob(ctx context.Context, c agent.Call, id string) (said string, err error)
	// SnoozeJob puts off the reminder called id, or the last that came due in the chat.
	SnoozeJob(ctx context.Context, c agent.Call, id, until string) (said string, err error)
	// MaySnooze reports whether there is such a last one.
	MaySnooze(ctx context.Context, c agent.Call) (bool, error)
	KeepZone(ctx context.Context, c agent.Call, name string) (said string, err error)
	// Mine are the accounts of whoever calls.
	Mine(ctx context.Context, c agent.Call) (owners []string, err error)
}

const (
	sayHowJobs    = "\n\nAsk me for one in your own words, like “remind me tomorrow at nine”. /jobs cancel r1 removes the one listed as r1. /jobs zone Europe/Rome tells me where you are."
	sayWhichJob   = "Write /jobs to see your reminders, /jobs cancel r1 to remove one, /jobs restore r1 to bring it back within the hour, or /jobs zone Europe/Rome to tell me where you are."
	sayHowSnooze  = "Write for how long after the command: /snooze 10m, /snooze 1h or /snooze tomorrow."
	sayJobsError  = "Sorry, I could not reach your reminders. Please try again later."
	sayNotYourJob = "This reminder is somebody else's."
)

func (g *Gateway) hasReminders() bool { return g.opts.Reminders != nil }

// aboutReminders answers /jobs and /snooze.
func (g *Gateway) aboutReminders(ctx context.Context, m channels.Inbound, name string) (string, error) {
	if !g.hasReminders() {
		return g.unknownCommand(ctx, m, name)
	}
	text, err := g.changeReminders(ctx, m, name)
	refusal, refused := errors.AsType[heartbeat.Refusal](err)
	switch {
	case refused:
		said := refusal.Error()
		return strings.ToUpper(said[:1]) + said[1:] + ".", nil
	case err != nil && ctx.Err() == nil:
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("reminders cannot be read or changed", "command", name, "err", err)
		return sayJobsError, nil
	}
	return text, err
}

// changeReminders does what m, a command, says.
func (g *Gateway) changeReminders(ctx context.Context, m channels.Inbound, name string) (string, error) {
	words := strings.Fields(arguments(m.Text))
	call := askingCall(m)
	if name == "jobs" && len(words) == 0 {
		said, err := g.opts.Reminders.ListJobs(ctx, call)
		return strings.TrimSpace(said) + sayHowJobs, err
	}
	done, err := g.wasTaken(ctx, m)
	if done || err != nil {
		return "", err
	}
	if name == "snooze" {
		id, until, err := g.snoozeWords(ctx, m, words)
		switch {
		case err != nil:
			return "", err
		case until == "":
			return sayHowSnooze, nil
		}
		return g.opts.Reminders.SnoozeJob(ctx, call, id, until)
	}
	switch {
	case len(words) == 2 && words[0] == "cancel":
		return g.opts.Reminders.CancelJob(ctx, call, words[1])
	case len(words) == 2 && words[0] == "restore":
		return g.opts.Reminders.RestoreJob(ctx, call, words[1])
	case len(words) == 2 && words[0] == "zone":
		return g.opts.Reminders.KeepZone(ctx, call, words[1])
	}
	return sayWhichJob, nil
}

// askingCall is m as if a model had called a tool for its author.
func askingCall(m channels.Inbound) agent.Call {
	return agent.Call{Key: m.Key, Person: m.Sender, Private: m.Private}
}

// snoozeButton is the subject of a button: the reminder, for how long, and whose it is.
var snoozeButton = lazily.Compile(`^(r[0-9]{1,9})in(10m|1h|tomorrow)of([0-9a-f]{8})$`)

// snoozeWords are the words after /snooze of m: [r7] 1h, or those of a button.
func (g *Gateway) snoozeWords(ctx context.Context, m channels.Inbound, words []string) (id, until string, err error) {
	switch len(words) {
	case 1:
		if snoozeButton.Regexp().MatchString(words[0]) {
			return g.pressedSnooze(ctx, m)
		}
		return "", words[0], nil
	case 2:
		return words[0], words[1], nil
	}
	return "", "", nil
}

// pressedSnooze is what m, a pressed button, means: which reminder, and until when. Both are
// empty if no account of its author made that one.
func (g *Gateway) pressedSnooze(ctx context.Context, m channels.Inbound) (id, until string, err error) {
	pressed := snoozeButton.Regexp().FindStringSubmatch(strings.TrimSpace(arguments(m.Text)))
	if pressed == nil || !g.hasReminders() || m.Sender.ID() == "" {
		return "", "", nil
	}
	owners, err := g.opts.Reminders.Mine(ctx, askingCall(m))
	if err != nil {
		return "", "", err
	}
	for _, owner := range owners {
		if pressed[3] == ownerMark(owner) {
			return pressed[1] + "@" + owner, pressed[2], nil
		}
	}
	return "", "", nil
}

// snoozeChoices are the buttons under d, if it is the end of a reminder's text.
func snoozeChoices(d sessions.Delivery) (list []channels.Choice) {
	found := reminderForm.Regexp().FindStringSubmatch(d.Job)
	if d.Kind != channels.KindJob || d.Turn != "" || found == nil || d.Part != d.Parts {
		return nil
	}
	end := "of" + ownerMark(found[1])
	for _, c := range []channels.Choice{{Label: "10 min", Subject: "10m"}, {Label: "1 hour", Subject: "1h"}, {Label: "Tomorrow", Subject: "tomorrow"}} {
		c.Command = "snooze"
		c.Subject = found[2] + "in" + c.Subject + end
		list = append(list, c)
	}
	return list
}

// ownerMark tells apart the makers of reminders with the same number in one chat.
func ownerMark(owner string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(owner)) // it never fails
	return fmt.Sprintf("%08x", h.Sum32())
}

// snoozeForm are words that put off a reminder and are no command.
var snoozeForm = lazily.Compile(`(?i)^\s*snooze\s+((?:r[0-9]{1,9}(?:@\S{1,200})?\s+)?(?:tomorrow|[0-9]{1,4}[hm](?:[0-9]{1,2}m)?))\s*$`)

// asSnooze returns m as the command that it means, if it puts off what came due here; else m
// itself.
func (g *Gateway) asSnooze(ctx context.Context, m channels.Inbound) (channels.Inbound, error) {
	found := snoozeForm.Regexp().FindStringSubmatch(m.Text)
	if found == nil || !g.hasReminders() || m.Forwarded != nil || m.Edits != "" {
		return m, nil
	}
	may, err := g.opts.Reminders.MaySnooze(ctx, askingCall(m))
	if !may || err != nil {
		return m, err
	}
	m.Text = "/snooze " + strings.ToLower(found[1])
	m.Addressed = true
	return m, nil
}

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

// Remind fills m, the occurrence of a reminder called name, or of several, with text as the
// network of m.Key takes it, and with what the conversation remembers of it. The occurrences
// name the jobs.
func (g *Gateway) Remind(m *sessions.Reminding, name, text string, taint []sessions.Origin) {
	job := m.Occurrence.Job
	for _, d := range m.Also {
		job += "\n" + d.Occurrence.Job
	}
	m.Replies = g.split(sessions.Label{Kind: channels.KindJob, Job: job}, m.Key, text, channels.Inbound{})
	m.Append = []sessions.Message{reminderNote(name, text, taint)}
}

// Reminded lets k deliver what the store was given for it.
func (g *Gateway) Reminded(k channels.Key) { g.chats.kick(k) }
