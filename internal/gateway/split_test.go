package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
)

// paged cuts what it sends into pages of that many bytes.
type paged struct {
	*network
	size int
}

func (p paged) Split(_ channels.Key, text string) (all []channels.Piece) {
	for len(text) > p.size {
		all, text = append(all, channels.Piece{Text: text[:p.size]}), text[p.size:]
	}
	return append(all, channels.Piece{Text: text})
}

// filing takes files too.
type filing struct{ paged }

func (filing) SendsFiles() {}

// However long an answer is, the number of its messages is bounded. The
// conversation has all of it, and so has the file where the channel sends
// files.
func TestLongAnswerIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name       string
		size, long int // of a page, of the answer
		files      bool
		want       int
		last       string // "": the end of the answer
	}{
		{"one page", 4000, 100, true, 1, ""},
		{"a few pages", 4000, 80_000, true, 20, ""},
		{"a few pages, without files", 4000, 80_000, false, 20, ""},
		{"many short lines", 100, 20_000, true, 200, ""},
		{"too many lines", 100, 20_001, true, 11, "this file has all of it."},
		{"too many lines, without files", 100, 20_100, false, 201, "100 bytes of it were not sent"},
		{"too much", 4000, 1 << 20, true, 11, "this file has all of it."},
		{"too much, without files", 4000, 1 << 20, false, 21, "945 KB of it were not sent"},
		{"too much in lines, without files", 400, 1 << 20, false, 164, "960 KB of it were not sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := strings.Repeat("a", tt.long-4) + " end"
				w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
					p := paged{w.net, tt.size}
					b.Channel = p
					if tt.files {
						b.Channel = filing{p}
					}
					w.agent.run = func(context.Context, agent.Turn) (string, error) { return answer, nil }
				})
				w.say("1", "go on for ever")
				synctest.Wait()
				w.net.mu.Lock()
				sent := w.net.sent
				w.net.mu.Unlock()
				if len(sent) != tt.want {
					t.Fatalf("%d messages were sent, want %d", len(sent), tt.want)
				}
				text := ""
				for i, m := range sent[:len(sent)-1] {
					text += m.Text
					if m.File != nil {
						t.Errorf("message %d is a file", i)
					}
				}
				last := sent[len(sent)-1]
				if tt.last == "" {
					text += last.Text
					if text != answer || last.File != nil {
						t.Errorf("%d bytes were sent, %+v, want all %d", len(text), last.File, len(answer))
					}
					return
				}
				if !strings.Contains(last.Text, tt.last) || !strings.HasPrefix(answer, text) || text == "" {
					t.Errorf("after %d bytes the last message is %q, want %q", len(text), last.Text, tt.last)
				}
				if tt.files && (last.File == nil || last.File.Content != answer || last.File.Name != "answer.md") {
					t.Errorf("the file is not the whole answer: %.80s", fmt.Sprint(last.File))
				}
				if got := w.transcript("1"); got[len(got)-1] != "assistant: "+answer {
					t.Error("the conversation does not have the whole answer")
				}
			})
		})
	}
}

// A file that may have arrived is marked in its message, not inside the file.
func TestFileIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := strings.Repeat("x", 1<<20)
		failed := false
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			b.Channel = filing{paged{w.net, 4000}}
			w.agent.run = func(context.Context, agent.Turn) (string, error) { return answer, nil }
			w.net.fail = func(m channels.Outbound) error {
				if m.File != nil && !failed {
					failed = true
					return fmt.Errorf("the connection broke")
				}
				return nil
			}
		})
		w.say("1", "go on for ever")
		synctest.Wait()
		w.net.mu.Lock()
		before := len(w.net.sent)
		w.net.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		if before != 10 || len(w.net.sent) != 11 {
			t.Fatalf("%d messages before, %d after, want 10 and 11", before, len(w.net.sent))
		}
		last := w.net.sent[10]
		if last.File.Content != answer || !strings.HasPrefix(last.Text, channels.RepeatMark) || !strings.HasPrefix(last.File.Instead, channels.RepeatMark) {
			t.Errorf("the file is sent again with %q, or %q in its place", last.Text, last.File.Instead)
		}
	})
}
