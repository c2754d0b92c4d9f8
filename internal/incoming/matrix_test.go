package incoming_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/incoming"
	"dragoman/internal/webhook"
)

// secretsOf are those of the hooks of a kind: the present one, the former one, and that of
// another hook.
var secretsOf = map[webhook.Kind][3]string{
	webhook.Standard: {"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY=", "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpBQkNERUY="},
	webhook.GitHub:   {"github-present", "github-former", "github-other"},
	webhook.Bearer:   {"bearer-present", "bearer-former", "bearer-other"},
	webhook.Basic:    {"shop:basic-present", "shop:basic-former", "shop:basic-other"},
}

// proof is the header by which a caller of a kind shows that it knows secret.
func proof(t *testing.T, kind webhook.Kind, secret, id, body string, at time.Time) http.Header {
	t.Helper()
	h := http.Header{}
	switch kind {
	case webhook.Standard:
		key, err := webhook.ParseKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		h.Set("webhook-signature", webhook.Sign([]webhook.Key{key}, id, at, []byte(body)))
	case webhook.GitHub:
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write([]byte(body))
		h.Set("X-GitHub-Delivery", id)
		h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	case webhook.Bearer:
		h.Set("webhook-id", id)
		h.Set("Authorization", "Bearer "+secret)
	case webhook.Basic:
		h.Set("webhook-id", id)
		r := http.Request{Header: h}
		user, password, _ := strings.Cut(secret, ":")
		r.SetBasicAuth(user, password)
	}
	return h
}

// Each kind of proof against each kind of call. What is refused reaches nobody, and the
// answer does not say whether the hook exists.
func TestMatrix(t *testing.T) {
	const body = `{"what":"a book"}`
	for kind, secret := range secretsOf {
		t.Run(string(kind), func(t *testing.T) {
			hook := incoming.Hook{
				Name: "shop", Checker: checker(t, kind, secret[0], secret[1]), To: channels.MustKey("web:shop"), Text: parse(t, "sold: {{what}}"),
			}
			other := hook
			other.Name = "other"
			other.Checker = checker(t, kind, secret[2])
			y := newYard(t, hook, other)
			signed := kind == webhook.Standard || kind == webhook.GitHub
			right := call{name: "shop", body: body, header: proof(t, kind, secret[0], "one", body, start)}
			changed := right
			changed.body = `{"what":"a bank"}`
			elsewhere := right
			elsewhere.name = "nothing"
			atOther := right
			atOther.name = "other"
			former := call{name: "shop", body: body, header: proof(t, kind, secret[1], "two", body, start)}
			foreign := call{name: "shop", body: body, header: proof(t, kind, secret[2], "three", body, start)}
			old := call{name: "shop", body: body, header: proof(t, kind, secret[0], "four", body, start.Add(-6*time.Minute))}
			for _, c := range []struct {
				what string
				call call
				want int
			}{
				{"no proof", call{name: "shop", body: body}, 401},
				{"an empty secret", call{name: "shop", body: body, header: http.Header{"Authorization": {"Bearer "}, "X-Hub-Signature-256": {"sha256="}}}, 401},
				{"another hook's secret", foreign, 401},
				{"this hook's secret at another hook", atOther, 401},
				{"a hook that does not exist", elsewhere, 401},
				{"the right one", right, 202},
				{"the same once more", right, 200},
				{"the former secret", former, 202},
				// A bearer's body is not covered: under its id it is a repeat.
				{"another body under the same proof", changed, map[bool]int{true: 401, false: 200}[signed]},
				// Only Standard Webhooks say when they were sent.
				{"a call of six minutes ago", old, map[bool]int{true: 401, false: 202}[kind == webhook.Standard]},
			} {
				before := y.count()
				a, err := y.call(c.call)
				if got := status(t, a, err); got != c.want {
					t.Errorf("%s is answered %d (%v), want %d", c.what, got, err, c.want)
				}
				if led := y.count() - before; led > 0 != (c.want == 202) {
					t.Errorf("%s led to %d calls", c.what, led)
				}
				if c.want == 401 && !strings.Contains(fmt.Sprint(err), "minutes") && fmt.Sprint(err) != "This hook does not exist, or its secret or signature is wrong." {
					t.Errorf("%s is told %q, which tells a hook from none", c.what, err)
				}
			}
			for _, word := range append(secret[:], "a book") {
				if strings.Contains(y.log.String(), word) {
					t.Errorf("the log shows %q: %s", word, &y.log)
				}
			}
		})
	}
}

// A repeat is known by its id or its body, for a week at least, over the end of a week, and
// not for ever.
func TestRepeats(t *testing.T) {
	for repeats, want := range map[incoming.Repeats][3]int{
		// a new id with the same body, the same id with another body, no id with the same body
		incoming.ByID:       {202, 200, 202},
		incoming.ByIDOrBody: {202, 200, 200},
		incoming.ByBody:     {200, 202, 200},
	} {
		t.Run(string(repeats), func(t *testing.T) {
			h, right := bearer(t, "{{body}}")
			h.Repeats = repeats
			y := newYard(t, h)
			unnamed := right
			if repeats == incoming.ByIDOrBody {
				y.expect(202, "a call without an id", unnamed)
			}
			y.expect(202, "a call", right.with("one"))
			y.expect(want[0], "the same body under another id", right.with("two"))
			other := right.with("one")
			other.body = `{"what":"another book"}`
			y.expect(want[1], "another body under the same id", other)
			y.expect(want[2], "the same body without an id", unnamed)
			for range 7 {
				y.pass(24 * time.Hour)
				y.expect(200, "a repeat within a week", right.with("one"))
			}
			y.pass(14 * 24 * time.Hour)
			y.expect(202, "the same after three weeks", right.with("one"))
			y.expect(200, "its repeat", right.with("one"))
		})
	}
}
