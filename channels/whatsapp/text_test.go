//go:build !nowhatsapp

package whatsapp_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

func TestRender(t *testing.T) {
	tests := []struct{ name, md, want string }{
		{"formulas", `**so** $$a**b**c$$ and \(x\)`, `*so* $$a**b**c$$ and \(x\)`},
		{"styles", "**bold** *italic* ~~gone~~ `code`", "*bold* _italic_ ~gone~ `code`"},
		{"both", "***very***", "_*very*_"},
		{"heading", "# The **Title**\n\ntext", "*The Title*\n\ntext"},
		{"inside a word", "foo**bar**baz", "foobarbaz"},
		{"punctuation", "(**a**), **b**.", "(*a*), *b*."},
		{"list", "- a\n- b\n  - c\n\n1. x\n2. y", "- a\n- b\n  - c\n\n1. x\n2. y"},
		{"tasks", "- [x] done\n- [ ] open", "- ☑ done\n- ☐ open"},
		{"quote", "> one\n> two\n\nafter", "> one\n> two\n\nafter"},
		{"code block", "```go\nx := `a`\n```", "```\nx := `a`\n```"},
		{"backticks in code", "````\na ``` b\n````", "```\na ''' b\n```"},
		{"code span with a backtick", "`` a`b ``", "a`b"},
		{"link", "[Go](https://go.dev) and <https://go.dev> and [https://go.dev](https://go.dev)", "Go (https://go.dev) and https://go.dev and https://go.dev"},
		{"bold over lines", "**a\nb**", "a\nb"},
		{"narrow table", "| a | b |\n|---|---|\n| 1 | 22 |", "```\na  b\n1  22\n```"},
		{"wide table", "| name | what it is |\n|---|---|\n| Go | a language made by people at a large company |", "name:\n- Go; what it is: a language made by people at a large company"},
		{"html", "a <b>x</b> &amp; c", "a <b>x</b> & c"},
		{"escapes", `1\. not a list \*x\*`, "1. not a list *x*"},
		{"escaped entity", `\&amp; \&lt;`, "&amp; &lt;"},
		{"snake", "a_b_c 2*3*4", "a_b_c 2*3*4"},
		{"definition", "[1]: https://go.dev", "[1]: https://go.dev"},
		{"rule", "a\n\n---\n\nb", "a\n\n———\n\nb"},
		{"empty", " \n", "…"},
		{"not text", "a\x00\x1b[31m\xffb", "a[31m\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, whatsapp.Render(tt.md)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"# a\n**b** _c_", "```\n````\n`x", "- a\n  > b\n\n| a |\n|--|\n| b |", "[a](b \"c\") ![](d) <e@f>", strings.Repeat("👨‍👩‍👧‍👦", 90)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, md string) {
		if out := whatsapp.Render(md); strings.TrimSpace(out) == "" || !utf8.ValidString(out) {
			t.Fatalf("Render(%q) = %q", md, out)
		}
	})
}

func TestMessageID(t *testing.T) {
	m := channels.Outbound{ID: "out-x-1-7", Key: channels.MustKey("whatsapp:+1"), Text: "a", Attempt: 1}
	id := whatsapp.MessageID(m)
	if len(id) != 24 || !strings.HasPrefix(id, "3EB0") || strings.Trim(id, "0123456789ABCDEF") != "" {
		t.Errorf("MessageID = %q, want 3EB0 and 20 hex digits", id)
	}
	again := m
	again.Attempt, again.Uncertain = 2, true
	if got := whatsapp.MessageID(again); got != id {
		t.Errorf("MessageID of the second attempt = %q, of the first %q", got, id)
	}
	joined := m
	joined.Key = channels.MustKey("whatsapp:+2")
	if got := whatsapp.MessageID(joined); got != id {
		t.Errorf("MessageID after its chat was joined with another = %q, before it %q", got, id)
	}
	other, elsewhere := m, m
	other.ID, elsewhere.Key = "out-x-1-8", channels.MustKey("business:+1")
	if whatsapp.MessageID(other) == id || whatsapp.MessageID(elsewhere) == id {
		t.Error("two messages have the same id")
	}
}

func TestClassify(t *testing.T) {
	refused := func(code int) error { return fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, code) }
	tests := []struct {
		name                     string
		err                      error
		permanent, notSent, wait bool
	}{
		{"463", refused(463), false, true, true},
		{"403", refused(403), false, true, true},
		{"420", refused(420), false, true, true},
		{"404", refused(404), true, false, false},
		{"406", refused(406), true, false, false},
		{"479", refused(479), true, false, false},
		{"429", refused(429), false, true, true},
		{"500", refused(500), false, false, false},
		{"4630", refused(4630), false, false, false},
		{"no ack", whatsmeow.ErrMessageTimedOut, false, false, false},
		{"no connection", whatsmeow.ErrNotConnected, false, true, false},
		{"not in the group", fmt.Errorf("failed to get group members: %w", whatsmeow.ErrNotInGroup), false, true, true},
		{"no such group", fmt.Errorf("failed to get group members: %w", whatsmeow.ErrGroupNotFound), true, false, false},
		{"the file is too big", errors.New("upload failed with status code 413"), true, false, false},
		{"the file server fails", errors.New("upload failed with status code 503"), false, false, false},
		{"not on WhatsApp", errors.New("no LID found for 1@s.whatsapp.net from server"), true, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := whatsapp.Classify(fmt.Errorf("whatsapp: send: %w", tt.err))
			var retry *channels.Retry
			var notSent *channels.NotSent
			if got := errors.Is(err, channels.ErrPermanent); got != tt.permanent {
				t.Errorf("permanent = %v, want %v", got, tt.permanent)
			}
			if got := errors.As(err, &notSent); got != tt.notSent {
				t.Errorf("not sent = %v, want %v", got, tt.notSent)
			}
			if got := errors.As(err, &retry); got != tt.wait {
				t.Errorf("retry = %v, want %v", got, tt.wait)
			}
			if !errors.Is(err, tt.err) && tt.name != "not on WhatsApp" {
				t.Errorf("%v lost its cause", err)
			}
		})
	}
}

// Both names of a person lead to the same conversation, whichever was known first.
func TestChatOf(t *testing.T) {
	both := []types.JID{annPN, annLID}
	pn, lid := []types.JID{annPN}, []types.JID{annLID}
	const number, hidden = "+15550000002", "800@lid"
	tests := []struct {
		name   string
		people [][]types.JID
		want   []string
	}{
		{"both known", [][]types.JID{both, pn, lid}, []string{number, number, number}},
		{"number first", [][]types.JID{pn, both, lid}, []string{number, number, number}},
		{"LID first", [][]types.JID{lid, both, pn, lid}, []string{hidden, hidden, hidden, hidden}},
		{"two began", [][]types.JID{lid, pn, both, lid, pn}, []string{hidden, number, number, number, number}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := whatsapp.ChatOf(t.Context(), filepath.Join(t.TempDir(), "a b?%41.db"), tt.people...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("chats (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseVersion(t *testing.T) {
	for in, ok := range map[string]bool{"": true, "auto": true, "2.3000.1045649367": true, "2.3000": false, "2.3000.x": false, "2.3000.9999999999": false, "2.3000.1.1": false} {
		if _, err := whatsapp.ParseVersion(in); (err == nil) != ok {
			t.Errorf("ParseVersion(%q) = %v, want ok = %v", in, err, ok)
		}
	}
}
