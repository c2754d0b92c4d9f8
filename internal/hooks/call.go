package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"dragoman/internal/stream"
)

func (w *worker) call(ctx context.Context, e stream.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic of type %T", p)
		}
	}()
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the event: %w", err)
	}
	if w.http != nil {
		return w.post(ctx, body)
	}
	return w.run(ctx, body)
}

// killDelay is how long a killed program may keep its pipe open.
const killDelay = time.Second

// run runs the program. Its output is discarded: a program that needs a log must write
// one itself.
func (w *worker) run(ctx context.Context, body []byte) error {
	cmd := exec.CommandContext(ctx, w.Command[0], w.Command[1:]...)
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	cmd.Env = environment()
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Kill the whole group: otherwise children of the program would outlive it.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	if errors.Is(err, syscall.EPIPE) {
		return nil // it succeeded without reading the event
	}
	return err
}

// environment returns the few variables that a program needs. The daemon's environment
// often has keys and tokens.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// post sends the event. Any answer but 2xx is a failure. It reads the body only so that
// the connection can be used again.
func (w *worker) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the url cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "dragoman")
	if w.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+w.Secret)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // its text has the whole URL, which may contain a secret
			err = failed.Err
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered with status %d", resp.StatusCode)
	}
	return nil
}

func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second, IdleConnTimeout: time.Minute, MaxIdleConns: 2,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
