// Package chromium starts Debian's Chromium for tests of the page.
package chromium

import (
	"context"
	"slices"
	"testing"
	"time"

	"dragoman/internal/testkit"

	"github.com/chromedp/chromedp"
)

// longest is how long a test may have a browser.
const longest = 5 * time.Minute

// Start starts one browser for a test, with more options of its command line, and returns
// the context for its tabs. It ends with the test. A test on a machine without Chromium is
// skipped.
func Start(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(testkit.Need(t, "chromium")), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", false),
	)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts it, for every tab to share
		t.Fatal(err)
	}
	return ctx
}
