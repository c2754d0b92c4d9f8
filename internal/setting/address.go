package setting

import (
	"net/url"
	"slices"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/internal/secretword"
)

// Address is a URL, as somebody configured it. Many servers want a key in it. Printed or
// encoded, it shows the host, the names in its query, and what of its path is plainly no key;
// the user, the values of the query, and the rest read "<hidden>". A conversion to string
// returns all of it.
type Address string

// String shows the address.
func (a Address) String() string { return a.Shown() }

// GoString shows the address.
func (a Address) GoString() string { return a.Shown() }

// MarshalText hides what may be a key from JSON and logs.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.Shown()), nil }

// MarshalYAML implements yaml.Marshaler.
func (a Address) MarshalYAML() (any, error) { return a.Shown(), nil }

// Shown returns what may be shown.
func (a Address) Shown() string {
	shown, _ := a.look()
	return shown
}

// Secrets returns the parts that look like secrets.
func (a Address) Secrets() []string {
	_, secrets := a.look()
	return secrets
}

func (a Address) look() (shown string, secrets []string) {
	if a == "" {
		return "", nil
	}
	u, err := url.Parse(string(a))
	if err != nil || u.Opaque != "" {
		return unshown, []string{string(a)}
	}
	var b strings.Builder
	if u.Scheme != "" {
		b.WriteString(u.Scheme + "://")
	}
	if u.User != nil {
		b.WriteString(unshown + "@")
		secret, has := u.User.Password()
		if !has {
			secret = u.User.Username()
		}
		secrets = append(secrets, secret)
	}
	b.WriteString(u.Host)
	path, keys := pathOf(u.EscapedPath())
	b.WriteString(path)
	query, values := queryOf(u.RawQuery)
	b.WriteString(query)
	secrets = slices.Concat(secrets, keys, values)
	if u.Fragment != "" {
		b.WriteString("#" + unshown)
		secrets = append(secrets, u.Fragment)
	}
	return b.String(), slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}

// segment is a piece of a path that is plainly no key: words and short numbers. shortSegment is
// below how many bytes another piece is shown, unless it is mixed.
var segment = lazily.Compile(`^[@.~]?(([A-Z]?[a-z]{1,20}|[A-Z]{1,20})[0-9]{0,4}|v?[0-9]{1,4})([-_.+](([A-Z]?[a-z]{1,20}|[A-Z]{1,20})[0-9]{0,4}|v?[0-9]{1,4}))*$`)

const shortSegment = 8

// pathOf returns what may be shown of a path, and its pieces that look like keys.
func pathOf(escaped string) (shown string, secrets []string) {
	pieces := strings.Split(escaped, "/")
	for i, piece := range pieces {
		plain, err := url.PathUnescape(piece)
		if err != nil {
			plain = piece
		}
		isShort := len(plain) < shortSegment && !strings.ContainsAny(plain, ":=")
		if isMixed(plain) || !isShort && !segment.Matches(plain) {
			pieces[i] = unshown
			secrets = append(secrets, plain)
		}
	}
	return strings.Join(pieces, "/"), secrets
}

// queryOf returns the names of a query with hidden values, and the values that look like
// secrets.
func queryOf(raw string) (shown string, secrets []string) {
	if raw == "" {
		return "", nil
	}
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		if secretword.Names(name) || isMixed(plain) {
			secrets = append(secrets, plain)
		}
		if !variable.Matches(name) || isMixed(name) { // the name may be the key
			secrets = append(secrets, name)
			name = unshown
		}
		pairs = append(pairs, name+"="+unshown)
	}
	return "?" + strings.Join(pairs, "&"), secrets
}
