package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

func hooked(id, text string) gateway.Hooked {
	return gateway.Hooked{Hook: "shop", Key: channels.MustKey("net:1"), ID: id, Text: text}
}

// What a webhook brings is a message of its origin, taken once for each id, also under the
// id that it would have had before. It is no command.
func TestAWebhookIsAPromptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, tt := range []struct {
			id, former string
			repeated   bool
		}{{"a 7", "a 6", false}, {"a 7", "a 6", true}, {"a 8", "a 7", true}, {"a 9", "a 8", false}, {"", "", false}, {"", "", false}} {
			h := hooked(tt.id, "/stop")
			h.FormerID = tt.former
			repeated, err := w.gw.TakeHook(t.Context(), h)
			if err != nil || repeated != tt.repeated {
				t.Errorf("TakeHook of %q = %v, %v; want repeated %v", tt.id, repeated, err, tt.repeated)
			}
			synctest.Wait()
		}
		w.expect("1", "echo /stop", "echo /stop", "echo /stop", "echo /stop")
		for _, m := range w.agent.asked()[0].Input {
			if m.Via != channels.ViaHook("shop") || m.Sender != "operator" || m.Name != "webhook shop" {
				t.Errorf("the model is asked by %q (%s) via %q", m.Sender, m.Name, m.Via)
			}
		}
	})
}

// A message of a webhook is delivered without a model, once. The transcript has it as a
// note of its origin.
func TestAWebhookIsAMessageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, want := range []bool{false, true} {
			h := hooked("a", "sold: a book")
			h.Shown = "[shop] sold: a book"
			repeated, err := w.gw.TakeHook(t.Context(), h)
			if err != nil || repeated != want {
				t.Errorf("TakeHook = %v, %v; want repeated %v", repeated, err, want)
			}
			synctest.Wait()
		}
		w.expect("1", "sold: a book")
		if n := w.agent.count(); n != 0 {
			t.Errorf("%d turns, want none", n)
		}
		history, err := w.mem.Messages(t.Context(), channels.MustKey("net:1"), 0, 10)
		if err != nil || len(history) != 1 || history[0].Via != channels.ViaHook("shop") || history[0].Content != "[shop] sold: a book" || !history[0].Synthetic {
			t.Errorf("the transcript is %+v, %v; want the note", history, err)
		}
	})
}

// A webhook of a person may say what they may: only where they may write, within their rate
// and the size of a message.
func TestAWebhookCountsForItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.RatePerMinute = 1
			o.MaxMessageBytes = 100
		})
		for _, tt := range []struct {
			id, owner, text string
			want            string
			later           bool
		}{
			{"a", "1", strings.Repeat("x", 200), "", false}, // is cut
			{"b", "1", "x", "more than 1 messages in a minute", true},
			{"c", "stranger", "x", "you may not talk on net", false},
		} {
			h := hooked(tt.id, tt.text)
			h.Owner = channels.Person{IDs: []string{tt.owner}}
			_, err := w.gw.TakeHook(t.Context(), h)
			var refused *gateway.RefusedError
			switch errors.As(err, &refused) {
			case true:
				if tt.want == "" || !strings.Contains(refused.Why, tt.want) || refused.Later != tt.later {
					t.Errorf("call %s is refused with %q, later %v; want %q", tt.id, refused.Why, refused.Later, tt.want)
				}
			case false:
				if err != nil || tt.want != "" {
					t.Errorf("call %s = %v, want %q", tt.id, err, tt.want)
				}
			}
		}
		synctest.Wait()
		if got := inputs(w.agent.asked()[0]); len(got) > 110 || !strings.HasSuffix(got, "…") {
			t.Errorf("the model is asked %q, want at most 100 bytes", got)
		}
	})
}
