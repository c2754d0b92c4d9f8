package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"dragoman/internal/plain"
	"dragoman/internal/respond"
)

// The arguments of a verb are a flat struct with JSON names. [encodeArgs] and
// [decodeArgs] are the two ends of one rule: a field that the path names is sent there,
// the others are the query of a GET or DELETE, else the JSON body. In a query, a list is
// a repeated parameter, and a map's fields are parameters like meta.color.

// inQuery reports whether the arguments beside the path are in the query.
func (v Spec) inQuery() bool {
	return v.raw || v.Method == http.MethodGet || v.Method == http.MethodDelete
}

// names are the arguments in the path.
func (v Spec) names() []string {
	var names []string
	for part := range strings.SplitSeq(v.Path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}

// encodeArgs returns the target of a request with these arguments, and its body; nil: it
// has none.
func encodeArgs(v Spec, args any) (target string, body []byte, err error) {
	data, err := json.Marshal(args)
	if err != nil {
		return "", nil, fmt.Errorf("api: encode the arguments: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", nil, fmt.Errorf("api: encode the arguments: %w", err)
	}
	target = Root + v.Path
	for _, name := range v.names() {
		target = strings.Replace(target, "{"+name+"}", escapePath(plainText(fields[name])), 1)
		delete(fields, name)
	}
	if !v.inQuery() {
		body, err = json.Marshal(fields)
		return target, body, err
	}
	query := url.Values{}
	for name, raw := range fields {
		addQuery(query, name, raw)
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return target, nil, nil
}

// escapePath makes one element of a path. A name of dots alone would mean another path.
func escapePath(text string) string {
	if strings.Trim(text, ".") == "" {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// plainText is a JSON value as a query has it: a string without quotes.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// addQuery adds the parameters for a value.
func addQuery(query url.Values, name string, raw json.RawMessage) {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case string(raw) == "null":
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			query.Add(name, plainText(one))
		}
	case json.Unmarshal(raw, &object) == nil:
		for field, one := range object {
			query.Set(name+"."+field, plainText(one))
		}
	default:
		query.Set(name, plainText(raw))
	}
}

// decodeArgs sets args, a struct, to the arguments of a request. The error is a refusal
// that names the argument.
func decodeArgs(r *http.Request, v Spec, args reflect.Value) error {
	fields := fieldsOf(args)
	given, err := givenArgs(r, v, fields)
	if err != nil {
		return err
	}
	for _, name := range v.names() {
		given[name] = quoted(r.PathValue(name), fields[name])
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		field, known := fields[name]
		if !known {
			return refuse(name, "there is no argument %s here", name)
		}
		if err := json.Unmarshal(given[name], field.Addr().Interface()); err != nil {
			return refuse(name, "%s cannot be understood: %s", name, reason(err))
		}
	}
	if _, named := given[limitName]; named {
		return checkLimit(fields[limitName].Int())
	}
	return nil
}

// checkLimit refuses a page of a size that no list has. One of 0 would be a page of nothing,
// or of everything: whoever means the usual one leaves it out.
func checkLimit(limit int64) error {
	if limit < 1 || limit > maxPage {
		return refuse(limitName, "limit is 1 to %d; leave it out for a page of the usual size", maxPage)
	}
	return nil
}

// fieldsOf are the fields of a struct by their JSON names.
func fieldsOf(args reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range args.NumField() {
		name, _, _ := strings.Cut(args.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = args.Field(i)
	}
	return fields
}

// givenArgs are the arguments in the query or in the body, by name.
func givenArgs(r *http.Request, v Spec, fields map[string]reflect.Value) (map[string]json.RawMessage, error) {
	if !v.inQuery() {
		return bodyArgs(r)
	}
	given := map[string]json.RawMessage{}
	objects := map[string]map[string]string{}
	for name, values := range r.URL.Query() {
		isList := fields[name].IsValid() && fields[name].Kind() == reflect.Slice
		if len(values) > 1 && !isList {
			return nil, refuse(name, "%s is given %d times, and can have one value", name, len(values))
		}
		object, field, dotted := strings.Cut(name, ".")
		if dotted {
			if objects[object] == nil {
				objects[object] = map[string]string{}
			}
			objects[object][field] = values[0]
			continue
		}
		given[name] = quoted(values[0], fields[name])
		if isList {
			given[name] = encode(values)
		}
	}
	for name, object := range objects {
		given[name] = encode(object)
	}
	return given, nil
}

// bodyArgs are the arguments in the body.
func bodyArgs(r *http.Request) (map[string]json.RawMessage, error) {
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, &respond.Refusal{Status: http.StatusUnsupportedMediaType, Sentence: "Send the arguments as application/json."}
	}
	body, err := io.ReadAll(r.Body)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &respond.Refusal{
			Status:   http.StatusRequestEntityTooLarge,
			Sentence: fmt.Sprintf("The request is too large: %d bytes at most.", tooLarge.Limit),
		}
	}
	if err != nil {
		return nil, refuse("", "the request cannot be read: %s", plain.Text(err))
	}
	given := map[string]json.RawMessage{}
	if len(body) == 0 {
		return given, nil
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, refuse("", "the request cannot be understood: %s", reason(err))
	}
	if given == nil { // the body is null
		given = map[string]json.RawMessage{}
	}
	return given, nil
}

// isJSON reports whether a body of that type may be JSON. curl -d calls every body a form.
func isJSON(kind string) bool {
	if kind == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(kind)
	return err == nil && (media == "application/json" || media == "application/x-www-form-urlencoded")
}

// quoted is the JSON for the text of an argument: numbers and truth values as they are.
func quoted(text string, field reflect.Value) json.RawMessage {
	if field.IsValid() {
		switch field.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
			if json.Valid([]byte(text)) {
				return json.RawMessage(text)
			}
		}
	}
	return encode(text)
}

// encode is the JSON of strings and the like, which have one.
func encode(v any) json.RawMessage {
	raw, _ := json.Marshal(v)
	return raw
}

// reason is why JSON cannot be read, without words of Go.
func reason(err error) string {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "a " + kind.Value + " is of the wrong kind"
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "it is not JSON"
	}
	return plain.Text(err)
}

// refuse is a refusal of a request that is wrong. param names the argument; "": none.
func refuse(param, format string, args ...any) *respond.Refusal {
	return &respond.Refusal{Status: http.StatusBadRequest, Param: param, Sentence: fmt.Sprintf(format, args...)}
}
