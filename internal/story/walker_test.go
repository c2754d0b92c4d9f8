package story_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/api"
	browser "dragoman/internal/testkit/chromium"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	requests "github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pageKit is the folder with the packages that the walks need; make test-page sets it.
func pageKit(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DRAGOMAN_PAGE")
	if dir == "" {
		t.Skip("run it with: make test-page")
	}
	return dir
}

// chromium starts one browser for a test, with a microphone that beeps.
func chromium(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	return browser.Start(t, append(more, chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true))...)
}

// walker is somebody at the page: one tab of a browser profile of their own.
type walker struct {
	t    *testing.T
	ctx  context.Context
	site string

	settling sync.WaitGroup // requests that are let go

	mu       sync.Mutex
	expected []string // what the browser may say of failed requests, word for word
	troubles []string
	wire     int64                      // bytes received, with headers, as they were on the wire
	streams  map[network.RequestID]bool // of events, that are open
	mood     mood
	held     []*requests.EventRequestPaused
}

// walker opens a tab for the holder of a session cookie, or for somebody without any.
func (d *daemon) walker(browser context.Context, cookie string) *walker {
	d.t.Helper()
	return d.walkerAt(browser, "127.0.0.1", cookie)
}

// walkerAt is walker under another name of the same machine.
func (d *daemon) walkerAt(browser context.Context, host, cookie string) *walker {
	d.t.Helper()
	s, err := api.ReadStatus.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	_, port, _ := strings.Cut(s.Listen, ":")
	w := newTab(d.t, browser, "http://"+host+":"+port, chromedp.WithNewBrowserContext())
	if name, value, found := strings.Cut(cookie, "="); found {
		call(w, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: w.site, HTTPOnly: new(true)})
	}
	return w
}

// newTab opens a tab: of the same profile as the one whose context it gets, unless told otherwise.
func newTab(t *testing.T, beside context.Context, site string, options ...chromedp.ContextOption) *walker {
	t.Helper()
	ctx, cancel := chromedp.NewContext(beside, options...)
	t.Cleanup(cancel)
	w := &walker{t: t, ctx: ctx, site: site, streams: map[network.RequestID]bool{}}
	if err := chromedp.Listen(ctx, w.listen); err != nil {
		t.Fatal(err)
	}
	call(w, network.Enable, network.EnableParams{})
	w.resize(1440, 900)
	t.Cleanup(w.complain)
	return w
}

// complain fails the test if the page had something to say in its console.
func (w *walker) complain() {
	w.settling.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.troubles {
		w.t.Errorf("the page: %s", s)
	}
}

// listen records what no page may do, and counts bytes.
func (w *walker) listen(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		words := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			words += " " + e.ExceptionDetails.Exception.Description
		}
		w.troubles = append(w.troubles, "threw "+words)
	case *runtime.EventConsoleAPICalled:
		words := ""
		for _, arg := range e.Args {
			words += " " + string(arg.Value) + arg.Description
		}
		w.troubles = append(w.troubles, fmt.Sprintf("said console.%s%s", e.Type, words))
	case *page.EventJavascriptDialogOpening:
		w.troubles = append(w.troubles, "a dialog opened: "+e.Message)
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork || !slices.Contains(w.expected, e.Entry.Text) {
			w.troubles = append(w.troubles, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if strings.Contains(e.Request.URL, "/api/v1/events") {
			w.streams[e.RequestID] = true
		}
	case *network.EventLoadingFinished:
		delete(w.streams, e.RequestID)
		w.wire += int64(e.EncodedDataLength)
	case *network.EventLoadingFailed:
		delete(w.streams, e.RequestID)
	case *requests.EventRequestPaused:
		w.held = append(w.held, e)
		w.settle()
	}
}

// call sends one command of the browser's protocol.
func call[P, R any](w *walker, command cdp.Command[P, R], params P) R {
	w.t.Helper()
	got, err := attempt(w, command, params)
	if err != nil {
		w.t.Fatalf("in the browser: %v", err)
	}
	return got
}

// attempt sends one command that may fail.
func attempt[P, R any](w *walker, command cdp.Command[P, R], params P) (got R, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
	defer cancel()
	err = chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		got, err = cdp.Call(ctx, t, command, params)
		return err
	}))
	return got, err
}

func (w *walker) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		w.t.Fatalf("in the browser: %v", err)
	}
}

// asks evaluates an expression.
func asks[T any](w *walker, expression string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.t.Fatalf("in the browser: %.300s: %v", expression, err)
	}
	return got
}

// until waits for an expression to be true. While a page is loaded or left, an expression
// may throw: that means "not yet".
func (w *walker) until(what, expression string) {
	w.t.Helper()
	w.poll(what, func() bool {
		ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
		defer cancel()
		done, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")", chromedp.EvalAwaitPromise))
		return err == nil && done
	})
}

// poll waits for something to be so.
func (w *walker) poll(what string, done func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) || w.ctx.Err() != nil {
			w.picture("failed-" + strings.ReplaceAll(w.t.Name(), "/", "-"))
			w.t.Fatalf("waited in vain for %s; the page at %s says:\n%s", what, asks[string](w, "location.pathname"), asks[string](w, "document.body.innerText"))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// open goes to an address of the page, as if it had been typed, and waits for what is there.
func (w *walker) open(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.site + path))
	w.drawn()
}

// drawn waits until a view is there and nothing of it is on its way.
func (w *walker) drawn() {
	w.t.Helper()
	w.until("a view without anything on its way", `document.querySelector("main h1, h1") && !document.querySelector(".bones, [aria-busy=true]")`)
}

// reads waits until the page says words.
func (w *walker) reads(words string) {
	w.t.Helper()
	quoted, err := json.Marshal(words)
	if err != nil {
		w.t.Fatal(err)
	}
	w.until(fmt.Sprintf("%q on the page", words), `document.body.innerText.includes(`+string(quoted)+`)`)
}

// press presses the keys of a text: kb.Enter is Enter. A key and its letter are one event, as
// from a keyboard, so a page that takes the key gets no letter.
func (w *walker) press(keys string) {
	w.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		if len(events) == 3 {
			events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			events = []*input.DispatchKeyEventParams{events[0], events[2]}
		}
		for _, e := range events {
			call(w, input.DispatchKeyEvent, *e)
		}
	}
}

// resize gives the screen a size in CSS pixels. Narrow ones are a phone's.
func (w *walker) resize(width, height int64) {
	w.t.Helper()
	var shape []chromedp.EmulateViewportOption
	if width < 600 {
		shape = append(shape, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	w.do(chromedp.EmulateViewport(width, height, shape...))
}

// prefers sets media features, like prefers-color-scheme=dark.
func (w *walker) prefers(features ...string) {
	w.t.Helper()
	var list []*emulation.MediaFeature
	for _, f := range features {
		name, value, _ := strings.Cut(f, "=")
		list = append(list, &emulation.MediaFeature{Name: name, Value: value})
	}
	call(w, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
}

// picture writes a screenshot to the folder in DRAGOMAN_PICTURES, if set; one of a failure to
// the machine's temporary folder, and says where.
func (w *walker) picture(name string) {
	w.t.Helper()
	dir := os.Getenv("DRAGOMAN_PICTURES")
	if dir == "" {
		return
	}
	if strings.HasPrefix(name, "failed-") {
		dir = os.TempDir()
		w.t.Logf("its picture: %s", filepath.Join(dir, name+".png"))
	}
	png, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		w.t.Error(err)
	}
}
