package providers

import (
	"encoding/json"
	"strings"
)

// Answer is the answer to one request. Calls in one answer are parallel.
type Answer struct {
	// Think is what the model thinks first. A provider that does not reason leaves it
	// out.
	Think string
	Text  string
	Calls []Call
	// Hold, if not nil, must be closed before anything is sent. The answer is dropped
	// if the client or the server goes away first.
	Hold <-chan struct{}
}

// Obey does what the newest user message asks for. Each of its lines that begins with
// "call" is a step with one call, or several parallel ones:
//
//	call time {"zone":"UTC"} & list_dir {"path":"."}
//
// Calls of tools that the request does not offer are left out. After the last step,
// or without any, it answers "heard: " and the message's first line, then " -> " and
// the results of the newest calls.
func Obey(r *Request) Answer {
	text, at := r.Last()
	first, _, _ := strings.Cut(text, "\n")
	out := Answer{Think: "They say " + first, Text: "heard: " + first}
	if at < 0 {
		return out
	}
	steps, done := steps(text, r.Tools), rounds(r.Messages[at+1:])
	if done < len(steps) {
		out.Text, out.Calls = "", steps[done]
		return out
	}
	if results := newest(r.Messages[at+1:]); len(results) > 0 {
		out.Text += " -> " + strings.Join(results, " & ")
	}
	return out
}

// steps reads the calls that a message asks for.
func steps(text string, tools []string) [][]Call {
	var list [][]Call
	for line := range strings.Lines(text) {
		wanted, found := strings.CutPrefix(strings.TrimSpace(line), "call ")
		if !found {
			continue
		}
		var step []Call
		for one := range strings.SplitSeq(wanted, " & ") {
			name, args, _ := strings.Cut(strings.TrimSpace(one), " ")
			if args == "" {
				args = "{}"
			}
			for _, offered := range tools {
				if offered == name && json.Valid([]byte(args)) {
					step = append(step, Call{Name: name, Arguments: args})
				}
			}
		}
		if len(step) > 0 {
			list = append(list, step)
		}
	}
	return list
}

// rounds counts the steps so far: calls with only thoughts and calls between them are
// one step.
func rounds(list []Message) int {
	n, calling := 0, false
	for _, m := range list {
		switch {
		case m.Role == reasoning:
		case len(m.Calls) > 0 && !calling:
			n, calling = n+1, true
		case len(m.Calls) == 0:
			calling = false
		}
	}
	return n
}

// newest returns the results at the end of list.
func newest(list []Message) []string {
	var results []string
	for i := len(list) - 1; i >= 0 && list[i].Role == tool; i-- {
		results = append([]string{list[i].Text}, results...)
	}
	return results
}
