package botapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostBody bounds a request's body, and mostUpload that of one with a file.
const (
	mostBody   = 8 << 20
	mostUpload = 51 << 20
)

// params are a call's parameters: JSON values, or, from forms, strings that
// hold them.
type params map[string]json.RawMessage

// readParams reads JSON, multipart and URL-encoded bodies and the query.
func readParams(r *http.Request) (params, error) {
	p := params{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	most := int64(mostBody)
	if kind == "multipart/form-data" {
		most = mostUpload
	}
	r.Body = http.MaxBytesReader(nil, r.Body, most)
	switch kind {
	case "application/json":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("can't read the request: %w", err)
		}
		if !utf8.Valid(body) {
			return nil, errors.New("strings must be encoded in UTF-8")
		}
		if err := json.Unmarshal(body, &p); err != nil && len(body) > 0 {
			return nil, errors.New("can't parse request JSON object")
		}
		return p, nil
	case "multipart/form-data":
		if err := r.ParseMultipartForm(mostBody); err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.New("can't parse the multipart form")
		}
	default:
		if err := r.ParseForm(); err != nil {
			return nil, errors.New("can't parse the form")
		}
	}
	for name, values := range r.Form {
		if !utf8.ValidString(values[0]) {
			return nil, errors.New("strings must be encoded in UTF-8")
		}
		p[name] = json.RawMessage(values[0])
	}
	return p, nil
}

// str is a string parameter, or "".
func (p params) str(name string) string {
	raw := p[name]
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// int is an integer parameter, written as a number or a string, or 0.
func (p params) int(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(p.str(name)), 10, 64)
	return n
}

// into decodes an object or list; false if it is missing or malformed.
func (p params) into(name string, dst any) bool {
	raw := []byte(p.str(name))
	return len(raw) > 0 && json.Unmarshal(raw, dst) == nil
}

func (p params) strings() map[string]string {
	all := make(map[string]string, len(p))
	for name := range p {
		all[name] = p.str(name)
	}
	return all
}
