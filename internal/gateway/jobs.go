package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// jobSystem is the part of the system prompt that only jobs get.
const jobSystem = "This is a scheduled check, not a conversation: nobody has written to you just now, and you see no history. " +
	"Do what the message asks. If there is nothing that the person should hear about, answer with HEARTBEAT_OK and nothing else."

// job is the occurrence that a turn runs. Its turn reads and writes no
// session: the commit carries replies and the outcome, no messages.
type job struct {
	name   string
	due    time.Time
	target channels.Key
	gone   bool
}

// jobOf reads which occurrence an inbox entry stands for; package heartbeat
// gives it the id "hb:<job>:<unix seconds>".
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

// settle fills the commit of a job's turn.
func (j *job) settle(g *Gateway, t *sessions.Turn, res agent.Result, outcome, why string) string {
	switch {
	case outcome == "ran" && (strings.TrimSpace(res.Text) == "" || g.opts.Heartbeats.Silent(res.Text)):
		outcome = "silent"
	case outcome == "ran":
		t.Replies = g.split(j.target, res.Text, channels.Inbound{})
		for i := range t.Replies {
			t.Replies[i].ID = fmt.Sprintf("%s%d:%d:%d:%s", jobDelivery, t.Answers[0].Seq, j.due.Unix(), i, j.name)
		}
	}
	t.Occurrence = &sessions.Occurrence{Job: j.name, Due: j.due, Outcome: outcome, Why: why, At: g.opts.Now()}
	return outcome
}

// jobDelivery begins the ids of what jobs say; numbers and the job's name follow.
const jobDelivery = "job:"

// jobsSaid notes what jobs have said in the conversation of h before the message
// numbered seq, so that the person can ask about it. Jobs themselves write
// nothing into a conversation: what they say is found among what was delivered.
func (g *Gateway) jobsSaid(ctx context.Context, k channels.Key, h sessions.History, seq int64) (notes []sessions.Message, err error) {
	if g.opts.Heartbeats == nil || !g.opts.Heartbeats.Targets(k) {
		return nil, nil
	}
	feed, err := g.store.Feed(ctx, k, seq, jobsLookBack)
	if err != nil {
		return nil, err
	}
	since := g.opts.Now().Add(-jobsRemembered)
	if len(h.Messages) > 0 {
		since = h.Messages[0].At // what is older stands in the summary
	}
	for _, it := range feed {
		number := strings.SplitN(it.ID, ":", 5) // job, seq, due, piece, name
		switch {
		case it.From == "person" && strings.TrimSpace(it.Text) == "/new":
			notes = nil
		case it.From == "person" || !strings.HasPrefix(it.ID, jobDelivery) || len(number) < 5 || it.At.Before(since):
		case len(notes) > 0 && notes[len(notes)-1].At.Equal(it.At):
			notes[len(notes)-1].Content += "\n" + readable(it.Text) // the next piece
		case it.State == sessions.DeliverySent && !slices.ContainsFunc(h.Messages, func(m sessions.Message) bool { return noteOfJob(&m) && m.At.Equal(it.At) }):
			notes = append(notes, sessions.Message{
				Role: sessions.RoleUser, Content: fmt.Sprintf("[The scheduled job %q wrote this here:]\n%s", number[4], readable(it.Text)), At: it.At, Synthetic: true,
			})
		}
	}
	return notes, nil
}

// noteOfJob reports whether m may be a note of jobsSaid.
func noteOfJob(m *sessions.Message) bool {
	return m.Role == sessions.RoleUser && m.Synthetic && m.Sender == ""
}

const (
	// jobsLookBack is how many things that were said there are looked through.
	jobsLookBack = 30
	// jobsRemembered is how old something may be that is told to a conversation
	// which has just begun.
	jobsRemembered = 24 * time.Hour
)

// errorID names one failure in an answer and in the log.
func errorID() string {
	return fmt.Sprintf("%06x", rand.N(1<<24))
}
