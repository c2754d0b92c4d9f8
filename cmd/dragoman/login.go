package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/linking"

	"rsc.io/qr"
)

// loginCmd is "dragoman login": it links a channel that has no token, such as
// WhatsApp, to an account.
type loginCmd struct {
	Channel string `arg:"" optional:"" default:"whatsapp" help:"The channel's name in the configuration."`
	Code    string `placeholder:"+PHONE" help:"Show a code to type on the phone with this number, instead of QR codes to scan."`
}

// Run links the channel. It also works while the daemon runs.
func (k *loginCmd) Run(e *env, c *cli) error {
	phone := ""
	if k.Code != "" {
		var err error
		if phone, err = linking.PhoneNumber(k.Code); err != nil {
			return &usageError{"--code: " + err.Error()}
		}
	}
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		account, err := a.Link(ctx, k.Channel, phone, (&shown{e: e, channel: k.Channel}).show)
		switch {
		case ctx.Err() != nil:
			return context.Canceled
		case err != nil:
			return e.inPlainWords(err, k.Channel)
		}
		e.say("%s is linked to %s.", oneLine(k.Channel), oneLine(account))
		return nil
	})
}

// shown is the state of the terminal during a login.
type shown struct {
	e       *env
	channel string
	rows    int  // of the QR code on the screen
	large   bool // that code did not fit
	guided  bool // the way on the phone was printed
}

// show prints an invitation over the one before it.
func (s *shown) show(i channels.Invitation) {
	if i.Code != "" {
		s.guide()
		s.e.say("Choose \"Link with phone number instead\" there, and type: %s", oneLine(i.Code))
		return
	}
	picture, err := drawQR(i.QR, s.e.plain)
	if err != nil {
		s.e.say("The QR code cannot be drawn (%v). Use --code with the phone's number instead.", err)
		return
	}
	first, _, _ := strings.Cut(bare(picture), "\n")
	width, rows := len([]rune(first)), strings.Count(picture, "\n")+1 // and a line below it
	wrong := s.tooSmall(width, rows+1)                                // where the cursor is
	s.clear(wrong != "")
	s.guide()
	if wrong != "" {
		s.e.say("%s", wrong)
	}
	_, _ = fmt.Fprint(s.e.out, picture)
	s.e.say("Scan this code. A new one appears when it expires; Ctrl-C cancels.")
	if wrong != "" { // the lines above have scrolled out of sight
		s.e.say("If you see only part of it, enlarge the window and wait for the next one, or use --code +PHONE.")
	}
	s.rows, s.large = rows, wrong != ""
}

// guide prints the way to the right page on the phone, once.
func (s *shown) guide() {
	if !s.guided {
		s.guided = true
		s.e.say("On the phone: WhatsApp, Settings, Linked devices, Link a device.")
	}
}

// tooSmall returns advice if the terminal has fewer columns or rows than that, or
// "". It looks each time, because people resize their windows.
func (s *shown) tooSmall(width, height int) string {
	columns, rows := s.e.size()
	if columns == 0 || columns >= width && rows >= height {
		return ""
	}
	return fmt.Sprintf("This window is too small for the QR code: it has %d columns and %d rows, and %d and %d are needed.\n"+
		"Make it larger or its letters smaller, or link without a QR code: %s --code +PHONE",
		columns, rows, width, height, s.e.command("login", s.channel))
}

// clear removes the last code from the terminal. If it did not fit, it has scrolled,
// so the whole screen is cleared.
func (s *shown) clear(whole bool) {
	switch {
	case s.rows == 0 || s.e.plain:
	case whole || s.large:
		_, _ = fmt.Fprint(s.e.out, "\x1b[H\x1b[J")
		s.guided = false
	default:
		_, _ = fmt.Fprintf(s.e.out, "\x1b[%dA\x1b[J", s.rows)
	}
}

// quiet is the empty border that scanners need, in modules.
const quiet = 4

const (
	blackOnWhite = "\x1b[38;5;16;48;5;231m"
	usual        = "\x1b[0m"
)

// drawQR draws text as a QR code, two modules a character. On a terminal it sets
// black on white. In plain text it draws the light modules, which is right for a
// dark terminal.
func drawQR(text string, plain bool) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", err
	}
	if code.Size == 0 {
		return "", errors.New("it is empty")
	}
	marks := [4]string{" ", "▀", "▄", "█"} // neither half, the upper, the lower, both
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		if !plain {
			b.WriteString(blackOnWhite)
		}
		for x := -quiet; x < code.Size+quiet; x++ {
			mark := 0
			if code.Black(x, y) != plain {
				mark |= 1
			}
			if code.Black(x, y+1) != plain {
				mark |= 2
			}
			b.WriteString(marks[mark])
		}
		if !plain {
			b.WriteString(usual)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

func bare(picture string) string {
	return strings.NewReplacer(blackOnWhite, "", usual, "").Replace(picture)
}

// logoutCmd is "dragoman logout": it ends what [loginCmd] began.
type logoutCmd struct {
	Channel string `arg:"" optional:"" default:"whatsapp" help:"The channel's name in the configuration."`
}

// Run unlinks the channel. It also works while the daemon runs.
func (k *logoutCmd) Run(e *env, c *cli) error {
	return e.withAdmin(c, func(ctx context.Context, a *api.Client) error {
		got, err := api.Unlink.Call(ctx, a, api.ChannelName{Name: k.Channel})
		switch {
		case ctx.Err() != nil:
			return context.Canceled
		case err != nil:
			return e.inPlainWords(err, k.Channel)
		}
		e.say("%s is no longer linked to a phone. To link it again: %s", oneLine(k.Channel), e.command("login", k.Channel))
		if !got.Told {
			e.say("WhatsApp could not be reached, so remove the device on the phone too: Settings, Linked devices.")
		}
		return nil
	})
}

// inPlainWords drops the attempt from an error: the person has asked for it.
func (e *env) inPlainWords(err error, channel string) error {
	text := plainly(err)
	for _, attempt := range []string{"link: ", "unlink: "} {
		text = strings.TrimPrefix(text, attempt)
	}
	return &plainError{e.ownHint(text, "logout", channel), err}
}
