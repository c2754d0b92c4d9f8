package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
}

// jobOf reads the occurrence from an inbox entry. Package heartbeat gives it
// the id "hb:<job>:<unix seconds>".
func (g *Gateway) jobOf(in channels.Inbound) *job {
	j := &job{name: in.Key.Chat(), gone: true}
	if i := strings.LastIndexByte(in.ID, ':'); i >= 0 {
		if unix, err := strconv.ParseInt(in.ID[i+1:], 10, 64); err == nil {
			j.due = time.Unix(unix, 0).UTC()
		}
	}
	if g.opts.Heartbeats != nil {
		if target, ok := g.opts.Heartbeats.Target(j.name); ok {
			j.target, j.gone = target, false
		}
	}
	return j
}

// fillCommit adds the job's text, or what became of it, to the commit of its turn. A
// failure is told to the target, unless the run before has failed too.
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
	case outcome == "failed" && !j.gone && !g.wasFailing(ctx, j.name):
		text = fmt.Sprintf(sayJobFailed, j.name, why)
	}
	if text != "" {
		t.Replies = g.split(sessions.Label{Kind: channels.KindJob, Turn: t.ID, Job: j.name}, j.target, text, channels.Inbound{})
		for i := range t.Replies {
			t.Replies[i].ID = fmt.Sprintf("%s%d:%d:%d:%s", jobDelivery, t.Answers[0].Seq, j.due.Unix(), i, j.name)
		}
	}
	t.Occurrence = &sessions.Occurrence{Job: j.name, Due: j.due, Outcome: outcome, Why: why, At: g.opts.Now()}
	return outcome
}

// sayJobFailed tells a job's target why it hears nothing.
const sayJobFailed = "The job %s could not run: %s. I say so once, until it works again."

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

// jobDelivery begins the ids of a job's replies; numbers and the job's name follow.
const jobDelivery = "job:"

// jobNotes returns what jobs wrote in the conversation of h before the message
// numbered seq, as notes, so that the person can ask about it. Jobs write
// nothing into the conversation itself, so their texts are found in the feed.
func (g *Gateway) jobNotes(ctx context.Context, k channels.Key, h sessions.History, seq int64) (notes []sessions.Message, err error) {
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
	for _, it := range feed {
		command, _ := parseCommand(it.Text)
		number := strings.SplitN(it.ID, ":", 5) // job, seq, due, piece, name
		switch {
		case it.From == "person" && command == "new":
			notes = nil
		case it.From == "person" || !strings.HasPrefix(it.ID, jobDelivery) || len(number) < 5 || it.At.Before(since):
		case len(notes) > 0 && notes[len(notes)-1].At.Equal(it.At):
			notes[len(notes)-1].Content += "\n" + readable(it.Text) // the next piece
		case it.State == sessions.DeliverySent && !slices.ContainsFunc(h.Messages, func(m sessions.Message) bool {
			return m.Role == sessions.RoleUser && m.Synthetic && m.Sender == "" && m.At.Equal(it.At)
		}):
			notes = append(notes, sessions.Message{
				Role: sessions.RoleUser, Content: fmt.Sprintf("[The scheduled job %q wrote this here:]\n%s", number[4], readable(it.Text)), At: it.At, Synthetic: true,
			})
		}
	}
	return notes, nil
}

const (
	// jobsLookBack is how many items of the feed are searched.
	jobsLookBack = 30
	// jobsRemembered is the greatest age of a job's text that is shown in a new
	// conversation.
	jobsRemembered = 24 * time.Hour
)
