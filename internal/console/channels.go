package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/internal/web"

	"rsc.io/qr"
)

// ChannelsPath is the API for the channels and their accounts.
const ChannelsPath = "/api/channels"

// Channel is a channel as the page lists it.
type Channel struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Linkable: its account lives on a phone, to which the channel can be linked.
	Linkable bool `json:"linkable,omitempty"`
	// Node is the node that runs it; "" if every node does or there is only one.
	Node string `json:"node,omitempty"`
	channels.Status
}

// Accounts lists the channels and links them to phones.
type Accounts interface {
	// Channels lists the channels by name.
	Channels() []Channel
	// Link links the channel of that name: see [channels.Linker].
	Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error)
	// Unlink forgets the account. told: the phone no longer lists it.
	Unlink(ctx context.Context, name string) (told bool, err error)
}

const (
	// linkWithin is how long the page gets new codes: about two batches of WhatsApp's.
	// A page that was left open must not ask for them forever.
	linkWithin = 5 * time.Minute
	// unlinkWithin bounds telling the network; every network answers sooner.
	unlinkWithin = time.Minute
	// lineWithin bounds writing one line to the page.
	lineWithin = 10 * time.Second

	maxLinkBody = 4 << 10
)

var errExpired = errors.New("the time to link it has run out")

// accounts serves the page's list of channels and its linking of accounts.
type accounts struct {
	Accounts
	within time.Duration
}

// serveAccounts adds the channels to the front door.
func serveAccounts(door *web.Door, of Accounts, within time.Duration) {
	a := &accounts{of, cmp.Or(within, linkWithin)}
	door.Protect("GET "+ChannelsPath, people.Chat, http.HandlerFunc(a.list))
	door.Protect("POST "+ChannelsPath+"/{name}/link", people.Admin, http.HandlerFunc(a.link))
	door.Protect("POST "+ChannelsPath+"/{name}/unlink", people.Admin, http.HandlerFunc(a.unlink))
}

// errChannels refuses the list of channels, which says what troubles the operator has.
var errChannels = &respond.Refusal{
	Status: http.StatusForbidden, Code: respond.CodeScope, Sentence: "The channels are shown to whoever runs Dragoman.",
}

// list says for the page, too, whether the person may link phones.
func (a *accounts) list(w http.ResponseWriter, r *http.Request) {
	p, _ := people.From(r.Context())
	if !p.IsOperator() && !p.May(people.Read) {
		respond.Refuse(w, errChannels)
		return
	}
	all := a.Channels()
	if all == nil {
		all = []Channel{}
	}
	respond.JSON(w, http.StatusOK, map[string]any{"channels": all, "may_link": p.May(people.Admin)})
}

// linkLine is one line of the stream during linking. It has one field: an
// invitation, or how linking ended.
type linkLine struct {
	QR      *picture `json:"qr,omitempty"`
	Code    string   `json:"code,omitempty"`
	Account string   `json:"account,omitempty"`
	Expired bool     `json:"expired,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// link streams invitations, one JSON object per line. It ends when the page closes, so
// that no code stays valid that is not being shown. Invitations are neither stored nor
// logged: whoever sees one can become the account's device.
func (a *accounts) link(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Phone string `json:"phone"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLinkBody)
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		respond.Refuse(w, &respond.Refusal{Status: http.StatusBadRequest, Sentence: "That did not arrive completely. Try again."})
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), a.within, errExpired)
	defer cancel()
	out := http.NewResponseController(w)
	respond.Private(w.Header())
	w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
	_ = out.Flush()
	write := func(l linkLine) {
		_ = out.SetWriteDeadline(time.Now().Add(lineWithin))
		_ = json.NewEncoder(w).Encode(l) // if the page has gone, ctx has ended too
		_ = out.Flush()
	}
	account, err := a.Link(ctx, r.PathValue("name"), strings.TrimSpace(body.Phone), func(i channels.Invitation) {
		l, err := lineOf(i)
		if err != nil {
			l = linkLine{Error: "The QR code cannot be drawn. Use the phone's number instead."}
		}
		write(l)
	})
	switch {
	case err == nil:
		write(linkLine{Account: account})
	case errors.Is(context.Cause(ctx), errExpired):
		write(linkLine{Expired: true})
	default:
		write(linkLine{Error: sentence(err)})
	}
}

func lineOf(i channels.Invitation) (linkLine, error) {
	if i.Code != "" {
		return linkLine{Code: i.Code}, nil
	}
	p, err := drawQR(i.QR)
	return linkLine{QR: p}, err
}

func (a *accounts) unlink(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), unlinkWithin)
	defer cancel()
	told, err := a.Unlink(ctx, r.PathValue("name"))
	if err != nil {
		respond.Refuse(w, &respond.Refusal{Status: http.StatusConflict, Sentence: sentence(err)})
		return
	}
	respond.JSON(w, http.StatusOK, map[string]bool{"told": told})
}

// sentence is err for people, without what failed: the page has said that already.
func sentence(err error) string {
	text := plain.Text(err)
	for _, attempt := range []string{"link: ", "unlink: "} {
		text = strings.TrimPrefix(text, attempt)
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// picture is a QR code as an SVG path, one unit per module, without the quiet zone that
// scanners need.
type picture struct {
	Size int    `json:"size"`
	Path string `json:"path"`
}

// drawQR draws one rectangle for each run of dark modules in a row.
func drawQR(text string) (*picture, error) {
	if text == "" {
		return nil, errors.New("console: draw a QR code: it is empty")
	}
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return nil, fmt.Errorf("console: draw a QR code: %w", err)
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; {
			run := 0
			for code.Black(x+run, y) { // modules outside are light
				run++
			}
			if run > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x, y, run, run)
			}
			x += run + 1
		}
	}
	return &picture{code.Size, b.String()}, nil
}
