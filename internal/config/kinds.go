package config

import (
	"reflect"
	"strconv"
	"time"
)

var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[Duration]()
	sizeType     = reflect.TypeFor[Size]()
	threshType   = reflect.TypeFor[Threshold]()
	channelsType = reflect.TypeFor[map[string]Channel]()
	promptsType  = reflect.TypeFor[Prompts]()
	headersType  = reflect.TypeFor[Headers]()
	bodyType     = reflect.TypeFor[Body]()
)

// scalarKind is how one kind of value is written and read.
type scalarKind struct {
	want string
	set  func(v reflect.Value, text string) error
}

var kinds = map[string]scalarKind{
	"text":          {"text", parsed(func(s string) (string, error) { return s, nil })},
	"secret":        {"text", nil},
	"true or false": {"true or false", parsed(parseBool)},
	"whole number": {"a whole number, like 10", parsed(func(s string) (int, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int(n), err
	})},
	"number": {"a number, like 0.7", parsed(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })},
	"duration": {"a time span, like 30s, 10m or 24h", parsed(func(s string) (Duration, error) {
		n, err := time.ParseDuration(s)
		return Duration(n), err
	})},
	"whole number or none": {"a whole number, like 10, or none", parsed(parseThreshold)},
	"size":                 {"a size, like 4096 or 256KiB", parsed(parseSize)},
}

// parsed sets a value only if its text could be read, so that no half-read
// value causes a second, misleading problem.
func parsed[T any](parse func(string) (T, error)) func(reflect.Value, string) error {
	return func(v reflect.Value, text string) error {
		value, err := parse(text)
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	}
}

// parseBool knows two words only: that "yes" or "1" count elsewhere is a trap.
func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, strconv.ErrSyntax
	}
	return s == "true", nil
}

// kindOf names the kind of a type, for the decoder and the reference.
func kindOf(t reflect.Type) string {
	switch {
	case t == secretType:
		return "secret"
	case t == durationType:
		return "duration"
	case t == sizeType:
		return "size"
	case t == threshType:
		return "whole number or none"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "whole number"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Map:
		return "names and values"
	}
	return "text"
}
