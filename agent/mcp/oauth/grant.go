package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxToken bounds a token; a note has room for two.
	maxToken = 16 << 10
	// maxLife is the longest time for which a token is believed to last.
	maxLife = 366 * 24 * time.Hour
)

// granted is what a token endpoint gives. It is never part of an error.
type granted struct {
	access, refresh, scope string
	life                   time.Duration // 0: it does not say
}

// declined is a refusal of the token endpoint.
type declined struct{ code string }

func (d *declined) Error() string {
	return "the authorization server refused: " + d.code
}

// isOurs reports whether the refusal is about who we are, and not about the login.
func (d *declined) isOurs() bool {
	return d.code == "invalid_client" || d.code == "unauthorized_client"
}

// later are the codes of failures that may pass.
var later = []string{"temporarily_unavailable", "server_error", "slow_down"}

// grant asks the token endpoint. A refusal is a *declined; other errors may pass.
func (l *Login) grant(ctx context.Context, p *place, form url.Values) (*granted, error) {
	form.Set("resource", p.Resource)
	c := l.client()
	resp, err := l.post(ctx, c, p, p.Token, form)
	if err != nil {
		return nil, err
	}
	text, err := drain(c, resp)
	if err != nil {
		return nil, err
	}
	return readGrant(resp.StatusCode, text)
}

// post sends a form with our name.
func (l *Login) post(ctx context.Context, c *client, p *place, to string, form url.Values) (*http.Response, error) {
	if p.Style != styleBasic {
		form.Set("client_id", l.ClientID)
	}
	if p.Style == stylePost {
		form.Set("client_secret", l.ClientSecret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the authorization server names no address")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if p.Style == styleBasic {
		r.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.because(err)
	}
	return resp, nil
}

// readGrant reads an answer of a token endpoint.
func readGrant(status int, text []byte) (*granted, error) {
	var a struct {
		Access  string `json:"access_token"`
		Type    string `json:"token_type"`
		Refresh string `json:"refresh_token"`
		Scope   string `json:"scope"`
		Expires any    `json:"expires_in"`
		Error   any    `json:"error"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	bad := d.Decode(&a) != nil
	if status != http.StatusOK && status != http.StatusCreated {
		code, _ := a.Error.(string)
		code = codeOf(code)
		if status >= 500 || status == http.StatusTooManyRequests || status < 400 || slices.Contains(later, code) {
			return nil, fmt.Errorf("the authorization server cannot answer now (status %d)", status)
		}
		if code == "" {
			code = fmt.Sprintf("status %d", status)
		}
		return nil, &declined{code}
	}
	switch {
	case bad:
		return nil, errors.New("the answer of the authorization server is no JSON")
	case !isToken(a.Access) || a.Refresh != "" && !isToken(a.Refresh):
		return nil, errors.New("the authorization server gave no token that can be used")
	case !strings.EqualFold(a.Type, "bearer"):
		return nil, errors.New("the authorization server gave a token of a kind that is not known here")
	}
	return &granted{access: a.Access, refresh: a.Refresh, scope: words(a.Scope), life: lifeOf(a.Expires)}, nil
}

// codeOf is an error code, as OAuth has them; "" for anything else, which could have a token.
func codeOf(text string) string {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }
	if len(text) > 40 || strings.ContainsFunc(text, odd) {
		return ""
	}
	return text
}

// isToken reports whether text can be sent in a header.
func isToken(text string) bool {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	return text != "" && len(text) <= maxToken && !strings.ContainsFunc(text, odd)
}

// lifeOf is how long a token lasts. Some servers write the seconds as text.
func lifeOf(expires any) time.Duration {
	text := ""
	switch e := expires.(type) {
	case json.Number:
		text = e.String()
	case string:
		text = e
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxLife.Seconds()) * float64(time.Second))
}
