package window_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// histories draws transcripts as bad as a crash, a buggy server or a reused id can
// make them: few ids, so that they collide, and every kind of empty field.
func histories() *rapid.Generator[[]sessions.Message] {
	ids := rapid.SampledFrom([]string{"", "a", "b", "c", "call_0", "call_0", "ckgr5b6da"})
	texts := rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "\n", "hello", "世界 🎉", "\xff\xfe", strings.Repeat("long ", 300)}),
		rapid.StringN(0, 40, 200))
	call := rapid.Custom(func(t *rapid.T) sessions.ToolCall {
		return sessions.ToolCall{
			ID:        ids.Draw(t, "id"),
			Name:      rapid.SampledFrom([]string{"", "get", "bad name", "näh"}).Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{"", "{}", `{"a":1}`, "[", "null", " {} "}).Draw(t, "args"),
		}
	})
	message := rapid.Custom(func(t *rapid.T) sessions.Message {
		m := sessions.Message{
			Role:    rapid.SampledFrom([]sessions.Role{"user", "user", "assistant", "assistant", "tool", "tool", "tool", "system", ""}).Draw(t, "role"),
			Content: texts.Draw(t, "content"),
			Turn:    rapid.SampledFrom([]string{"", "", "t1", "t2"}).Draw(t, "turn"),
		}
		if m.Role == sessions.RoleTool || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			m.ToolCallID = ids.Draw(t, "answers")
		}
		if m.Role == sessions.RoleAssistant || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			m.ToolCalls = rapid.SliceOfN(call, 0, 4).Draw(t, "calls")
		}
		return m
	})
	return rapid.Custom(func(t *rapid.T) []sessions.Message {
		msgs := rapid.SliceOfN(message, 0, 24).Draw(t, "messages")
		for i := range msgs {
			msgs[i].Seq = int64(i + 1)
		}
		return msgs
	})
}

// TestCase11RepairProperties checks the same 10,000 random histories in every run,
// and others, which rapid shrinks if one fails.
func TestCase11RepairProperties(t *testing.T) {
	const histories10k = 10_000
	draw := histories()
	refused, people := 0, 0
	for seed := range histories10k {
		in := draw.Example(seed)
		if window.Validate(in) != nil {
			refused++
		}
		people += min(count(in, sessions.RoleUser), 1)
		checkRepair(t, in)
	}
	t.Logf("%d of %d histories would be refused as they are, %d have messages of people", refused, histories10k, people)
	if refused < histories10k/2 || people < histories10k/2 {
		t.Errorf("only %d histories need repair and %d have messages of people, so this shows little", refused, people)
	}
	t.Run("others", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { checkRepair(t, draw.Draw(t, "history")) })
	})
}

// callIDs matches the ids that Mistral's templates accept.
var callIDs = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkRepair checks what Repair, Cut and Fit promise, for in.
func checkRepair(t failer, in []sessions.Message) {
	t.Helper()
	out := window.Repair(in)
	if err := window.Validate(out); err != nil && len(out) > 0 {
		t.Fatalf("Validate(Repair(in)) = %v, want nil\nin:\n%s\nout:\n%s", err, show(in), show(out))
	}
	if twice := window.Repair(out); !reflect.DeepEqual(out, twice) {
		t.Fatalf("Repair twice differs from once (-once +twice):\n%s", cmp.Diff(out, twice))
	}
	for _, m := range out {
		for _, c := range m.ToolCalls {
			if !callIDs.MatchString(c.ID) {
				t.Fatalf("a call has the id %q", c.ID)
			}
		}
	}
	for _, role := range []sessions.Role{sessions.RoleUser, sessions.RoleAssistant} {
		if want, got := texts(in, role), texts(out, role); !slices.Equal(want, got) {
			t.Fatalf("texts of role %s = %q, want %q", role, got, want)
		}
	}
	if want, got := count(in, sessions.RoleUser), count(out, sessions.RoleUser); want != got {
		t.Fatalf("Repair left %d user messages, want %d", got, want)
	}
	for keep := len(in) % 5; keep < len(in)+2; keep += 5 {
		checkCut(t, in, keep) // over many histories, every distance from the end is tried
	}
	for _, budget := range []int{-5, 1, 30, 200} {
		checkFit(t, out, budget)
	}
}

// checkCut checks that repairing both sides of a cut separately loses nothing.
func checkCut(t failer, in []sessions.Message, keep int) {
	t.Helper()
	i := window.Cut(in, keep)
	if i < 0 || len(in)-i < min(keep, len(in)) {
		t.Fatalf("Cut(%d messages, %d) = %d, want at least %d to stay", len(in), keep, i, keep)
	}
	whole := real(window.Repair(in))
	parts := real(window.Repair(in[:i])) + real(window.Repair(in[i:]))
	if whole != parts {
		t.Fatalf("Cut(msgs, %d) = %d splits a tool group: %d real results on its sides, want %d\n%s", keep, i, parts, whole, show(in))
	}
}

func checkFit(t failer, msgs []sessions.Message, budget int) {
	t.Helper()
	view, _ := window.Fit(msgs, 1, budget, nil)
	if len(msgs) == 0 {
		return
	}
	if err := window.Validate(view); err != nil {
		t.Fatalf("Validate(Fit(msgs, 1, %d)) = %v, want nil\n%s", budget, err, show(view))
	}
	if repaired := window.Repair(view); !reflect.DeepEqual(view, repaired) {
		t.Fatalf("Fit left something to repair:\n%s", cmp.Diff(view, repaired))
	}
	if count(msgs, sessions.RoleUser) > 0 && newest(msgs) != newest(view) {
		t.Fatalf("Fit(msgs, 1, %d) dropped the newest user message", budget)
	}
	if window.UpperBound(view) < window.Count(view, nil) {
		t.Fatalf("UpperBound = %d < Estimate = %d", window.UpperBound(view), window.Count(view, nil))
	}
}

func texts(msgs []sessions.Message, role sessions.Role) (out []string) {
	for _, m := range msgs {
		if m.Role == role && strings.TrimSpace(m.Content) != "" && m.Content != "(empty message)" {
			out = append(out, m.Content)
		}
	}
	return out
}

func count(msgs []sessions.Message, role sessions.Role) (n int) {
	for _, m := range msgs {
		if m.Role == role {
			n++
		}
	}
	return n
}

// real counts results that came from a tool.
func real(msgs []sessions.Message) (n int) {
	for _, m := range msgs {
		if m.Role == sessions.RoleTool && !m.Synthetic {
			n++
		}
	}
	return n
}

// newest returns the seq of the newest user message.
func newest(msgs []sessions.Message) (seq int64) {
	for _, m := range msgs {
		if m.Role == sessions.RoleUser {
			seq = m.Seq
		}
	}
	return seq
}

// FuzzRepair reads bytes as a history: one chooses role and id, the next the content,
// and so on.
func FuzzRepair(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05"))
	f.Add([]byte("tool before all\x10\x21\x32\x43"))
	f.Fuzz(func(t *testing.T, data []byte) {
		roles := []sessions.Role{"user", "assistant", "assistant", "tool", "tool", "tool", "other"}
		var msgs []sessions.Message
		for len(data) >= 3 && len(msgs) < 40 {
			a := data[0]
			b := data[1]
			c := int(data[2] % 16)
			data = data[3:]
			text := string(data[:min(c, len(data))])
			data = data[len(text):]
			m := sessions.Message{Seq: int64(len(msgs) + 1), Role: roles[a%7], Content: text, Turn: []string{"", "t"}[a/7%2]}
			if m.Role == sessions.RoleTool {
				m.ToolCallID = fmt.Sprint(b % 4)
			}
			for i := range b % 4 {
				if m.Role == sessions.RoleAssistant {
					m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: fmt.Sprint((b >> (2 * i)) % 4), Name: text, Arguments: text})
				}
			}
			msgs = append(msgs, m)
		}
		checkRepair(t, msgs)
	})
}

// TestRepairKeepsPrefix: messages that were sent do not change when others follow,
// because providers cache prompts by their prefix.
func TestRepairKeepsPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := histories().Draw(t, "history")
		n := rapid.IntRange(0, len(in)).Draw(t, "n")
		for n < len(in) && in[n].Role == sessions.RoleTool {
			n++
		}
		for _, m := range in[n:] {
			if m.Role == sessions.RoleTool {
				return // a late result changes earlier messages, once
			}
		}
		short, long := window.Repair(in[:n]), window.Repair(in)
		if diff := cmp.Diff(short, long[:len(short)]); diff != "" {
			t.Fatalf("what follows changed the prefix (-before +after):\n%s", diff)
		}
	})
}
