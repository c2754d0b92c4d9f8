package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/internal/respond"
)

const lineWithin = 10 * time.Second

// Phones links channels to phones and unlinks them: see [channels.Linker].
type Phones interface {
	Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error)
	Unlink(ctx context.Context, name string) (told bool, err error)
}

// LinkRequest names a channel, and a phone number unless the person scans a QR
// code.
type LinkRequest struct {
	Name  string `json:"name"`
	Phone string `json:"phone,omitempty"`
	// Picture asks for QR codes as pictures, too.
	Picture bool `json:"picture,omitempty"`
	// Within ends it after that many seconds. 0: it goes on while somebody listens, and a page
	// that was left open asks for codes for ever.
	Within int `json:"within_seconds,omitempty"`
}

// invitation is what a person needs: the text of a QR code, or a code to type. Keep it
// secret: whoever sees it can become the account's device.
type invitation struct {
	QR      string   `json:"qr,omitempty"`
	Picture *Picture `json:"picture,omitempty"`
	Code    string   `json:"code,omitempty"`
}

// errLinkExpired ends a linking that was to end by now.
var errLinkExpired = errors.New("the time to link it has run out")

// maxLinkWithin bounds Within, in seconds.
const maxLinkWithin = 3600

// linkLine is one line of the answer: an invitation, or the end.
type linkLine struct {
	invitation
	Account string   `json:"account,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

// link links a channel and reports the progress, one JSON object a line. It
// ends when the client disconnects. What fails before the first line is refused.
func (s *server) link(w http.ResponseWriter, r *http.Request, req LinkRequest) error {
	if req.Within < 0 || req.Within > maxLinkWithin {
		return refuse("within_seconds", "within_seconds is a number from 0 to %d", maxLinkWithin)
	}
	ctx := r.Context()
	if req.Within > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, time.Duration(req.Within)*time.Second, errLinkExpired)
		defer end()
	}
	out := http.NewResponseController(w)
	begun := false
	tell := func(l linkLine) {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
			respond.Private(w.Header())
		}
		_ = out.SetWriteDeadline(time.Now().Add(lineWithin))
		// A client that is gone has also ended the request's context.
		_ = json.NewEncoder(w).Encode(l)
		_ = out.Flush()
	}
	account, err := s.Phones.Link(ctx, req.Name, req.Phone, func(i channels.Invitation) {
		shown := invitation{QR: i.QR, Code: i.Code}
		if req.Picture && i.QR != "" {
			shown.Picture = draw(i.QR)
		}
		tell(linkLine{invitation: shown})
	})
	if err != nil && !begun {
		return notLinked(err)
	}
	end := linkLine{Account: account}
	if err != nil {
		end.Failure = failureOf(err)
	}
	tell(end)
	return nil
}

// notLinked is why there was no code to show: a sentence of the channel, which is meant for
// people.
func notLinked(err error) error {
	no, told := refusalOf(err)
	if !told {
		no.Status = http.StatusUnprocessableEntity
		no.Code = "not_linked"
	}
	return no
}

// ChannelName names a channel of the configuration.
type ChannelName struct {
	Name string `json:"name"`
}

// Unlinked is the answer to Unlink. Told: the network knows.
type Unlinked struct {
	Told bool `json:"told"`
}

func (s *server) unlink(ctx context.Context, c ChannelName) (Unlinked, error) {
	told, err := s.Phones.Unlink(ctx, c.Name)
	return Unlinked{told}, err
}

// Link links a channel to a phone and shows what the person needs: QR codes, or
// a code to type on the phone of that number.
func (c *Client) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error) {
	resp, err := c.send(ctx, link.Spec, LinkRequest{Name: name, Phone: phone})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(bufio.NewReader(resp.Body)); ; {
		var l linkLine
		switch err := lines.Decode(&l); {
		case err != nil:
			return "", callError(ctx, link.Spec, err)
		case l.Failure != nil:
			return "", l.Failure.refusal()
		case l.Account != "":
			return l.Account, nil
		}
		show(channels.Invitation{QR: l.QR, Code: l.Code})
	}
}
