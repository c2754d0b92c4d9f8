package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"dragoman/channels"
)

const linkPath = "/v1/channels/link"

const lineWithin = 10 * time.Second

// Phones links channels to phones and unlinks them: see [channels.Linker].
type Phones interface {
	Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error)
	Unlink(ctx context.Context, name string) (told bool, err error)
}

// linkRequest names a channel, and a phone number unless the person scans a QR
// code.
type linkRequest struct {
	Name  string `json:"name"`
	Phone string `json:"phone,omitempty"`
}

// linkLine is one line of the answer: an invitation, or the end.
type linkLine struct {
	channels.Invitation
	Account string   `json:"account,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

// link links a channel and reports the progress, one JSON object a line. It
// ends when the client disconnects.
func (a *admin) link(w http.ResponseWriter, r *http.Request) {
	var req linkRequest
	if err := decode(r, &req); err != nil {
		writeFailure(w, err)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	_ = out.Flush()
	tell := func(l linkLine) {
		_ = out.SetWriteDeadline(time.Now().Add(lineWithin))
		// A client that is gone has also ended the request's context.
		_ = json.NewEncoder(w).Encode(l)
		_ = out.Flush()
	}
	account, err := a.Phones.Link(r.Context(), req.Name, req.Phone, func(i channels.Invitation) { tell(linkLine{Invitation: i}) })
	end := linkLine{Account: account}
	if err != nil {
		f, _ := failureOf(err)
		end.Failure = &f
	}
	tell(end)
}

// Unlinked is the answer to Unlink. Told: the network knows.
type Unlinked struct {
	Told bool `json:"told"`
}

func (a *admin) unlink(ctx context.Context, name string) (Unlinked, error) {
	told, err := a.Phones.Unlink(ctx, name)
	return Unlinked{told}, err
}

// Link links a channel to a phone and shows what the person needs: QR codes, or
// a code to type on the phone of that number.
func (c *Client) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (account string, err error) {
	resp, err := c.send(ctx, 0, post, linkPath, linkRequest{name, phone})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(bufio.NewReader(resp.Body)); ; {
		var l linkLine
		switch err := lines.Decode(&l); {
		case err != nil:
			return "", callError(ctx, post, linkPath, err)
		case l.Failure != nil:
			return "", l.Failure.refusal()
		case l.Account != "":
			return l.Account, nil
		}
		show(l.Invitation)
	}
}
