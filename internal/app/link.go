package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
)

var phoneForm = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// PhoneNumber reads a phone number as people write it: "+49 170 1234567".
func PhoneNumber(s string) (string, error) {
	phone := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(s)
	if !phoneForm.MatchString(phone) {
		return "", errors.New("the number must be complete, with + and the country code, like +491701234567")
	}
	return phone, nil
}

// deviceFile is where a linked device keeps its keys.
func deviceFile(cfg *config.Config, name string) string {
	return filepath.Join(cfg.StateDir, name+deviceSuffix)
}

// On the operator's socket.
const (
	linkPath   = "/link"
	unlinkPath = "/unlink"
)

// linkLine is one line of the answer there: an invitation, or the end.
type linkLine struct {
	channels.Invitation
	Account string `json:"account,omitempty"`
	// Unlinked and Told are the end of an unlinking.
	Unlinked bool   `json:"unlinked,omitempty"`
	Told     bool   `json:"told,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Link links a channel to a phone: through the daemon that serves the state
// directory, or, if none runs, by itself. Phone may be empty; then the
// invitations are QR codes, else a code to type on the phone of that number.
func Link(ctx context.Context, cfg *config.Config, who Caller, name, phone string, show func(channels.Invitation)) (account string, err error) {
	err = whoeverServes(ctx, cfg, who, name, func(ch channels.Linker) error {
		account, err = ch.Link(ctx, phone, show)
		return err
	}, func() error {
		end, err := askLink(ctx, cfg, linkPath, url.Values{"channel": {name}, "phone": {phone}}, show)
		account = end.Account
		return err
	})
	return account, err
}

// Unlink forgets the account that a channel is linked to: through the daemon
// that serves the state directory, or, if none runs, by itself. told: the
// network knows of it.
func Unlink(ctx context.Context, cfg *config.Config, who Caller, name string) (told bool, err error) {
	err = whoeverServes(ctx, cfg, who, name, func(ch channels.Linker) error {
		told, err = ch.Unlink(ctx)
		return err
	}, func() error {
		end, err := askLink(ctx, cfg, unlinkPath, url.Values{"channel": {name}}, func(channels.Invitation) {})
		told = end.Told
		return err
	})
	return told, err
}

// whoeverServes calls ask if a daemon serves the state directory, or else do
// with the channel, while no daemon can start.
func whoeverServes(ctx context.Context, cfg *config.Config, who Caller, name string, do func(channels.Linker) error, ask func() error) (err error) {
	state, err := waitState(ctx, cfg.StateDir, who)
	if servedByOther(ctx, cfg.StateDir, err) {
		return ask()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.unlock()) }()
	ch, err := onlyLinkable(cfg, name)
	if err != nil {
		return err
	}
	return do(ch)
}

func onlyLinkable(cfg *config.Config, name string) (channels.Linker, error) {
	c, ok := cfg.Channels[name]
	if !ok || c.Type != config.TypeWhatsApp {
		return nil, errNotLinkable(name, cfg)
	}
	a := &adapters{linked: map[string]channels.Linker{}}
	if _, err := a.build(name, c, cfg, nil, nil); err != nil {
		return nil, fmt.Errorf("app: channel %s: %w", name, err)
	}
	return a.linked[name], nil
}

// errNotLinkable says so, and which channels there are instead.
func errNotLinkable(name string, cfg *config.Config) error {
	if c, ok := cfg.Channels[name]; ok && c.Type == config.TypeWhatsApp && !c.Enabled {
		return fmt.Errorf("app: the channel %q is turned off (enabled: false); turn it on and restart", name)
	}
	var there []string
	for _, other := range slices.Sorted(maps.Keys(cfg.Channels)) {
		if cfg.Channels[other].Type == config.TypeWhatsApp {
			there = append(there, other)
		}
	}
	advice := "add one under channels, see docs/whatsapp.md"
	if len(there) > 0 {
		advice = "name one of these: " + strings.Join(there, ", ")
	}
	return fmt.Errorf("app: the configuration has no channel %q of type whatsapp; %s", name, advice)
}

// askLink asks the running daemon, and returns the last line of its answer.
func askLink(ctx context.Context, cfg *config.Config, path string, query url.Values, show func(channels.Invitation)) (linkLine, error) {
	transport := httpapi.SocketTransport((&stateDir{path: cfg.StateDir}).file(socketName))
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://dragoman"+path+"?"+query.Encode(), bytes.NewReader(nil))
	if err != nil {
		return linkLine{}, fmt.Errorf("app: link: %w", err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return linkLine{}, fmt.Errorf("app: link: the running daemon cannot be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return linkLine{}, fmt.Errorf("app: link: the daemon answered %s; is it another version?", resp.Status)
	}
	for lines := json.NewDecoder(resp.Body); ; {
		var l linkLine
		switch err := lines.Decode(&l); {
		case errors.Is(err, io.EOF):
			return l, errors.New("app: link: the daemon stopped before it was done")
		case err != nil:
			return l, fmt.Errorf("app: link: read the daemon's answer: %w", err)
		case l.Error != "":
			return l, errors.New(l.Error)
		case l.Account != "" || l.Unlinked:
			return l, nil
		}
		show(l.Invitation)
	}
}
