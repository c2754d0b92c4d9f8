package console_test

import "testing"

// What an operator wrote while an answer was written is between the question and its answer,
// although the store has it before the question.
func TestOperatorsWordsInTheirTime(t *testing.T) {
	v := visit(t)
	got := js[string](v, `import("/app/js/turns.js").then((m) => m.entriesOf({
		head: { key: "telegram:71", own: false, message_count: 5 }, feed: [], approvals: [], dead: [], loaded: true, loading: false,
		messages: [
			{ seq: 1, role: "user", content: "first", name: "Ann", sender: "71", at: "2026-11-30T10:00:00Z", turn: "1" },
			{ seq: 2, role: "assistant", content: "one", at: "2026-11-30T10:00:05Z", turn: "1" },
			{ seq: 3, role: "user", via: "reply", synthetic: true, content: "Jonas: by hand", name: "Jonas", at: "2026-11-30T10:01:02Z" },
			{ seq: 4, role: "assistant", synthetic: true, content: "in its name", name: "Jonas", at: "2026-11-30T10:01:03Z" },
			{ seq: 5, role: "user", content: "second", name: "Ann", sender: "71", at: "2026-11-30T10:01:00Z", turn: "2" },
			{ seq: 6, role: "assistant", content: "two", at: "2026-11-30T10:01:30Z", turn: "2" },
		],
	}, [], { person: "operator", identities: [], name: "Jonas" }).filter((e) => e.text).map((e) => e.text).join(" | "))`)
	if want := "first | one | second | by hand | in its name | two"; got != want {
		t.Errorf("drawn as %q, want %q", got, want)
	}
}
