package linking_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/linking"
)

// phone is a channel that is linked as soon as somebody scans its code.
type phone struct {
	channels.Channel
	busy    chan struct{} // capacity 1: one attempt at a time
	scanned chan string
}

func (p *phone) Link(ctx context.Context, number string, show func(channels.Invitation)) (string, error) {
	p.busy <- struct{}{}
	defer func() { <-p.busy }()
	show(channels.Invitation{QR: "code", Code: number})
	select {
	case account := <-p.scanned:
		return account, nil
	case <-ctx.Done():
		return "", errors.New("cut off")
	}
}

func (p *phone) Unlink(context.Context) (bool, error) { return true, nil }

func links() (*linking.Links, *phone) {
	p := &phone{busy: make(chan struct{}, 1), scanned: make(chan string)}
	return linking.New(func(name string) (channels.Linker, error) {
		if name != "whatsapp" {
			return nil, errors.New("there is no channel " + name)
		}
		return p, nil
	}), p
}

// The newest attempt wins; the one before, and one when all ends, are told why.
func TestNewestWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := links()
		defer l.Close()
		begin := func() (ended chan error) {
			ended = make(chan error, 1)
			go func() {
				_, err := l.Link(t.Context(), "whatsapp", "", func(channels.Invitation) {})
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		first, second := begin(), begin()
		if err := <-first; err == nil || !strings.Contains(err.Error(), "another terminal or page") {
			t.Errorf("the first attempt = %v", err)
		}
		p.scanned <- "+1"
		if err := <-second; err != nil {
			t.Errorf("the second attempt = %v, want nil", err)
		}
		third := begin()
		l.Close()
		if err := <-third; err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("an attempt when the daemon ends = %v", err)
		}
		if _, err := l.Unlink(t.Context(), "whatsapp"); err == nil {
			t.Error("Unlink after Close = nil, want an error")
		}
	})
}

func TestLinkErrors(t *testing.T) {
	l, _ := links()
	if _, err := l.Unlink(t.Context(), "other"); err == nil || err.Error() != "there is no channel other" {
		t.Errorf("Unlink of another channel = %v", err)
	}
	if told, err := l.Unlink(t.Context(), "whatsapp"); !told || err != nil {
		t.Errorf("Unlink = %t, %v, want true, nil", told, err)
	}
	for number, good := range map[string]bool{"+49 (170) 123-4567": true, "0170 1234567": false, "+0 170 1234567": false, "+49 170 x": false} {
		if got, err := linking.PhoneNumber(number); (err == nil) != good || good && got != "+491701234567" {
			t.Errorf("PhoneNumber(%q) = %q, %v", number, got, err)
		}
	}
	if _, err := l.Link(t.Context(), "whatsapp", "12", nil); err == nil || !strings.HasPrefix(err.Error(), "the number must be complete") {
		t.Errorf("Link with a bad number = %v", err)
	}
}
