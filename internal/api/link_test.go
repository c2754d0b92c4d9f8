package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"

	"github.com/google/go-cmp/cmp"
	"rsc.io/qr"
)

// phones are channels whose accounts live on phones, and link is how they link.
type phones struct {
	noPhones
	link func(ctx context.Context, name, phone string, show func(channels.Invitation)) (string, error)
}

func (p phones) Link(ctx context.Context, name, phone string, show func(channels.Invitation)) (string, error) {
	return p.link(ctx, name, phone, show)
}

// linkLine is a line of what the verb answers.
type linkLine struct {
	QR, Code, Account string
	Picture           *api.Picture
	Failure           *struct{ Error, Code string }
}

// linking asks for the linking of a channel, and returns all lines of the answer.
func linking(t *testing.T, p phones, body string) (lines []linkLine, w *httptest.ResponseRecorder) {
	t.Helper()
	o := optionsOf(filled(t))
	o.Phones = p
	w = asked(api.New(o), "POST", api.Root+"/channels/my%20phone/link", body)
	text := bufio.NewScanner(w.Body)
	text.Buffer(nil, 1<<20)
	for w.Code == 200 && text.Scan() {
		var l linkLine
		if err := json.Unmarshal(text.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", text.Text(), err)
		}
		lines = append(lines, l)
	}
	return lines, w
}

// modules parses a path of rectangles: true is dark.
func modules(t *testing.T, p *api.Picture) [][]bool {
	t.Helper()
	if p == nil {
		t.Fatal("a line has no picture")
	}
	got := make([][]bool, p.Size)
	for y := range got {
		got[y] = make([]bool, p.Size)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(p.Path, "z"), "z") {
		var x, y, run, back int
		if _, err := fmt.Sscanf(part, "M%d %dh%dv1h-%d", &x, &y, &run, &back); err != nil || run != back {
			t.Fatalf("%q is no rectangle: %v", part, err)
		}
		for i := range run {
			got[y][x+i] = true
		}
	}
	return got
}

func modulesOf(t *testing.T, text string) [][]bool {
	t.Helper()
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]bool, code.Size)
	for y := range want {
		want[y] = make([]bool, code.Size)
		for x := range want[y] {
			want[y][x] = code.Black(x, y)
		}
	}
	return want
}

// The picture shows the code, a new code replaces it, and the last line names the account.
func TestLinkShowsWhatIsToBeScanned(t *testing.T) {
	codes := []string{"https://wa.me/settings/linked_devices#2@" + strings.Repeat("abcdefgh", 28), "another code"}
	p := phones{link: func(_ context.Context, name, phone string, show func(channels.Invitation)) (string, error) {
		if name != "my phone" || phone != "" {
			t.Errorf("Link(%q, %q)", name, phone)
		}
		for _, text := range codes {
			show(channels.Invitation{QR: text})
		}
		return "+15550000001", nil
	}}
	lines, w := linking(t, p, `{"picture": true}`)
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q, want no-store: a code is a credential", got)
	}
	if len(lines) != 3 || lines[2].Account != "+15550000001" {
		t.Fatalf("lines = %+v, want two codes and the account", lines)
	}
	for i, text := range codes {
		if diff := cmp.Diff(modulesOf(t, text), modules(t, lines[i].Picture)); diff != "" || lines[i].QR != text {
			t.Errorf("code %d (-want +got):\n%s", i, diff)
		}
	}
	if lines, _ := linking(t, p, "{}"); lines[0].Picture != nil || lines[0].QR != codes[0] {
		t.Errorf("a line that no picture was asked for = %+v", lines[0])
	}
}

// A code to type has no picture, and a text that no code can hold is sent without one.
func TestLinkWithoutAPicture(t *testing.T) {
	p := phones{link: func(_ context.Context, _, phone string, show func(channels.Invitation)) (string, error) {
		show(channels.Invitation{Code: "ABCD-1234"})
		show(channels.Invitation{QR: strings.Repeat("x", 5000)})
		return phone, nil
	}}
	lines, _ := linking(t, p, `{"phone": "+1 555", "picture": true}`)
	if len(lines) != 3 || lines[0].Code != "ABCD-1234" || lines[0].Picture != nil || lines[1].Picture != nil || lines[2].Account != "+1 555" {
		t.Errorf("lines = %+v", lines)
	}
}

// A linking ends when its time is over, when its caller leaves, and with its failure.
func TestLinkEnds(t *testing.T) {
	waits := phones{link: func(ctx context.Context, _, phone string, show func(channels.Invitation)) (string, error) {
		if phone != "" {
			return "", errors.New("whatsapp: link: that phone's WhatsApp is too old; update it")
		}
		show(channels.Invitation{QR: "a code"})
		<-ctx.Done()
		return "", context.Cause(ctx)
	}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		lines, _ := linking(t, waits, `{"within_seconds": 300}`)
		if took := time.Since(began); len(lines) != 2 || lines[1].Failure == nil || lines[1].Failure.Code != "expired" || took != 5*time.Minute {
			t.Errorf("after %s the lines are %+v, want that it expired after 5m", took, lines)
		}
	})
	if _, w := linking(t, waits, `{"phone": "+1"}`); w.Code != 422 || !strings.Contains(w.Body.String(), "too old; update it") {
		t.Errorf("a failure before the first code = %d %s", w.Code, w.Body)
	}
	for _, within := range []string{"-1", "3601"} {
		if _, w := linking(t, waits, `{"within_seconds": `+within+`}`); w.Code != 400 {
			t.Errorf("within %s = %d, want 400", within, w.Code)
		}
	}
}
