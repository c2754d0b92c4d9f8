package forms

import (
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/agent"
)

// maxWords bounds what is passed on of an answer, in bytes.
const maxWords = 16 << 10

// valueOf is the value of a field that words are; nil: it is left out. Or it says what is
// wrong with them.
func valueOf(f agent.Field, words string) (value any, complaint string) {
	words = strings.TrimSpace(words)
	if isOneOf(skipWords, words) && !slices.Contains(f.Choices, words) {
		switch {
		case len(f.Default) > 0:
			if json.Unmarshal(f.Default, &value) == nil {
				return value, ""
			}
		case !f.Required:
			return nil, ""
		}
		return nil, "This one is needed."
	}
	switch {
	case words == "":
		return nil, "That was empty."
	case len(words) > maxWords:
		return nil, "That is too long."
	case f.Many:
		return listOf(f, words)
	case len(f.Choices) > 0:
		return choiceOf(f, words)
	case f.Type == "boolean":
		return truthOf(words)
	case f.Type == "number", f.Type == "integer":
		return numberOf(f, words)
	}
	return textOf(f, words)
}

func truthOf(words string) (any, string) {
	switch {
	case isOneOf(yesWords, words):
		return true, ""
	case isOneOf(noWords, words):
		return false, ""
	}
	return nil, "That is neither yes nor no."
}

// choiceOf finds the choice that words name: by its value, its name for people, or its number.
func choiceOf(f agent.Field, words string) (any, string) {
	for _, names := range [][]string{f.Choices, f.Shown} {
		for i, name := range names {
			if i < len(f.Choices) && strings.EqualFold(name, words) {
				return f.Choices[i], ""
			}
		}
	}
	n, err := strconv.Atoi(words)
	if err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1], ""
	}
	return nil, fmt.Sprintf("That is none of the choices. Write one, or its number from 1 to %d.", len(f.Choices))
}

// listOf reads several choices with commas between them.
func listOf(f agent.Field, words string) (any, string) {
	list := []any{} // JSON of nothing chosen is []
	for part := range strings.SplitSeq(words, ",") {
		one, complaint := choiceOf(f, strings.TrimSpace(part))
		if complaint != "" {
			return nil, complaint + " Put a comma between several."
		}
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list, outside(f, float64(len(list)), "choices")
}

func numberOf(f agent.Field, words string) (any, string) {
	n, err := strconv.ParseFloat(words, 64)
	isNumber := err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	switch {
	case f.Type == "integer" && (!isNumber || n != math.Trunc(n) || math.Abs(n) > 1<<53):
		return nil, "That is no whole number, such as 12."
	case !isNumber:
		return nil, "That is no number, such as 12 or 3.5."
	}
	return n, outside(f, n, "")
}

// outside says how n is outside of what f allows; "" if it is not. of is what is counted.
func outside(f agent.Field, n float64, of string) string {
	show := func(n float64) string { return strings.TrimSpace(strconv.FormatFloat(n, 'f', -1, 64) + " " + of) }
	switch {
	case f.Min != nil && n < *f.Min:
		return "That is too little: at least " + show(*f.Min) + "."
	case f.Max != nil && n > *f.Max:
		return "That is too much: at most " + show(*f.Max) + "."
	}
	return ""
}

func textOf(f agent.Field, words string) (any, string) {
	switch f.Format {
	case "email":
		a, err := mail.ParseAddress(words)
		if err != nil || a.Address != words {
			return nil, "That is no address of e-mail, such as ann@example.org."
		}
	case "uri":
		u, err := url.Parse(words)
		if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
			return nil, "That is no address, such as https://example.org."
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, words); err != nil {
			return nil, "That is no date, such as 2026-11-30."
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, words); err != nil {
			return nil, "That is no time with its date, such as 2026-11-30T14:00:00Z."
		}
	}
	if f.Pattern != "" {
		// What Go cannot read, the server checks.
		if p, err := regexp.Compile(f.Pattern); err == nil && !p.MatchString(words) {
			return nil, "That does not have the form that is asked for."
		}
	}
	return words, outside(f, float64(utf8.RuneCountInString(words)), "letters")
}
