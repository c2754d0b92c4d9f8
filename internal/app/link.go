package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
)

// linkable is a channel whose account belongs to a phone that must link it.
type linkable interface {
	channels.Channel
	// Link shows invitations until the phone accepts one, and returns the
	// account's name.
	Link(ctx context.Context, phone string, show func(Invitation)) (account string, err error)
	// Unlink forgets the account.
	Unlink(ctx context.Context) error
}

// Invitation is what a person needs to link a channel to a phone: the text of
// a QR code to scan, or a code to type there. Both are secrets.
type Invitation struct {
	QR   string `json:"qr,omitempty"`
	Code string `json:"code,omitempty"`
}

// deviceFile is where a linked device keeps its keys.
func deviceFile(cfg *config.Config, name string) string {
	return filepath.Join(cfg.StateDir, name+".device.db")
}

// linkPath is on the operator's socket.
const linkPath = "/link"

// linkLine is one line of the answer there: an invitation, or the end.
type linkLine struct {
	Invitation
	Account string `json:"account,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Link links a channel to a phone: through the daemon that serves the state
// directory, or, if none runs, by itself. Phone may be empty; then the
// invitations are QR codes, else a code to type on the phone of that number.
func Link(ctx context.Context, cfg *config.Config, name, phone string, show func(Invitation)) (account string, err error) {
	state, err := lockState(cfg.StateDir)
	if errors.Is(err, errLocked) {
		return linkOver(ctx, cfg, name, phone, show)
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, state.unlock()) }()
	ch, err := onlyLinkable(cfg, name)
	if err != nil {
		return "", err
	}
	return ch.Link(ctx, phone, show)
}

// Unlink forgets the account that a channel is linked to. No daemon may run.
func Unlink(ctx context.Context, cfg *config.Config, name string) (err error) {
	state, err := lockState(cfg.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.unlock()) }()
	ch, err := onlyLinkable(cfg, name)
	if err != nil {
		return err
	}
	return ch.Unlink(ctx)
}

func onlyLinkable(cfg *config.Config, name string) (linkable, error) {
	c, ok := cfg.Channels[name]
	if !ok || c.Type != config.TypeWhatsApp {
		return nil, errNotLinkable(name)
	}
	a := &adapters{linked: map[string]linkable{}}
	if _, err := a.build(name, c, cfg, nil, nil); err != nil {
		return nil, fmt.Errorf("app: channel %s: %w", name, err)
	}
	return a.linked[name], nil
}

func errNotLinkable(name string) error {
	return fmt.Errorf("app: %q is no channel of type whatsapp in the configuration, so there is nothing to link", name)
}

// linkHandler links a channel of this daemon and tells how it goes, one JSON
// object a line. It ends when the one who asked goes away.
func (d *Daemon) linkHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		out := http.NewResponseController(w)
		tell := func(l linkLine) {
			// Who does not hear it any more has ended r's context too.
			_ = json.NewEncoder(w).Encode(l)
			_ = out.Flush()
		}
		name := r.URL.Query().Get("channel")
		ch, ok := d.channels.linked[name]
		if !ok {
			tell(linkLine{Error: errNotLinkable(name).Error()})
			return
		}
		account, err := ch.Link(r.Context(), r.URL.Query().Get("phone"), func(i Invitation) { tell(linkLine{Invitation: i}) })
		if err != nil {
			tell(linkLine{Error: err.Error()})
			return
		}
		tell(linkLine{Account: account})
	})
}

// linkOver asks the running daemon.
func linkOver(ctx context.Context, cfg *config.Config, name, phone string, show func(Invitation)) (string, error) {
	transport := httpapi.SocketTransport((&stateDir{path: cfg.StateDir}).file(socketName))
	defer transport.CloseIdleConnections()
	query := url.Values{"channel": {name}, "phone": {phone}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://dragoman"+linkPath+"?"+query.Encode(), bytes.NewReader(nil))
	if err != nil {
		return "", fmt.Errorf("app: link: %w", err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return "", fmt.Errorf("app: link: the running daemon cannot be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := json.NewDecoder(resp.Body); ; {
		var l linkLine
		switch err := lines.Decode(&l); {
		case errors.Is(err, io.EOF):
			return "", errors.New("app: link: the daemon stopped before the phone had accepted")
		case err != nil:
			return "", fmt.Errorf("app: link: read the daemon's answer: %w", err)
		case l.Error != "":
			return "", errors.New(l.Error)
		case l.Account != "":
			return l.Account, nil
		}
		show(l.Invitation)
	}
}
