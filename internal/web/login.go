package web

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"dragoman/internal/people"
	"dragoman/internal/respond"
)

const maxLoginBody = 4 << 10

// linkMark is what the page's script looks for behind the "#".
const linkMark = "link="

// LinkURL is the address that a one-time link opens, at a page whose address is base.
// Browsers do not send what follows the "#".
func LinkURL(base, secret string) string {
	return strings.TrimSuffix(base, "/") + "/login#" + linkMark + secret
}

// showLogin shows the form, also at an open port: a token or a link gives more scopes.
func (d *Door) showLogin(w http.ResponseWriter, _ *http.Request) {
	d.loginPage(w, http.StatusOK, "")
}

// loginPage shows the form with the problem of the last attempt.
func (d *Door) loginPage(w http.ResponseWriter, status int, problem string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// The browser notices a broken connection.
	_, _ = w.Write([]byte(d.opts.LoginPage(problem)))
}

// login reads the token from the form's body, never from the URL.
func (d *Door) login(w http.ResponseWriter, r *http.Request) {
	if err := d.checkOwnForm(r); err != nil {
		deny(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if err := r.ParseForm(); err != nil {
		d.loginPage(w, http.StatusBadRequest, "That did not arrive completely. Try again.")
		return
	}
	p, err := d.authenticate(r, strings.TrimSpace(r.PostForm.Get("token")))
	if err == nil {
		err = d.checkProxied(r, p)
	}
	if err != nil {
		var no *respond.Refusal
		if !errors.As(err, &no) {
			deny(w, r, err)
			return
		}
		respond.Head(w, no)
		d.loginPage(w, no.Status, no.Sentence)
		return
	}
	d.begin(w, r, p)
	toPage(w, r)
}

// checkProxied refuses a login of p in a browser that a proxy says is somebody else's:
// every later request would come from two people.
func (d *Door) checkProxied(r *http.Request, p people.Principal) error {
	c, found, err := d.findProxied(r)
	if err != nil {
		return err
	}
	if found && c.ID != p.ID {
		return errTwoPeople
	}
	return nil
}

// begin begins a session of p in the browser that sent r, and ends the one before it.
func (d *Door) begin(w http.ResponseWriter, r *http.Request, p people.Principal) {
	d.leave(r)
	d.setCookie(w, r, d.sessions.begin(p), int(sessionLife.Seconds()))
	d.opts.Logger.Info("logged in on the web page", "person", p.ID, "scope", string(p.Scope), "token", p.Token, "remote", d.proxies.client(r))
}

// leave ends the session of the browser that sent r, if it has one.
func (d *Door) leave(r *http.Request) {
	s, found := d.sessions.find(r)
	if !found {
		return
	}
	d.sessions.end(s.name)
	if d.opts.Links == nil {
		return
	}
	if err := d.opts.Links.End(r.Context(), s.principal()); err != nil {
		d.opts.Logger.Warn("a session that a link began is still listed as a token", "token", s.Token, "err", err)
	}
}

// linkRequest exchanges the secret of a link for a session.
type linkRequest struct {
	Secret string `json:"secret"`
	// Replace: the person knows that another one is logged in here.
	Replace bool `json:"replace"`
}

// loginByLink answers the script of the login page. It asks for Replace before the link
// is used up, if somebody else is logged in.
func (d *Door) loginByLink(w http.ResponseWriter, r *http.Request) {
	p, err := d.redeem(w, r)
	if err != nil {
		respond.Refuse(w, err)
		return
	}
	d.begin(w, r, p)
	respond.JSON(w, http.StatusOK, map[string]string{"person": p.ID, "scope": string(p.Scope)})
}

// redeem checks everything before it uses the link up.
func (d *Door) redeem(w http.ResponseWriter, r *http.Request) (p people.Principal, err error) {
	if err := d.checkSite(r); err != nil {
		return p, err
	}
	if r.Header.Get("Origin") == "" { // only the page's script exchanges links
		return p, errNoProof
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return p, &respond.Refusal{Status: http.StatusUnsupportedMediaType, Sentence: "Send the link's secret as application/json."}
	}
	var asked linkRequest
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLoginBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&asked); err != nil || asked.Secret == "" {
		return p, &respond.Refusal{Status: http.StatusBadRequest, Param: "secret", Sentence: "That did not arrive completely. Try again."}
	}
	if d.opts.Links == nil {
		return p, d.countFailure(r, wrong(people.ErrUsedLink))
	}
	if err := d.checkProxied(r, operator(people.Admin)); err != nil {
		return p, err
	}
	if s, found := d.sessions.find(r); found && s.Person != people.OperatorID && !asked.Replace {
		return p, &respond.Refusal{
			Status: http.StatusConflict, Code: "other_session", Param: "replace",
			Sentence: "Somebody else is logged in here: " + s.Name + ".",
		}
	}
	p, err = d.opts.Links.Redeem(r.Context(), asked.Secret)
	if err == nil {
		return p, nil
	}
	if why := wrong(err); why != nil {
		return p, d.countFailure(r, why)
	}
	d.opts.Logger.Warn("a link cannot be exchanged", "err", err)
	return p, errStore
}

// toPage leads to where the person was when the login was asked for.
func toPage(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, ours(r.URL.Query().Get("to")), http.StatusSeeOther)
}

// ours is an address of this page, or "/" in the place of any other: nobody is sent
// elsewhere from here.
func ours(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return "/"
	}
	// "//" and "/\" at the beginning would be the name of a host. Escaped, the latter is not.
	path := "/" + strings.TrimLeft(u.EscapedPath(), "/")
	rest := url.URL{RawQuery: u.RawQuery, Fragment: u.Fragment}
	return path + rest.String()
}

// logout ends the session.
func (d *Door) logout(w http.ResponseWriter, r *http.Request) {
	if err := d.checkOwnForm(r); err != nil {
		deny(w, r, err)
		return
	}
	d.leave(r)
	d.setCookie(w, r, "", -1)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// setCookie gives the browser the value of its session, or takes it away.
func (d *Door) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: d.proxies.isSecure(r), SameSite: http.SameSiteStrictMode,
	})
}
