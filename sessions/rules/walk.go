package rules

import (
	"bytes"
	"encoding/json"
)

// The functions of this file walk through JSON that was read before and is
// valid. They do not decode, because they look at every document that is read.

// Members calls f with the fields of a JSON object, and not at all if it is
// something else.
func Members(object []byte, f func(name, value []byte)) {
	i := skip(object, 0)
	if i == len(object) || object[i] != '{' {
		return
	}
	for i = skip(object, i+1); object[i] != '}'; i = skip(object, i) {
		end := stringEnd(object, i)
		name := object[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var plain string
			if json.Unmarshal(object[i:end], &plain) == nil {
				name = []byte(plain)
			}
		}
		i = skip(object, end)
		end = valueEnd(object, i)
		f(name, object[i:end])
		i = end
	}
}

// Elements calls f with those of a JSON list, and not at all if it is
// something else.
func Elements(list []byte, f func(value []byte)) {
	i := skip(list, 0)
	if i == len(list) || list[i] != '[' {
		return
	}
	for i = skip(list, i+1); list[i] != ']'; i = skip(list, i) {
		end := valueEnd(list, i)
		f(list[i:end])
		i = end
	}
}

// skip is where the next value, name or bracket begins.
func skip(data []byte, i int) int {
	for i < len(data) && (data[i] <= ' ' || data[i] == ',' || data[i] == ':') {
		i++
	}
	return i
}

// valueEnd is where the value ends that begins at i.
func valueEnd(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default: // a number, a word, or what stands between
			for i++; depth == 0 && i < len(data) && bytes.IndexByte([]byte(",]} \t\r\n"), data[i]) < 0; {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// stringEnd is behind the string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexAny(data[i:], "\"\\")
		if data[i] == '"' {
			return i + 1
		}
		i++ // what is escaped
	}
}
