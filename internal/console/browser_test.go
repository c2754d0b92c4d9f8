package console_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/live/livetest"
	"dragoman/internal/console"
	"dragoman/internal/people"
	"dragoman/internal/testkit"
	"dragoman/internal/web"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// gateway is a small daemon. It stores messages, answers word by word as script says, and can
// be stopped and restarted at the same address.
type gateway struct {
	t      *testing.T
	addr   string
	token  string
	tokens *people.Tokens
	script func(question string) string
	pace   time.Duration
	change []func(*console.Options)
	feed   livetest.Feed
	files  livetest.Files

	mu    sync.Mutex
	turns map[string]context.CancelFunc // by question
	half  string                        // of the answer that is being written
	shown string                        // the id of its preview
	web   *live.Hub
	down  func()
	work  sync.WaitGroup
}

func newGateway(t *testing.T, token string, script func(string) string, change ...func(*console.Options)) *gateway {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{
		t: t, addr: l.Addr().String(), token: token, tokens: newTokens(t, token), script: script, pace: 15 * time.Millisecond,
		turns: map[string]context.CancelFunc{}, change: change,
	}
	g.up(l)
	t.Cleanup(func() {
		g.down()
		g.stopTurns()
		g.work.Wait()
	})
	return g
}

// up starts a daemon on l.
func (g *gateway) up(l net.Listener) {
	ch, err := live.New(live.Options{Name: "web", Room: live.PageRoom, Feed: g.feed.Read, Visitor: livetest.Alone, Files: &g.files, MaxFile: 1 << 20})
	if err != nil {
		g.t.Fatal(err)
	}
	ch.SetCommands(channels.Menu{Operator: []channels.Command{
		{Name: "help", Help: "what the commands do"},
		{Name: "new", Help: "begin a new conversation"},
		{Name: "compact", Help: "summarise the older part of the conversation (all of it is kept)"},
		{Name: "stop", Help: "stop the answer that is being written"},
		{Name: "status", Help: "what is going on"},
	}})
	o := console.Options{Chat: ch.Handler()}
	for _, f := range g.change {
		f(&o)
	}
	srv := &http.Server{Handler: enter(g.t, g.addr, g.token, g.tokens, o), ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = ch.Run(ctx, g) })
	wg.Go(func() { _ = srv.Serve(l) })
	g.mu.Lock()
	g.web = ch
	g.mu.Unlock()
	g.down = sync.OnceFunc(func() {
		cancel()
		_ = srv.Close()
		wg.Wait()
	})
}

// link is the address of a one-time link, which opens the page with all scopes.
func (g *gateway) link() string {
	g.t.Helper()
	secret, _, err := people.NewLinks(g.tokens).Create(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.Replace(web.LinkURL("http://"+g.addr, secret), "/login", "/login?to=%2Fold", 1)
}

// back restarts the daemon at its address.
func (g *gateway) back() {
	g.t.Helper()
	l, err := net.Listen("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.up(l)
}

// put adds an item to the feed.
func (g *gateway) put(it live.Item) (added bool) {
	if it.At.IsZero() {
		it.At = time.Now()
	}
	return g.feed.Put(it)
}

// Accept stores m once and begins to answer it.
func (g *gateway) Accept(_ context.Context, m channels.Inbound) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	stop := m.Text == "/stop"
	it := live.Item{ID: m.ID, From: live.FromPerson, Text: m.Text, At: m.At, Waiting: !stop}
	for _, a := range m.Attachments {
		it.Files = append(it.Files, live.File{Name: a.Name, Type: a.Type, Bytes: a.Bytes, Ref: a.Ref})
	}
	if !g.put(it) {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	if stop {
		cancel()
		text, shown := g.half+"\n\n*(stopped)*", g.shown
		g.work.Go(func() {
			g.stopTurns()
			g.finish(m, text, shown)
		})
		return nil
	}
	g.turns[m.ID] = cancel
	g.work.Go(func() { g.turn(ctx, m) })
	return nil
}

func (g *gateway) Quarantine(context.Context, string, string, []byte, error) error { return nil }

func (g *gateway) stopTurns() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cancel := range g.turns {
		cancel()
	}
}

func (g *gateway) channel() *live.Hub {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.web
}

// turn answers m as the real daemon does: a typing sign, previews, the final text.
func (g *gateway) turn(ctx context.Context, m channels.Inbound) {
	answer := g.script(m.Text)
	id := ""
	p := channels.Preview{Key: m.Key, Turn: "turn-" + m.ID, Note: "web_fetch …"}
	pause := 40 * g.pace // the tool takes its time
	for i := 0; i <= len(answer); {
		got, err := g.channel().Preview(ctx, p)
		if err == nil {
			id = got
		}
		g.mu.Lock()
		if ctx.Err() == nil {
			g.half, g.shown = p.Text, id
		}
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = g.pace
		next := strings.IndexByte(answer[min(i+1, len(answer)):], ' ')
		if next < 0 {
			break
		}
		i += next + 1
		p.Text, p.Note = answer[:i], ""
	}
	g.finish(m, answer, id)
}

// finish commits and delivers the answer.
func (g *gateway) finish(m channels.Inbound, text, edit string) {
	g.mu.Lock() // two ends at once would take one number
	g.feed.Answered()
	out := channels.Outbound{ID: fmt.Sprintf("out-%d", len(g.feed.Items())), Key: m.Key, Text: text, Edit: edit, Attempt: 1}
	if strings.HasPrefix(text, "Sorry, ") {
		out.Kind = channels.KindApology
	}
	g.put(live.Item{ID: out.ID, From: live.FromDragoman, Text: text, Failed: out.Kind == channels.KindApology})
	g.mu.Unlock()
	_, _ = g.channel().Send(context.Background(), out) // while it is down the feed has it
}

func (g *gateway) texts() []string { return g.feed.Texts() }

// chrome starts one browser for a test.
func chrome(t *testing.T) context.Context {
	t.Helper()
	path := testkit.Need(t, "chromium")
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", false),
	)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts it, for every visit to share
		t.Fatal(err)
	}
	return ctx
}

// visitor is one open page, and the errors on it.
type visitor struct {
	t     *testing.T
	ctx   context.Context
	width int64 // of the screen

	mu       sync.Mutex
	troubles []string
}

func visit(t *testing.T, browser context.Context, width, height int64, phone bool, url string) *visitor {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	v := &visitor{t: t, ctx: ctx, width: width}
	if err := chromedp.Listen(ctx, v.listen); err != nil {
		t.Fatal(err)
	}
	shape := []chromedp.EmulateViewportOption{}
	if phone {
		shape = append(shape, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(2))
	}
	v.do(chromedp.EmulateViewport(width, height, shape...), chromedp.Navigate(url))
	t.Cleanup(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, s := range v.troubles {
			t.Errorf("the page: %s", s)
		}
	})
	return v
}

// listen records what no page may do: throw, open a dialog, or break its policy.
func (v *visitor) listen(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		v.troubles = append(v.troubles, fmt.Sprintf("threw %s", e.ExceptionDetails.Text))
		if e.ExceptionDetails.Exception != nil {
			v.troubles = append(v.troubles, e.ExceptionDetails.Exception.Description)
		}
	case *page.EventJavascriptDialogOpening:
		v.troubles = append(v.troubles, "a dialog opened: "+e.Message)
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork { // a server that is away is part of the story
			v.troubles = append(v.troubles, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	}
}

func (v *visitor) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatalf("in the browser: %v", err)
	}
}

// keys types into the focused element. "\r" is Enter, as a keyboard sends it: if the page
// handles the key, it produces no character.
func (v *visitor) keys(text string) {
	v.t.Helper()
	for i, part := range strings.Split(text, "\r") {
		if i > 0 {
			v.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				key := input.DispatchKeyEventParams{Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, key); err != nil {
					return err
				}
				key.Type, key.Text = "keyUp", ""
				_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, key)
				return err
			}))
		}
		v.do(chromedp.KeyEvent(part))
	}
}

// js evaluates an expression.
func js[T any](v *visitor, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatalf("in the browser: %s: %v", expression, err)
	}
	return got
}

// until waits for an expression to be true. While a page is being loaded or left, an
// expression may throw or lose its context: that means "not yet", not a failure.
func (v *visitor) until(expression string) {
	v.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
		done, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")", chromedp.EvalAwaitPromise))
		cancel()
		if err == nil && done {
			return
		}
		if time.Now().After(deadline) {
			v.picture("failed-" + strings.ReplaceAll(v.t.Name(), "/", "-"))
			v.t.Fatalf("waited in vain for %s (last error: %v); the page says:\n%s", expression, err, js[string](v, "document.body.innerText"))
		}
		select {
		case <-v.ctx.Done():
			v.t.Fatal(v.ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// scheme selects the light or dark colour scheme.
func (v *visitor) scheme(name string) {
	v.t.Helper()
	v.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	}))
}

// picture writes a screenshot to the folder in DRAGOMAN_PICTURES, if set.
func (v *visitor) picture(name string) {
	v.t.Helper()
	dir := os.Getenv("DRAGOMAN_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		v.t.Fatal(err)
	}
}

var reload = chromedp.Reload()

func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
}

// name is the test's last part, for naming pictures.
func (v *visitor) name() string { return v.t.Name()[strings.LastIndex(v.t.Name(), "/")+1:] }

func inbound(id, text string) channels.Inbound {
	return channels.Inbound{Key: channels.MustKey("web:default"), ID: id, Text: text, At: time.Now()}
}

// Parts of the page that several tests look at.
const (
	card     = `document.querySelector("[data-channel=whatsapp]")`
	cardSays = card + `.innerText`
	code     = `document.querySelector("svg.qr")`
	focused  = `document.activeElement?.textContent`
)

// state is the state word on the card.
func state(word string) string {
	return card + `.querySelector(".state").textContent === "` + word + `"`
}
