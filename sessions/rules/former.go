package rules

import (
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// Former gives a delivery that a version before labels stored the label that its text and
// its id tell of. Others are returned as they are: they have a kind.
func Former(o sessions.OutboxRecord) sessions.OutboxRecord {
	if o.Kind != "" {
		return o
	}
	o.Text, o.File, o.Form = channels.WithoutMarks(o.Text)
	switch {
	case formerApology.Matches(o.Text):
		o.Kind = channels.KindApology
	case strings.HasPrefix(o.ID, "job:"):
		o.Label = formerJob(o.ID, o.Label)
	case strings.HasPrefix(o.ID, "turn:"):
		o.Label = formerAnswer(o.ID, o.Label)
	}
	return o
}

// If Former or FormerInbound says anything about a row, its text is like one of FormerTexts,
// its id like one of FormerIDs, or its question like FormerQuestion, by SQL's LIKE.
var (
	FormerTexts = []string{"<!-- answer.md -->\n%", "<!-- more -->\n\r%", "\r%", "Sorry, %(error ______).%"}
	FormerIDs   = []string{"job:%", "turn:%"}
)

// FormerQuestion is for the inbox.
const FormerQuestion = sessions.AgainMark + "%"

// formerApology matches an answer of a turn that failed. Advice may follow.
var formerApology = lazily.Compile(`^Sorry, [^\n]*\(error [0-9a-f]{6}\)\.`)

// FormerInbound reads a message whose text says that it asks once more.
func FormerInbound(m channels.Inbound) channels.Inbound {
	text, again := strings.CutPrefix(m.Text, sessions.AgainMark)
	if again {
		m.Text, m.Again = text, true
	}
	return m
}

// formerJob reads job:SEQ:DUE:PIECE:NAME, the id of a piece of what a job said. SEQ is
// that of the job's first message.
func formerJob(id string, l sessions.Label) sessions.Label {
	part := strings.SplitN(id, ":", 5)
	if len(part) < 5 {
		return l
	}
	piece, err := strconv.Atoi(part[3])
	if err != nil || piece < 0 {
		return l
	}
	l.Kind = channels.KindJob
	l.Job = part[4]
	l.Part = piece + 1
	if k, err := channels.NewKey(string(sessions.SourceHeartbeat), l.Job); err == nil {
		l.Turn = k.String() + "#" + part[1]
	}
	return l
}

// formerAnswer reads turn:HASH.ONCE.PIECES.PIECE, the id of a piece of the answer to an
// operator's question.
func formerAnswer(id string, l sessions.Label) sessions.Label {
	part := strings.Split(id, ".")
	if len(part) != 4 {
		return l
	}
	parts, err := strconv.Atoi(part[2])
	if err != nil {
		return l
	}
	piece, err := strconv.Atoi(part[3])
	if err != nil || piece < 0 || piece >= parts {
		return l
	}
	l.Kind = channels.KindAnswer
	l.Part = piece + 1
	l.Parts = parts
	return l
}
