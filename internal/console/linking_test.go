//go:build !nowhatsapp

package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/console"
	"dragoman/internal/testkit"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// handset is the real WhatsApp channel on the simulated WhatsApp, next to other channels, and
// the invitations that it showed.
type handset struct {
	*wasim.Server
	channel *whatsapp.Channel
	ann     *wasim.Contact
	inbox   *channeltest.Inbox
	log     *testkit.Output

	mu    sync.Mutex
	shown []channels.Invitation
}

func newHandset(t *testing.T) *handset {
	t.Helper()
	s := wasim.Start(t, wasim.Options{})
	wasim.TrustRoot(wasim.RootKey())
	h := &handset{Server: s, ann: s.Contact("+15550000002", "Ann"), inbox: channeltest.NewInbox(), log: &testkit.Output{}}
	var err error
	h.channel, err = whatsapp.New("whatsapp", whatsapp.Options{
		Device: filepath.Join(t.TempDir(), "device.db"), HTTP: s.HTTPClient(),
		Logger: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = h.channel.Run(ctx, h.inbox) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if t.Failed() {
			t.Logf("the channel's log:\n%s", h.log)
		}
	})
	// The page looks once, and again after half a minute.
	testkit.Eventually(t, "the channel to need a phone", func() bool { return h.channel.Status().State == channels.StateFailed })
	return h
}

func (h *handset) Channels() []console.Channel {
	at := time.Now().Add(-3 * time.Hour)
	return []console.Channel{
		{Name: "libera", Type: "irc", Status: channels.Status{State: channels.StateDown, Detail: "the connection was lost; trying again in 12s", Since: at}},
		{Name: "telegram", Type: "telegram", Status: channels.Status{State: channels.StateConnected, Since: at}},
		{Name: "whatsapp", Type: "whatsapp", Linkable: true, Status: h.channel.Status()},
	}
}

func (h *handset) Link(ctx context.Context, _, phone string, show func(channels.Invitation)) (string, error) {
	return h.channel.Link(ctx, phone, func(i channels.Invitation) {
		h.mu.Lock()
		h.shown = append(h.shown, i)
		h.mu.Unlock()
		show(i)
	})
}

func (h *handset) Unlink(ctx context.Context, _ string) (bool, error) { return h.channel.Unlink(ctx) }

func (h *handset) all() []channels.Invitation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.shown)
}

// last is the invitation shown now.
func (h *handset) last() channels.Invitation {
	all := h.all()
	return all[len(all)-1]
}

// A person links a phone with its camera and logs it out, on a wide screen. On a phone, the
// person sees the code and links by number.
func TestLinkingAPhone(t *testing.T) {
	browser := chrome(t)
	for _, c := range []struct {
		name, scheme  string
		width, height int64
		phone         bool
	}{
		{"1400", "light", 1400, 900, false},
		{"360", "dark", 360, 740, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHandset(t)
			g := newGateway(t, "", sundial, func(o *console.Options) { o.Accounts = h })
			v := visit(t, browser, c.width, c.height, c.phone, g.link())
			v.scheme(c.scheme)
			v.until(connected)
			v.until(`!document.querySelector("#channels-mark").hidden`)
			v.fits()
			v.picture(c.name + "-mark")
			v.opensThePanel()
			v.picture(c.name + "-channels")
			v.showsQR(h)
			if c.phone {
				v.linksByNumber(h)
			} else {
				v.linksByQR(h)
				v.logsOut(h)
			}
			v.closesThePanel()
			for _, i := range h.all() {
				if said := h.log.String(); said == "" || strings.Contains(said, i.QR+i.Code) { // one of them is empty
					t.Errorf("a code is in the log:\n%s", said)
				}
			}
		})
	}
}

// tab moves the focus to the next element and waits until its label is to.
func (v *visitor) tab(to string) {
	v.t.Helper()
	v.keys("\t")
	v.until(focused + ` === "` + to + `"`)
}

func (v *visitor) opensThePanel() {
	v.t.Helper()
	if !js[bool](v, `(document.querySelector("#channels-open").focus(), document.activeElement.id === "channels-open")`) {
		v.t.Fatal("the button takes no focus")
	}
	v.keys("\r")
	v.until(`document.querySelector("#channels").open && ` + state("Not linked"))
	v.until(focused + ` === "Close"`)
	if n := js[int](v, `document.querySelectorAll("#channels-list li").length`); n != 3 {
		v.t.Errorf("%d channels are listed, want 3", n)
	}
	v.until(cardSays + `.includes("This device is not linked to a phone")`)
	v.panelFits()
}

// panelFits checks that nothing exceeds the panel's width.
func (v *visitor) panelFits() {
	v.t.Helper()
	wide := js[string](v, `(() => { const p = document.querySelector("#channels"), r = p.getBoundingClientRect();
		return [...p.querySelectorAll("*")].filter(e => e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().right > r.right + 1 ||
			e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().left < r.left - 1).map(e => e.tagName + "." + e.className).join(" "); })()`)
	if wide != "" {
		v.t.Errorf("wider than the panel: %s", wide)
	}
	v.fits()
}

// showsQR reads the code as a camera does.
func (v *visitor) showsQR(h *handset) {
	v.t.Helper()
	v.tab("Show the QR code")
	v.keys("\r")
	v.until(code)
	v.panelFits()
	want := modulesOf(v.t, h.last().QR)
	if diff := cmp.Diff(want, v.seen(len(want))); diff != "" {
		v.t.Errorf("the picture is not the code (-want +got):\n%s", diff)
	}
	v.picture(v.name() + "-qr")
}

// linksByQR scans the code on the page.
func (v *visitor) linksByQR(h *handset) {
	v.t.Helper()
	if err := h.Scan(v.ctx, h.last().QR); err != nil {
		v.t.Fatalf("the phone does not take the code: %v", err)
	}
	v.until(cardSays + `.includes("Linked to ` + h.Owner().Number() + `.") && ` + state("Connected"))
	if js[bool](v, code+` !== null`) {
		v.t.Error("the code is still shown")
	}
	v.until(focused + ` === "Log out"`)
	v.picture(v.name() + "-linked")
	v.until(`document.querySelector("#channels-mark").hidden`)
}

// seen reads the code from a screenshot, as a phone would: the middle of each module, dark or
// light, inside a light border.
func (v *visitor) seen(size int) [][]bool {
	v.t.Helper()
	type box struct{ Left, Top, Width, Scale float64 }
	at := js[box](v, `(() => { const q = document.querySelector("svg.qr"); q.scrollIntoView({block: "nearest"}); const r = q.getBoundingClientRect();
		return {Left: r.left, Top: r.top, Width: r.width, Scale: devicePixelRatio}; })()`)
	shot, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		v.t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		v.t.Fatal(err)
	}
	const quiet = 4
	module := at.Width / float64(size+2*quiet)
	dark := func(x, y int) bool {
		px := (at.Left + (float64(x)+quiet+0.5)*module) * at.Scale
		py := (at.Top + (float64(y)+quiet+0.5)*module) * at.Scale
		return isDark(img, int(px), int(py))
	}
	got := make([][]bool, size)
	for y := range got {
		for x := range size {
			got[y] = append(got[y], dark(x, y))
		}
	}
	for i := -quiet; i < size+quiet; i++ {
		if dark(i, -2) || dark(i, size+1) || dark(-2, i) || dark(size+1, i) {
			v.t.Errorf("the border is not light at %d", i)
		}
	}
	return got
}

func isDark(img image.Image, x, y int) bool {
	r, g, b, _ := img.At(x, y).RGBA()
	return r+g+b < 3*0x8000
}

// logsOut cancels once, then logs out.
func (v *visitor) logsOut(h *handset) {
	v.t.Helper()
	v.keys("\r")
	v.until(focused + ` === "Keep it"`)
	v.panelFits()
	v.picture(v.name() + "-logout")
	v.keys("\r")
	v.until(focused + ` === "Log out" && ` + state("Connected"))
	v.keys("\r")
	v.until(focused + ` === "Keep it"`)
	v.do(click("[data-channel=whatsapp] .danger"))
	v.until(cardSays + `.includes("Logged out.") && ` + state("Not linked"))
	h.ann.Say("anybody there?")
	if n := h.Pending(); n != 0 {
		v.t.Errorf("%d messages wait for the device, want that WhatsApp knows none", n)
	}
}

// linksByNumber types the code from the page into the phone.
func (v *visitor) linksByNumber(h *handset) {
	v.t.Helper()
	v.until(focused + ` === "Use a phone number instead"`)
	v.keys("\r")
	v.until(`document.activeElement?.type === "tel" && ` + code + ` === null`)
	v.keys(h.Owner().Number() + "\r")
	v.until(card + `.querySelector(".code")?.textContent.length === 9`)
	v.panelFits()
	v.picture(v.name() + "-code")
	if err := h.EnterCode(v.ctx, js[string](v, card+`.querySelector(".code").textContent`)); err != nil {
		v.t.Fatalf("the phone does not take the code: %v", err)
	}
	v.until(cardSays + `.includes("Linked to ` + h.Owner().Number() + `.") && ` + state("Connected"))
	h.ann.Say("hello")
	h.inbox.Wait(v.t, 1)
}

func (v *visitor) closesThePanel() {
	v.t.Helper()
	v.keys("\x1b")
	v.until(`!document.querySelector("#channels").open && document.activeElement?.id === "channels-open" && location.hash === ""`)
}

// A code is valid only while it is on the page, and the next one replaces it. When the time
// is up or an error occurs, the page says so and offers to try again.
func TestCodesComeAndGo(t *testing.T) {
	codes, ended := make(chan string), make(chan bool, 8)
	fail := make(chan error, 1)
	p := &phones{
		list: []console.Channel{{Name: "whatsapp", Type: "whatsapp", Linkable: true, Status: channels.Status{State: channels.StateFailed, Reason: "needs_pairing", Detail: "needs pairing"}}},
		link: func(ctx context.Context, _, _ string, show func(channels.Invitation)) (string, error) {
			defer func() { ended <- true }()
			for {
				select {
				case text := <-codes:
					show(channels.Invitation{QR: text})
				case err := <-fail:
					return "", err
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
		},
		unlink: func(context.Context, string) (bool, error) { return false, nil },
	}
	g := newGateway(t, "", sundial, func(o *console.Options) { o.Accounts = p })
	browser := chrome(t)
	v := visit(t, browser, 800, 700, false, g.link())
	v.until(connected)
	v.do(click("#channels-open"))
	v.until(state("Not linked"))
	v.do(click("[data-channel=whatsapp] .main"))
	shows := func(text string) {
		t.Helper()
		select {
		case codes <- text:
		case <-time.After(30 * time.Second):
			t.Fatal("nobody asks for a code")
		}
		path, err := json.Marshal(pathOf(t, text))
		if err != nil {
			t.Fatal(err)
		}
		v.until(fmt.Sprintf(`%s?.querySelector("path").getAttribute("d") === %s`, code, path))
	}
	shows("the first code")
	shows("the second code, which is longer than the first")
	fail <- errors.New("whatsapp: link: WhatsApp cannot be reached")
	v.until(cardSays + `.includes("WhatsApp cannot be reached.") && ` + code + ` === null`)
	await(t, ended)
	v.until(focused + ` === "Try again"`)
	v.keys("\r")
	shows("a code after that")
	v.keys("\x1b")
	await(t, ended) // nobody looks at it any more
	v.until(`!document.querySelector("#channels").open && ` + code + ` === null`)
	expires(t, browser)
}

func pathOf(t *testing.T, text string) string {
	t.Helper()
	p := &phones{link: func(_ context.Context, _, _ string, show func(channels.Invitation)) (string, error) {
		show(channels.Invitation{QR: text})
		return "x", nil
	}}
	next, _ := visitLink(t, t.Context(), p, p.serve(t, 0)+console.ChannelsPath+"/x/link", "{}")
	l := next()
	next()
	return l.QR.Path
}

// expires checks that the page says when the time is up.
func expires(t *testing.T, browser context.Context) {
	t.Helper()
	p := &phones{
		list: []console.Channel{{Name: "whatsapp", Type: "whatsapp", Linkable: true, Status: channels.Status{State: channels.StateFailed, Reason: "needs_pairing"}}},
		link: func(ctx context.Context, _, _ string, show func(channels.Invitation)) (string, error) {
			show(channels.Invitation{QR: "a code"})
			<-ctx.Done()
			return "", context.Cause(ctx)
		},
	}
	g := newGateway(t, "", sundial, func(o *console.Options) { o.Accounts, o.LinkWithin = p, 50*time.Millisecond })
	v := visit(t, browser, 800, 700, false, g.link())
	v.until(connected)
	v.do(click("#channels-open"))
	v.until(state("Not linked"))
	v.do(click("[data-channel=whatsapp] .main"))
	v.until(cardSays + `.includes("The code has expired.") && ` + code + ` === null && ` + focused + ` === "Show a new code"`)
}
