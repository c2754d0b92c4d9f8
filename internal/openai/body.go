package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"time"

	"dragoman/internal/respond"
)

const (
	// maxBody bounds a request, in bytes: a long conversation with some pictures.
	maxBody = 20 << 20
	// maxBodies bounds all that are being answered, in bytes. A small one counts as
	// leastBody, for what is made of it.
	maxBodies = 256 << 20
	leastBody = 64 << 10
	// maxDrain is how much of a larger one is still read, so that its sender gets the
	// refusal instead of a broken connection.
	maxDrain = 32 << 20
	// bodyWithin bounds how long sending one may take.
	bodyWithin = 2 * time.Minute
)

// readBody reads the JSON object that r carries.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *object, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "", "application/json", "application/x-www-form-urlencoded": // curl's default
	default:
		return nil, nil, &respond.Refusal{Status: http.StatusUnsupportedMediaType, Sentence: "Send JSON."}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // if unsupported, the server's own limits apply
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, nil, &respond.Refusal{Status: http.StatusBadRequest, Sentence: "The request did not arrive completely."}
	}
	if len(data) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, nil, tooLarge("", fmt.Sprintf("The request is too large: at most %d MiB fit.", maxBody>>20))
	}
	// The server would take the end of its time for reading as the client's end.
	_ = control.SetReadDeadline(time.Time{})
	o := &object{taken: map[string]bool{}, first: &firstProblem{}}
	if err := json.Unmarshal(data, &o.fields); err != nil || o.fields == nil {
		return nil, nil, &respond.Refusal{Status: http.StatusBadRequest, Code: "invalid_json", Sentence: "The body is not a JSON object."}
	}
	return data, o, nil
}

func tooLarge(param, sentence string) *respond.Refusal {
	return &respond.Refusal{Status: http.StatusRequestEntityTooLarge, Param: param, Sentence: sentence}
}

// firstProblem is the first thing that is wrong with a request.
type firstProblem struct{ no *respond.Refusal }

// object is a JSON object inside a request.
type object struct {
	fields map[string]json.RawMessage
	at     string          // where it is: "" or "messages[2]"
	taken  map[string]bool // the fields that were asked for
	first  *firstProblem   // of the whole request
}

// problem is the first problem of the request, or nil.
func (o *object) problem() error {
	if o.first.no == nil {
		return nil
	}
	return o.first.no
}

// place is where a field is.
func (o *object) place(field string) string {
	if o.at == "" {
		return field
	}
	return o.at + "." + field
}

// refuse notes that a field is wrong.
func (o *object) refuse(field, sentence string) {
	o.refuseWith(&respond.Refusal{Status: http.StatusBadRequest, Param: o.place(field), Sentence: sentence})
}

func (o *object) refuseWith(no *respond.Refusal) {
	if o.first.no == nil {
		o.first.no = no
	}
}

// has reports whether a field is there and not null.
func (o *object) has(field string) bool {
	o.taken[field] = true
	raw, found := o.fields[field]
	return found && string(raw) != "null"
}

// take reads a field into v, a pointer. It reports whether the field is there.
func (o *object) take(field string, v any) bool {
	if !o.has(field) {
		return false
	}
	err := json.Unmarshal(o.fields[field], v)
	if err == nil {
		return true
	}
	want := wordFor(reflect.TypeOf(v).Elem())
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		field += "." + wrong.Field
		want = wordFor(wrong.Type)
	}
	o.refuse(field, fmt.Sprintf("%.100s must be %s.", o.place(field), want))
	return false
}

// wordFor says what JSON a Go type is read from.
func wordFor(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wordFor(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// text reads a string.
func (o *object) text(field string) (s string) {
	o.take(field, &s)
	return s
}

// number reads a number from least to most, nil if there is none.
func (o *object) number(field string, least, most float64) *float32 {
	var n float64
	if !o.take(field, &n) {
		return nil
	}
	if n < least || n > most {
		o.refuse(field, fmt.Sprintf("%s must be from %v to %v.", o.place(field), least, most))
		return nil
	}
	return new(float32(n))
}

// object reads an object, nil if there is none.
func (o *object) object(field string) *object {
	inner := map[string]json.RawMessage{}
	if !o.take(field, &inner) {
		return nil
	}
	return &object{fields: inner, at: o.place(field), taken: map[string]bool{}, first: o.first}
}

// objects reads a list of objects.
func (o *object) objects(field string, most int) (list []*object) {
	var raw []json.RawMessage
	if !o.take(field, &raw) {
		return nil
	}
	if len(raw) > most {
		o.refuse(field, fmt.Sprintf("%s has %d entries, at most %d are allowed.", o.place(field), len(raw), most))
		return nil
	}
	for i, data := range raw {
		one := &object{at: fmt.Sprintf("%s[%d]", o.place(field), i), taken: map[string]bool{}, first: o.first}
		if err := json.Unmarshal(data, &one.fields); err != nil || one.fields == nil {
			o.refuse(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("%s must be an object.", one.at))
			return nil
		}
		list = append(list, one)
	}
	return list
}

// isText reports whether a field is a string.
func (o *object) isText(field string) bool {
	return o.has(field) && o.fields[field][0] == '"'
}

// unknown are the fields that nobody asked for.
func (o *object) unknown() (names []string) {
	for name := range o.fields {
		if !o.taken[name] {
			names = append(names, name)
		}
	}
	return names
}
