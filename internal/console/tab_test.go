package console_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"dragoman/internal/testkit/chromium"

	"github.com/chromedp/chromedp"
)

// tab is a page of our own site, under its policy, in which tests call the page's modules.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// visit opens the login, which loads none of the modules that are tested.
func visit(t *testing.T) *tab {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.Config.Handler = enter(t, srv.Listener.Addr().String(), "")
	srv.Start()
	t.Cleanup(srv.Close)
	ctx, cancel := chromedp.NewContext(chromium.Start(t))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/login")); err != nil {
		t.Fatal(err)
	}
	return &tab{t, ctx}
}

// js evaluates an expression.
func js[T any](v *tab, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatalf("in the browser: %s: %v", expression, err)
	}
	return got
}
