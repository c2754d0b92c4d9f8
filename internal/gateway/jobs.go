package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// jobSystem is the system prompt that only jobs get.
const jobSystem = "This is a scheduled check, not a conversation: nobody has written to you just now, and you see no history. " +
	"Do what the message asks. If there is nothing that the person should hear about, answer with HEARTBEAT_OK and nothing else."

// job is the occurrence that a turn runs. Its turn reads and writes no
// conversation: the commit has replies and the outcome, and no messages.
type job struct {
	name   string
	due    time.Time
	target channels.Key
	gone   bool // no longer configured
	spent  bool // skipped because a budget is used up: its target is told once
	// reminder is its number, like r7, if somebody made it by talking; else "". It runs in
	// the chat of its maker, with their rights.
	reminder string
}

// jobOf is the occurrence whose message w is.
func (g *Gateway) jobOf(w sessions.InboxRecord) *job {
	j := &job{name: cmp.Or(w.Job, w.Inbound.Key.Chat()), due: w.JobDue, gone: true}
	if w.Inbound.Key.Channel() != HeartbeatChannel {
		j.target = w.Inbound.Key
		j.gone = false
		j.reminder = reminderOf(j.name)
		return j
	}
	if g.opts.Heartbeats != nil {
		if target, ok := g.opts.Heartbeats.Target(j.name); ok {
			j.target, j.gone = target, false
		}
	}
	return j
}

// fillCommit adds the job's text, or what became of it, to the commit of its turn. A
// failure is told to the target, unless the run before has failed too, and so is its end.
func (j *job) fillCommit(ctx context.Context, g *Gateway, t *sessions.Turn, res agent.Result, outcome, why string) string {
	text := ""
	if lost := causeOfSilence(res); outcome == "ran" && strings.TrimSpace(res.Text) == "" && (lost == whyFiltered || lost == whyCut) {
		outcome = "failed" // nobody knows what it would have said
		why = sentences[lost].cause()
	}
	switch {
	case outcome == "ran":
		text = strings.TrimSpace(res.Text)
		if text != "" {
			text = g.opts.Heartbeats.News(res.Text)
		}
		if text == "" {
			outcome = "silent"
		}
		if !j.gone && g.wasFailing(ctx, j.name) {
			text = strings.TrimSpace(fmt.Sprintf(sayJobWorks, j.shown()) + "\n\n" + text)
		}
	case outcome == "failed" && !j.gone && !g.wasFailing(ctx, j.name):
		text = fmt.Sprintf(sayJobFailed, j.shown(), why)
	case outcome == "skipped" && j.spent && !g.wasSkipped(ctx, j.name, why):
		text = why
	}
	if text != "" {
		t.Replies = g.split(sessions.Label{Kind: channels.KindJob, Turn: t.ID, Job: j.name}, j.target, text, channels.Inbound{})
		files := sentFiles(t.ID, res.Messages)
		t.Replies = withFiles(t.Replies, files)
		if j.reminder == "" {
			t.Notes = g.taintNote(j.target, t.ID, res.Taint)
		} else {
			t.Messages = []sessions.Message{reminderNote(j.reminder, text, res.Taint)}
			t.Messages[0].Turn = t.ID
			t.Messages[0].Attachments = attachmentsOf(files)
		}
	}
	if j.due.IsZero() {
		return outcome // the store has lost the occurrence
	}
	t.Occurrence = &sessions.Occurrence{Job: j.name, Due: j.due, Outcome: outcome, Why: why, At: g.opts.Now()}
	return outcome
}

// shown is what people call the job.
func (j *job) shown() string {
	if j.reminder != "" {
		return "reminder " + j.reminder
	}
	return "job " + j.name
}

// label is the job in metrics, which do not count people.
func (j *job) label() string {
	if j.reminder != "" {
		return "reminder"
	}
	return j.name
}

// sayJobFailed tells a job's target why it hears nothing.
const sayJobFailed = "The %s could not run: %s. I say so once, until it works again."

// sayJobWorks tells a job's target that what sayJobFailed told is over.
const sayJobWorks = "The %s works again."

// wasSkipped reports whether the target of job knows already that it is skipped, and why. If
// the store does not say, it is told once more.
func (g *Gateway) wasSkipped(ctx context.Context, job, why string) bool {
	skipped, err := g.opts.Heartbeats.Skipped(ctx, job, why)
	if err != nil {
		g.opts.Logger.Warn("cannot read whether a job was skipped before", "job", job, "err", err)
		return false
	}
	return skipped
}

// wasFailing reports whether the target of job knows already that it fails. If the store
// does not say, it is told once more.
func (g *Gateway) wasFailing(ctx context.Context, job string) bool {
	failing, err := g.opts.Heartbeats.Failing(ctx, job)
	if err != nil {
		g.opts.Logger.Warn("cannot read whether a job failed before", "job", job, "err", err)
		return false
	}
	return failing
}

// jobNotes returns what jobs wrote in the conversation of h before the message
// numbered seq, as notes, so that the person can ask about it. Jobs write
// nothing into the conversation itself, so their texts are found in the feed.
func (g *Gateway) jobNotes(ctx context.Context, k channels.Key, h sessions.History, seq int64) ([]sessions.Message, error) {
	if g.opts.Heartbeats == nil || !g.opts.Heartbeats.Targets(k) {
		return nil, nil
	}
	feed, err := g.store.Feed(ctx, k, seq, jobsLookBack)
	if err != nil {
		return nil, err
	}
	since := g.opts.Now().Add(-jobsRemembered)
	if len(h.Messages) > 0 {
		since = h.Messages[0].At // the summary covers anything older
	}
	var notes []sessions.Message
	var turns []string // that wrote them
	turn := ""         // of the last note
	for _, it := range feed {
		command, _ := parseCommand(it.Text)
		if it.From == "person" && command == "new" {
			notes, turns = nil, nil
			turn = ""
		}
		if it.Kind != channels.KindJob || it.At.Before(since) {
			continue
		}
		text := g.plain(k, it.Text, it.Form)
		continues := turn != "" && turn == it.Turn
		switch {
		case continues && it.File != "" && it.Kept == "": // all of it
			notes[len(notes)-1].Content = jobNote(it.Job, text)
		case continues:
			notes[len(notes)-1].Content += "\n" + text
		case it.State == sessions.DeliverySent && !hasNote(h.Messages, it.At):
			turn = it.Turn
			turns = append(turns, turn)
			notes = append(notes, sessions.Message{Role: sessions.RoleUser, Content: jobNote(it.Job, text), At: it.At, Synthetic: true})
		}
	}
	if len(notes) == 0 {
		return nil, nil
	}
	taints, err := g.jobTaints(ctx, k)
	if err != nil {
		return nil, err
	}
	for i := range notes {
		notes[i].Origins = taints[jobTaintName(turns[i])]
	}
	return notes, nil
}

func jobNote(job, text string) string {
	return fmt.Sprintf("[The scheduled job %q wrote this here:]\n%s", job, text)
}

// hasNote reports whether a conversation has a note of what a job wrote at that time.
func hasNote(messages []sessions.Message, at time.Time) bool {
	return slices.ContainsFunc(messages, func(m sessions.Message) bool {
		return m.Role == sessions.RoleUser && m.Synthetic && m.At.Equal(at)
	})
}

const (
	// jobsLookBack is how many items of the feed are searched.
	jobsLookBack = 30
	// jobsRemembered is the greatest age of a job's text that is shown in a new
	// conversation.
	jobsRemembered = 24 * time.Hour
)
