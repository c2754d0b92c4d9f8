package crash_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/agent/agenttest"
)

// mood is how the model's server misbehaves over a message.
type mood struct {
	name   string
	every  int // message, of 24
	always bool
	do     func(*agenttest.Exchange, []int)
}

// aboutLength is the mood in which requests are too long.
const aboutLength = "a 400 about the length"

// moods are those of all campaigns. What is not for always passes with the next request,
// and the message is answered; otherwise the turn ends with a sentence.
var moods = []mood{
	{"429", 3, false, func(x *agenttest.Exchange, _ []int) {
		x.Status(http.StatusTooManyRequests, map[string]string{"Retry-After": "1"}, `{"error":{"message":"Rate limit reached for requests"}}`)
	}},
	{"503", 7, false, func(x *agenttest.Exchange, _ []int) {
		x.Status(http.StatusServiceUnavailable, nil, `{"error":{"message":"overloaded"}}`)
	}},
	{aboutLength, 11, true, func(x *agenttest.Exchange, _ []int) {
		x.Status(http.StatusBadRequest, nil, `{"error":{"message":"This model's maximum context length is exceeded by your messages.","code":"context_length_exceeded"}}`)
	}},
	{"empty answers", 13, true, func(x *agenttest.Exchange, _ []int) { x.End("stop") }},
	{"an empty answer", 17, false, func(x *agenttest.Exchange, _ []int) { x.End("stop") }},
	{"a stream that is cut", 19, false, func(x *agenttest.Exchange, asked []int) {
		x.Text(fmt.Sprintf("Seen: #%d ", asked[0]))
		x.Wait(50 * time.Millisecond)
		x.Cut()
	}},
}

// moodOver is the mood over what is asked; nil: it just answers. It follows from the
// first mark, so that a turn that is run again meets the same behaviour.
func moodOver(asked []int) *mood {
	i := slices.IndexFunc(moods, func(m mood) bool { return asked[0]%24 == m.every })
	if i < 0 {
		return nil
	}
	return &moods[i]
}

// misbehaves answers in place of the model, if its server is in a mood or the answer has
// to be long.
func (u *unrest) misbehaves(x *agenttest.Exchange, asked []int) bool {
	if !u.moody || len(asked) == 0 {
		return false
	}
	m := moodOver(asked)
	if m == nil {
		long := u.lengthy && strings.Contains(strings.Join(x.Request.Input(), " "), atLength)
		if long {
			x.Text(lengthy(asked))
			x.End("stop")
		}
		return long
	}
	u.mu.Lock()
	if u.met == nil {
		u.met, u.moodOf = map[string]int{}, map[int]bool{}
	}
	again := u.moodOf[asked[0]]
	u.moodOf[asked[0]] = true
	if m.always || !again {
		u.met[m.name]++
	}
	u.mu.Unlock()
	if again && !m.always {
		return false
	}
	m.do(x, asked)
	return true
}

// pieceMark begins each paragraph of a long answer.
const pieceMark = "§"

// lengthy is an answer of so many messages that Telegram gets a file. Each paragraph is
// about a message.
func lengthy(asked []int) string {
	var text strings.Builder
	text.WriteString(answerTo(asked))
	for i := range 26 {
		fmt.Fprintf(&text, "\n\n%s%d.%d%s", pieceMark, asked[0], i, strings.Repeat(" and so on", 370))
	}
	return text.String()
}

// refusals are how often the model's server was in each mood, in one line.
func (u *unrest) refusals() string {
	var all []string
	for _, m := range moods {
		all = append(all, fmt.Sprintf("%s %d", m.name, u.met[m.name]))
	}
	return strings.Join(all, ", ")
}
