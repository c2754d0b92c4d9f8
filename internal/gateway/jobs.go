package gateway

import (
	"crypto/rand"
	"encoding/hex"
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
	}
	t.Occurrence = &sessions.Occurrence{Job: j.name, Due: j.due, Outcome: outcome, Why: why, At: g.opts.Now()}
	return outcome
}

// errorID names one failure in an answer and in the log.
func errorID() string {
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand never fails on the systems we run on
	}
	return hex.EncodeToString(b[:])
}
