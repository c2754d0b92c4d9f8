package engine

import (
	"time"

	"dragoman/sessions"
)

const day = 24 * time.Hour

// life says how long the notes of a kind are kept, and how many of them an owner has.
type life struct {
	// due is how long a note is kept after its Due, and undated how long one without a Due
	// is kept after it was last changed; 0: until its subject removes it.
	due, undated time.Duration
	// most is how many notes an owner may have; 0: sessions.MaxNotes.
	most int
	// secret says which notes let somebody in or allow something. A backup may be old or
	// stolen, so a restore leaves them out unless it is asked to keep them.
	secret secrecy
}

// secrecy says which notes of a kind a restore leaves out.
type secrecy int

const (
	public  secrecy = iota // none
	secret                 // all
	pending                // those that have a Due
)

// lives has the life of each declared kind. A new subject adds a line here, with its
// reason.
var lives = map[string]life{
	// An expired token stays listed for a month, so that "why did it stop working" has an
	// answer. One without an end lives until it is revoked. Nobody types fifty tokens.
	"token": {due: 30 * day, most: 50, secret: secret},
	// The one-time codes and sessions of the page end at their Due and explain nothing.
	"code":  {due: time.Hour, undated: day, most: 20, secret: secret},
	"login": {due: day, undated: 30 * day, most: 100, secret: secret},
	// The login at a server of tools lasts until its subject drops it. An old copy has tokens that
	// were refreshed since, and whoever sends such a one may end the login that is in use.
	"mcp-login": {most: 1, secret: secret},
	// What connects the identities of one person is true until somebody undoes it. A record
	// from elsewhere could make anybody the operator.
	"link": {due: 30 * day, most: 100, secret: secret},
	// A code and the questions after it are over within minutes. A day is for telling whoever
	// could not be told.
	"connect": {due: day, undated: day, most: 50, secret: secret},
	// A reminder that was missed for three months reminds nobody. Its subject removes the
	// others as they fire.
	"reminder": {due: 90 * day, most: 200},
	// A person's zone is true until they say another.
	"zone": {most: 1},
	// A job that somebody paused stays so until somebody resumes it.
	"job-paused": {most: 1},
	// Who wrote in which conversation: see owners.go. It ends with either of them.
	talkKind: {},
	// What a program's repeat of a request needs ends at its Due, at most a day later.
	"repeat": {},
	// A response that a program may go on from ends at its Due, a month later. Nobody goes
	// back further than two hundred.
	"response": {most: 200},
	// What a person has read and pinned, a note a conversation. The subject removes the
	// oldest for a new one.
	"mark": {},
	// What people think of answers is looked at for some releases of models. Its subject
	// removes the oldest for a new one.
	sessions.FeedbackKind: {undated: 366 * day},
	// An event on its way to a server has a Due as long as it is tried. One that was given up
	// is listed for a month, and so is one whose hook is gone.
	"webhook": {due: 30 * day, undated: 30 * day},
	// A hook that its server switched off stays off until somebody switches it on.
	"webhook-off": {},
	// What a channel did is shown for a day. The note of a node that is gone is of no use.
	"channel-day": {undated: 2 * day},
	// Whose words a job's text has is asked when a conversation shows that text for the first
	// time. After three months it hardly does.
	"job-taint": {due: 90 * day},
	// A decision is looked up for as long as people argue about it. One that is pending has
	// a Due, and the moment that it was asked for is over when a backup is restored.
	"approval": {due: 90 * day, undated: 90 * day, secret: pending},
	// Somebody who wants to be erased has ten minutes to confirm it. A backup is older than
	// what they wrote since, so they ask again.
	"leaving": {due: day, most: 1, secret: pending},
	// That little is left of a budget is said once a day. Its Due is the end of that day.
	"budget-told": {due: day},
	// The calls of the model that run are noted for whoever goes on with their turns after a
	// crash. After a restore there are no such turns. They name people, who may be erased.
	"calls": {undated: 2 * day, secret: secret},
	// A command in the background runs until its Due. When a backup is restored it does not run,
	// and its chat is told so. The number of a chat's last one has no Due.
	"command": {due: 7 * day, undated: 366 * day},
	// What is always allowed in a chat is, until somebody takes it back. An old backup may
	// have what was taken back since.
	"always": {most: 100, secret: secret},
}

// undeclared is the life of any other kind. It is long: whoever wrote the notes may be a
// newer version.
var undeclared = life{due: 90 * day}

func lifeOf(kind string) life {
	l, found := lives[kind]
	if !found {
		l = undeclared
	}
	if l.most == 0 {
		l.most = sessions.MaxNotes
	}
	return l
}

// over reports whether the life of n is over.
func (l life) over(n *sessions.Note, now time.Time) bool {
	switch {
	case !n.Due.IsZero():
		return now.After(n.Due.Add(l.due))
	case l.undated > 0:
		return now.After(n.At.Add(l.undated))
	}
	return false
}

// IsSecret reports whether r is a note that lets somebody in or allows something: a token,
// a code, a pending approval. Who takes records from elsewhere leaves these out, unless
// asked to keep them.
func IsSecret(r sessions.Record) bool {
	if r.Note == nil {
		return false
	}
	switch lifeOf(r.Note.Kind).secret {
	case secret:
		return true
	case pending:
		return !r.Note.Due.IsZero()
	}
	return false
}

// WithoutSecrets returns the records of next that are not secret.
func WithoutSecrets(next func() (sessions.Record, error)) func() (sessions.Record, error) {
	return func() (sessions.Record, error) {
		for {
			r, err := next()
			if err != nil || !IsSecret(r) {
				return r, err
			}
		}
	}
}

const (
	// countDays is how long sums are kept by day: a quarter can be compared with the days
	// of the last one. Older ones are moved to the first day of their month.
	countDays = 92 * day
	// countMonths is how long these are kept: bills are questioned for some years.
	countMonths = 5 * 366 * day
)
