package models

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"dragoman/agent"
	"dragoman/agent/wire"
)

// Diagnosis is the result of one look at a server.
type Diagnosis struct {
	// Cause is what is wrong; "" if the look found nothing.
	Cause agent.Cause
	// Sentence describes the problem and the cure. It holds no secret.
	Sentence string
	// Status is the HTTP status of the failure, 0 if none.
	Status int
	// Unsure: the server lists no models, so the name and the key are untested.
	Unsure bool
}

// unreachable reports whether err means that the server did not answer.
func unreachable(err error) bool {
	var status *statusError
	return err != nil && !errors.As(err, &status) && !errors.Is(err, errNoAPI)
}

// untrusted reports whether err is about the server's certificate.
func untrusted(err error) bool {
	return unreachable(err) && strings.Contains(err.Error(), "certificate")
}

// Diagnose says what is wrong between us and the model called name at s, from
// what [Look] found. If the URL is wrong, it tries the likely ones.
func Diagnose(ctx context.Context, s Server, f Found, name string) Diagnosis {
	where := Host(s.BaseURL)
	var status *statusError
	switch {
	case f.Err == nil:
		return s.diagnoseModel(f, name)
	case untrusted(f.Err):
		return Diagnosis{Cause: agent.CauseCertificate, Sentence: fmt.Sprintf("The certificate of the model's server at %s is not valid for this name or not trusted here. %s", where, agent.CauseCertificate.Cure())}
	case unreachable(f.Err):
		return Diagnosis{Cause: agent.CauseUnreachable, Sentence: fmt.Sprintf("The model's server at %s cannot be reached: %s. %s", where, whyUnreachable(f.Err), cureUnreachable(s.BaseURL))}
	case f.Server == ServerOllama && strings.HasSuffix(strings.TrimRight(s.BaseURL, "/"), "/v1"):
		return Diagnosis{} // an old version, without OpenAI's list of models
	case !errors.As(f.Err, &status):
		return s.diagnoseAddress(ctx, where, 0)
	}
	reply := ""
	if status.message != "" {
		reply = fmt.Sprintf(" (it says: %q)", status.message)
	}
	d := Diagnosis{Status: status.status, Cause: status.cause}
	switch {
	case d.Cause == agent.CauseQuota:
		d.Sentence = fmt.Sprintf("The account at %s has no credit left%s. Add credit or raise its limit there.", where, reply)
	case d.Cause == agent.CauseAccess, d.Cause == agent.CauseRegion, d.Cause == agent.CauseModelAccess, d.Cause == agent.CauseBlocked:
		d.Sentence = fmt.Sprintf("The server at %s refuses the request (403)%s. %s", where, reply, d.Cause.Cure())
	case d.Cause == agent.CauseKey:
		d.Sentence = fmt.Sprintf("The API key is refused by %s%s. %s", where, reply, s.cureKey())
	case d.Status == http.StatusTooManyRequests:
		d.Sentence = fmt.Sprintf("The server at %s takes no more requests at the moment%s. Wait a little.", where, reply)
	case d.Status >= 500:
		d.Cause, d.Sentence = agent.CauseBusy, fmt.Sprintf("The server at %s answers with an error: HTTP %d%s.", where, d.Status, reply)
	default:
		return s.diagnoseAddress(ctx, where, d.Status)
	}
	return d
}

// cureKey tells a person what to do about a key that the server refused. It looks
// at the form of the key only and never repeats it.
func (s *Server) cureKey() string {
	p := providerAt(s.BaseURL)
	switch {
	case s.Key == "" && p != nil && p.env != "":
		return fmt.Sprintf("None is set: set model.api_key, for example to \"${%s}\".", p.env)
	case s.Key == "":
		return "None is set: set model.api_key."
	}
	if of := providerOfKey(s.Key); of != nil && p != nil && of != p {
		return fmt.Sprintf("It looks like one of %s: set model.base_url to %s, or use a key of %s.", of.title, of.base, p.title)
	}
	return "Check model.api_key for a missing or surplus character, or make a new key."
}

// diagnoseModel diagnoses a server that lists its models.
func (s *Server) diagnoseModel(f Found, name string) Diagnosis {
	if !f.Missing {
		if now := time.Now(); EndsSoon(f.Shutdown, now) {
			when := "will be"
			if f.Shutdown < now.Format(time.DateOnly) {
				when = "was to be"
			}
			return Diagnosis{Sentence: fmt.Sprintf("The model %s %s shut down on %s. Choose another one in time.", name, when, f.Shutdown)}
		}
		return Diagnosis{Unsure: len(f.Names) == 0}
	}
	d := Diagnosis{Cause: agent.CauseModel}
	near := Nearest(name, f.Names, 3)
	d.Sentence = fmt.Sprintf("The server at %s has no model called %s.", Host(s.BaseURL), name)
	switch {
	case len(near) > 0:
		d.Sentence += " The closest ones that it has: " + strings.Join(near, ", ") + ". Set model.name to one."
	case f.Server == ServerOllama:
		d.Sentence += fmt.Sprintf(" Get it with \"ollama pull %s\".", name)
	}
	return d
}

// diagnoseAddress looks for the right URL if the given one has no models.
func (s *Server) diagnoseAddress(ctx context.Context, where string, status int) Diagnosis {
	d := Diagnosis{Cause: agent.CauseURL, Status: status}
	what := "it is not a model API"
	if status != 0 {
		what = fmt.Sprintf("there is no list of models at this path (HTTP %d)", status)
	}
	d.Sentence = fmt.Sprintf("model.base_url is probably wrong: %s answers, but %s. It must be the part before /chat/completions, usually ending in /v1.", where, what)
	for _, try := range candidateURLs(s.BaseURL) {
		other := *s
		other.BaseURL = try
		_, err := List(ctx, other)
		var refused *statusError
		if err != nil && (!errors.As(err, &refused) || refused.status != http.StatusUnauthorized) {
			continue
		}
		d.Sentence = fmt.Sprintf("model.base_url is wrong: %s. Set it to %s, where a model server answers.", describeDifference(s.BaseURL, try), RedactURL(try))
		return d
	}
	if p := providerAt(s.BaseURL); p != nil && p.base != "" {
		d.Sentence = fmt.Sprintf("model.base_url is wrong: %s's is %s.", p.title, p.base)
	}
	return d
}

// candidateURLs are the base URLs that somebody may have meant who wrote base:
// with or without /v1, or with a method's path at its end.
func candidateURLs(base string) []string {
	u, _, err := wire.ParseBase(base)
	if err != nil {
		return nil
	}
	given, path := u.Path, u.Path
	for _, end := range []string{"/completions", "/models"} {
		path = strings.TrimSuffix(path, end)
	}
	var tries []string
	for _, p := range []string{path, path + "/v1", strings.TrimSuffix(path, "/v1"), "/v1", "/api/v1", "/openai/v1"} {
		other := *u
		other.Path, other.RawPath = p, ""
		text := other.String()
		if p != given && !slices.Contains(tries, text) {
			tries = append(tries, text)
		}
	}
	return tries
}

// describeDifference says what is wrong with a URL, given the right one.
func describeDifference(wrong, right string) string {
	w, _ := url.Parse(wrong)
	r, _ := url.Parse(right)
	a, b := strings.TrimRight(w.Path, "/"), strings.TrimRight(r.Path, "/")
	switch {
	case strings.HasPrefix(b, a) && a != b:
		return strings.TrimPrefix(b, a) + " is missing at its end"
	case strings.HasPrefix(a, b) && a != b:
		return strings.TrimPrefix(a, b) + " does not belong at its end"
	}
	return "its path is wrong"
}

// RedactURL returns a URL that is fit to be shown: without user and query,
// which may hold a key.
func RedactURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the right one"
	}
	u.RawQuery, u.User = "", nil
	return u.String()
}

func whyUnreachable(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no such host"
	case errors.As(err, &dns):
		return "its name cannot be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "this machine has no route to that network"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it uses http, not https"
	}
	return strings.TrimSuffix(err.Error(), ".")
}

// cureUnreachable says what to do about a server that cannot be reached.
func cureUnreachable(base string) string {
	u, err := url.Parse(base)
	switch {
	case err == nil && u.Port() == ollamaPort:
		return "Start Ollama (\"ollama serve\"), or correct model.base_url."
	case IsLocal(base):
		return "Start the server, or correct the port in model.base_url."
	}
	return "Check model.base_url and this machine's network."
}
