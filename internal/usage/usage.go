// Package usage counts what turns use: turns, tokens, cost and calls of tools, for each
// day, by person, by chat, by job and by model.
//
// The promise. What a turn used is added in the turn's own commit, so it is counted exactly
// once, over crashes and nodes. The sums of a person and of a chat are erased with them;
// those of a model stay. They hold no text.
//
// Days are those of one time zone, agent.time_zone. Days older than three months are kept
// as one sum a month, on its first day: see engine.Store.Sweep.
//
// What a turn used that failed, or that a /stop or /new ended, is counted in the commit that
// ends it, as far as its journal knows: calls that had been answered. A summary is counted in
// its own commit, for whoever caused it: the author of the newest message, or of /compact.
//
// Not counted: what was used before the counting began, a call that failed or was ended while
// the model answered, an empty answer that was asked for again (its cost is), and a turn whose
// messages were withdrawn or dropped. The metrics have these.
//
// Failures: a person, chat or model whose name is no owner of counts (longer than 200
// bytes) is left out.
//
// Goroutines: none.
package usage

import (
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/sessions"
)

// The kinds of the sums. The unit of cost is a billionth.
const (
	turns  = "used-turns"
	input  = "used-input"
	output = "used-output"
	cached = "used-cached"
	cost   = "used-cost"
	tools  = "used-tools"
)

var kinds = []string{turns, input, output, cached, cost, tools}

// billion is how many units of the kind cost are 1.
const billion = 1e9

// modelPrefix begins the owner that a model is. Identities of people have a colon after a
// channel's name, and that has no slash.
const modelPrefix = "model/"

// dayForm is the form of sessions.Count.Day.
const dayForm = "20060102"

// Used is what was used.
type Used struct {
	sessions.Usage
	Turns int
	// Tools is how many calls of tools the model made.
	Tools int
}

// Add adds v to u.
func (u *Used) Add(v Used) {
	u.Usage.Add(v.Usage)
	u.Turns += v.Turns
	u.Tools += v.Tools
}

// Turn is a turn that has ended.
type Turn struct {
	// Person is who asked, an identity like "telegram:42"; "" for a job.
	Person string
	// Job is the job whose due time it was; "": people wrote.
	Job string
	// Chat got the answer; zero: no conversation.
	Chat channels.Key
	At   time.Time // in the time zone of the days
	// Aside says that it is no turn: a summary.
	Aside bool
	// Messages are what the model wrote, among others.
	Messages []sessions.Message
}

// Counts are what the commit of t adds to the store's sums; none if no model answered.
func (t Turn) Counts() []sessions.Count {
	var sum Used
	var models [4]string // most turns ask one
	var of [4]Used
	n, last := 0, -1
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Model == "" {
			continue
		}
		one := Used{Tools: len(m.ToolCalls)}
		if m.Usage != nil {
			one.Usage = *m.Usage
		}
		sum.Add(one)
		for last = 0; last < n && models[last] != m.Model; last++ {
		}
		if last == n && n < len(models) {
			models[n] = m.Model
			n++
		}
		last = min(last, len(models)-1)
		of[last].Add(one)
	}
	if last < 0 {
		return nil
	}
	if !t.Aside {
		sum.Turns = 1
		of[last].Turns = 1
	}
	day := t.At.Format(dayForm)
	all := make([]sessions.Count, 0, 12) // most turns have a person, a chat, a model, and four kinds
	all = appendCounts(all, t.Person, day, sum)
	if !t.Chat.IsZero() {
		all = appendCounts(all, sessions.ChatScope(t.Chat), day, sum)
	}
	if t.Job != "" {
		all = appendCounts(all, sessions.JobScope(t.Job), day, sum)
	}
	for i := range n {
		all = appendCounts(all, modelPrefix+models[i], day, of[i])
	}
	return all
}

// appendCounts appends the parts of u that are not zero.
func appendCounts(all []sessions.Count, owner, day string, u Used) []sessions.Count {
	if owner == "" || len(owner) > sessions.MaxNoteName || !utf8.ValidString(owner) || strings.ContainsRune(owner, 0) {
		return all
	}
	for i, n := range [...]int64{int64(u.Turns), int64(u.Input), int64(u.Output), int64(u.Cached), int64(u.Cost*billion + 0.5), int64(u.Tools)} {
		if n > 0 {
			all = append(all, sessions.Count{Kind: kinds[i], Owner: owner, Day: day, N: min(n, sessions.MaxCount)})
		}
	}
	return all
}
