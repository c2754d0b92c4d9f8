package forms

import (
	"fmt"
	"strings"

	"dragoman/agent"
)

// question introduces the form and asks for the field that waits.
func (r *record) question() string {
	said := r.Form.Message
	if r.Form.URL != "" {
		said += "\n" + r.Form.URL
	}
	for _, f := range r.Form.Fields[min(r.At, len(r.Form.Fields)):] {
		if f.Description != "" && len(r.Form.Fields) == 1 {
			said += "\n" + f.Description
		}
	}
	text := fmt.Sprintf("The server **%s** asks you something. These are its words:\n\n%s\n\n%s", r.Form.From, fenced(strings.TrimSpace(said)), r.ask())
	if !r.Private {
		text += " I only listen to " + nameOr(r.Name, "whoever asked me") + ": reply to this message."
	}
	return text
}

func nameOr(name, otherwise string) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune("*_`[]()<>\n", c) {
			return -1
		}
		return c
	}, name)
	if name == "" {
		return otherwise
	}
	return name
}

// ask asks for the field that waits.
func (r *record) ask() string {
	const end = " “cancel” tells it nothing. Never write a password or a key."
	if r.Form.URL != "" {
		return "It wants you to open that address, which I have not looked at. Answer “yes” when you have, or “no”."
	}
	if len(r.Form.Fields) == 0 {
		return "Answer “yes” or “no”."
	}
	f := r.Form.Fields[r.At]
	var b strings.Builder
	if n := len(r.Form.Fields); n > 1 {
		fmt.Fprintf(&b, "Value %d of %d:\n\n", r.At+1, n)
		said := f.Title
		if said == "" {
			said = f.Name
		}
		if f.Description != "" {
			said += ": " + f.Description
		}
		b.WriteString(fenced(said) + "\n\n")
	}
	if len(f.Choices) > 0 {
		b.WriteString(choices(f) + "\n\n")
	}
	b.WriteString("Write " + kindOf(f) + " as your next message.")
	switch {
	case len(f.Default) > 0:
		b.WriteString(" “skip” takes `" + strings.ReplaceAll(string(f.Default), "`", "'") + "`.")
	case !f.Required:
		b.WriteString(" “skip” leaves it out.")
	}
	return b.String() + end
}

// choices lists those of f with their numbers.
func choices(f agent.Field) string {
	var lines []string
	for i, c := range f.Choices {
		if i < len(f.Shown) && f.Shown[i] != "" {
			c = f.Shown[i]
		}
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, c))
	}
	return fenced(strings.Join(lines, "\n"))
}

// kindOf says what a value of f is.
func kindOf(f agent.Field) string {
	switch {
	case f.Many:
		return "one or more of these, with commas"
	case len(f.Choices) > 0:
		return "one of these"
	case f.Type == "boolean":
		return "“yes” or “no”"
	case f.Type == "integer":
		return "a whole number"
	case f.Type == "number":
		return "a number"
	}
	switch f.Format {
	case "email":
		return "an address of e-mail"
	case "uri":
		return "an address, such as https://example.org,"
	case "date":
		return "a date, such as 2026-11-30,"
	case "date-time":
		return "a time with its date, such as 2026-11-30T14:00:00Z,"
	}
	return "it"
}

// fenced shows foreign words in which no Markdown counts.
func fenced(text string) string {
	longest, now := 0, 0
	for _, c := range text {
		now++
		if c != '`' {
			now = 0
		}
		longest = max(longest, now)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + "\n" + text + "\n" + fence
}
