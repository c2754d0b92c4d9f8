package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/internal/lazily"
)

// end is what a server's reason for the end of an answer means.
type end int

const (
	endWhole   end = iota // the answer is as the model wanted it
	endLength             // it was cut at a limit of its length
	endFilter             // a filter cut it or held it back
	endWindow             // the request filled the model's window
	endBroken             // the server or the model failed in the middle of it
	endUnknown            // nobody knows
)

// wholeEnds are reasons for the end of a whole answer, in lower case.
var wholeEnds = []string{
	"", "stop", "stopped", "end", "eos", "eos_token", "done", "finished", "complete", "completed", "success", "normal", "end_turn", "end_of_turn",
	"stop_sequence", "stop_token", "pause_turn", "tool_call", "tool_calls", "tool_use", "function_call", "function_calls", "tool", "load", "unload", "null",
}

// otherEnds tell the remaining reasons apart by their words. The first that matches
// counts, so a filter of malformed calls is a failure.
var otherEnds = []struct {
	words *lazily.Expression
	means end
}{
	{lazily.Compile(`context[_ -]?(?:window|length|size|limit|full)|window[_ -]?(?:full|exceeded)|(?:input|prompt)[_ -]?(?:too[_ -]?long|length|limit|tokens)`), endWindow},
	{lazily.Compile(`malformed|invalid|unexpected|too[_ -]?many[_ -]?tool|error|fail|interrupt|abort|cancel|insufficient|resource|overload|unavailable|time[_ -]?out|timed[_ -]?out|network|disconnect|internal|crash`), endBroken},
	{lazily.Compile(`filter|safety|sensitive|block|prohibit|recitation|spii|policy|moderat|refus|guardrail|censor|violat|unsafe|copyright`), endFilter},
	{lazily.Compile(`length|max|limit|trunc|budget|too[_ -]?long|incomplete|cut|repetition|^(?:finish_reason_)?(?:other|language|unspecified|unknown)$|unsupported[_ -]?language`), endLength},
}

// meaning returns what reason means.
func meaning(reason string) end {
	reason = strings.ToLower(strings.TrimSpace(reason))
	if slices.Contains(wholeEnds, strings.TrimPrefix(reason, "finish_reason_")) {
		return endWhole
	}
	for _, other := range otherEnds {
		if other.words.Matches(reason) {
			return other.means
		}
	}
	return endUnknown
}

// EndAs takes the server's reason for the end of the answer. If there are several, the
// first that says that the answer is not whole counts.
func (d *Draft) EndAs(reason string) {
	if reason != "" && meaning(d.Finish) == endWhole {
		d.Finish = reason
	}
}

// CheckEnd returns what is wrong with an answer that ended as it did. said reports
// whether there is anything of an answer.
func (d *Draft) CheckEnd(said bool) error {
	switch meaning(d.Finish) {
	case endBroken:
		return fmt.Errorf("the server reports that it failed during the answer (%.60s)", d.Finish)
	case endWindow:
		if !said {
			return &agent.ModelError{Kind: agent.ErrorContext, Err: errors.New(errorPrefix + "the server says that the context window is full")}
		}
	case endWhole, endLength, endFilter, endUnknown:
	}
	return nil
}

// finish returns the finish reason for the caller: one of those in [agent.Response],
// or what the server says if nobody knows it.
func (d *Draft) finish() string {
	switch meaning(d.Finish) {
	case endLength, endWindow:
		return "length"
	case endFilter:
		return "content_filter"
	case endWhole:
		if len(d.calls) > 0 {
			return "tool_calls" // some servers say "stop"
		}
		return "stop"
	case endBroken, endUnknown:
	}
	if len(d.calls) > 0 {
		return "tool_calls"
	}
	return d.Finish
}
