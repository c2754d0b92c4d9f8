package config

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"dragoman/agent/window"
	"dragoman/internal/setting"
)

// Secret, Duration and Size are types of values that the settings of channels have,
// too.
type (
	// Secret is text that must not be shown.
	Secret = setting.Secret
	// Program is a program and its arguments, of which it shows what is no secret.
	Program = setting.Program
	// Address is a URL that may have a key in it, and does not show it.
	Address = setting.Address
	// Duration is a time span.
	Duration = setting.Duration
	// Size is a number of bytes.
	Size = setting.Size
)

// NewSecret hides text.
func NewSecret(text string) Secret { return setting.NewSecret(text) }

func parseThreshold(text string) (window.Threshold, error) {
	if text == window.Threshold(0).String() {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return window.Threshold(n), err
}

// ToolList are names of tools. Nil stands for all tools, also those that nobody knows
// yet, and an empty list for none. Written as a table, its entries have a rule each, as in
// "web_fetch: ask", and stand for all tools but the denied ones.
type ToolList []string

// ruleSign stands between the name and the rule of a tool.
const ruleSign = ": "

// The rules of tools.
const (
	ToolAllow = "allow"
	ToolAsk   = "ask"
	ToolDeny  = "deny"
)

// ApproveSelf is the value of Approvals.Approve that lets whoever asked decide.
const ApproveSelf = "self"

// IsZero reports whether the list is unset.
func (l ToolList) IsZero() bool { return l == nil }

// Names are the names of the list; nil for all tools but the denied ones.
func (l ToolList) Names() []string {
	if len(l.Rules()) > 0 {
		return nil
	}
	return l
}

// Rules are what the table says about each tool, by its name; nil without a table.
func (l ToolList) Rules() map[string]string {
	var rules map[string]string
	for _, entry := range l {
		name, rule, is := strings.Cut(entry, ruleSign)
		if !is {
			continue
		}
		if rules == nil {
			rules = map[string]string{}
		}
		rules[name] = rule
	}
	return rules
}

// MarshalYAML writes the list as it was read.
func (l ToolList) MarshalYAML() (any, error) {
	if rules := l.Rules(); rules != nil {
		return rules, nil
	}
	return []string(l), nil
}

// kind has the name of a type of value, what to write, and how to read it.
type kind struct {
	name, want string
	set        func(v reflect.Value, text string) error
}

var text = kind{"text", "text", parsed(func(s string) (string, error) { return s, nil })}

var kinds = map[reflect.Type]kind{
	secretType:                          {"secret", "text", nil},
	reflect.TypeFor[string]():           text,
	reflect.TypeFor[Address]():          text,
	reflect.TypeFor[window.When]():      text,
	reflect.TypeFor[window.Unit]():      text,
	reflect.TypeFor[window.Render]():    text,
	reflect.TypeFor[window.Format]():    text,
	reflect.TypeFor[bool]():             {"true or false", "true or false", parsed(parseBool)},
	reflect.TypeFor[float64]():          {"number", "a number, like 0.7", parsed(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })},
	reflect.TypeFor[Size]():             {"size", "a size, like 4096 or 256KiB", parsed(setting.ParseSize)},
	reflect.TypeFor[window.Threshold](): {"whole number or none", "a whole number, like 10, or none", parsed(parseThreshold)},
	reflect.TypeFor[int](): {"whole number", "a whole number, like 10", parsed(func(s string) (int, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int(n), err
	})},
	reflect.TypeFor[Duration](): {"duration", "a time span, like 30s, 10m or 24h", parsed(func(s string) (Duration, error) {
		n, err := time.ParseDuration(s)
		return Duration(n), err
	})},
}

// parsed sets a value only if its text could be read, so that a half-read value
// does not cause a second, misleading problem.
func parsed[T any](parse func(string) (T, error)) func(reflect.Value, string) error {
	return func(v reflect.Value, text string) error {
		value, err := parse(text)
		if err == nil {
			v.Set(reflect.ValueOf(value).Convert(v.Type()))
		}
		return err
	}
}

// parseBool accepts only true and false. YAML versions disagree about "yes" and "1".
func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, strconv.ErrSyntax
	}
	return s == "true", nil
}
