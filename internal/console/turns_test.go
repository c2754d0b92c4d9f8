package console_test

import (
	"strings"
	"testing"
)

// What an operator wrote while an answer was written is between the question and its answer,
// although the store has it before the question.
func TestOperatorsWordsInTheirTime(t *testing.T) {
	v := visit(t)
	got := js[string](v, `import("/app/js/turns.js").then((m) => m.entriesOf({
		head: { key: "telegram:71", own: false, message_count: 5 }, feed: [], approvals: [], dead: [], loaded: true, loading: false,
		messages: [
			{ seq: 1, role: "user", content: "first", name: "Ann", sender: "71", at: "2026-11-30T10:00:00Z", turn: "1" },
			{ seq: 2, role: "assistant", content: "one", at: "2026-11-30T10:00:05Z", turn: "1" },
			{ seq: 3, role: "user", via: "reply", synthetic: true, content: "Jonas: by hand", said: "by hand", name: "Jonas", at: "2026-11-30T10:01:02Z" },
			{ seq: 4, role: "assistant", synthetic: true, content: "in its name", name: "Jonas", at: "2026-11-30T10:01:03Z" },
			{ seq: 5, role: "user", content: "second", name: "Ann", sender: "71", at: "2026-11-30T10:01:00Z", turn: "2" },
			{ seq: 6, role: "assistant", content: "two", at: "2026-11-30T10:01:30Z", turn: "2" },
		],
	}, [], { person: "operator", identities: [], name: "Jonas" }).filter((e) => e.text).map((e) => e.text).join(" | "))`)
	if want := "first | one | second | by hand | in its name | two"; got != want {
		t.Errorf("drawn as %q, want %q", got, want)
	}
}

// The mark "New" is before the first message that somebody else wrote since: never before
// words of the reader's own, nor where they wrote before the page had opened the conversation.
func TestNewMark(t *testing.T) {
	v := visit(t)
	const before = `import("/app/js/dated.js").then(({ dated, firstNew, writesIn }) => {
		const head = { key: "web:ann/default", own: true, unread: 1, message_count: 6 };
		const messages = [
			{ seq: 3, role: "user", content: "mine", sender: "ann" },
			{ seq: 4, role: "assistant", content: "", tool_calls: [{}] },
			{ seq: 5, role: "tool", content: "found" },
			{ seq: 6, role: "assistant", content: "answer" },
			{ seq: 7, role: "user", content: "mine, too", sender: "ann" },
		];
		`
	from := js[int](v, before+`return firstNew(head, messages, { person: "ann", identities: [] }) ?? 0; })`)
	if from != 6 {
		t.Errorf("it begins at %d, want 6", from)
	}
	if from := js[int](v, before+`writesIn(head.key); return firstNew(head, messages, { person: "ann", identities: [] }) ?? 0; })`); from != 0 {
		t.Errorf("where somebody writes at once it begins at %d", from)
	}
	order := js[string](v, before+`return dated([{ kind: "person", mine: true, seq: 6, at: "2026-11-30T10:00:00Z" }, { kind: "answer", seq: 7, at: "2026-11-30T10:00:01Z" }], 6).map((e) => e.kind).join(" "); })`)
	if !strings.HasSuffix(order, "person new answer") {
		t.Errorf("drawn as %q", order)
	}
}

// Notifications say whose it is, and none of the words: not of a title that was made of them.
func TestNotificationsSayWhose(t *testing.T) {
	v := visit(t)
	got := js[string](v, `Promise.all([import("/app/js/notify.js"), import("/app/js/store.js")]).then(([notify, { change, now }]) => {
		change({ names: { "telegram:71": "Ann" } });
		const row = { key: "telegram:72", network: "telegram", derived_title: "my secret" };
		change({ list: { ...now().list, rows: [row] } });
		return [notify.answerIn("telegram:71"), notify.answerIn("telegram:72"), notify.askedFor({ key: "telegram:-100", requester: "telegram:71" })].join(" | ");
	})`)
	if want := "Dragoman has answered: Ann | Dragoman has answered: Telegram | Dragoman asks whether it may do something for Ann."; got != want {
		t.Errorf("they say %q, want %q", got, want)
	}
}

// The list has a word for a file that nothing was said with, and the daemon's words for what
// waits are sentences.
func TestWordsForPeople(t *testing.T) {
	v := visit(t)
	got := js[string](v, `Promise.all([import("/app/js/told.js"), import("/app/js/views/row.js"), import("/app/vendor/preact.js")]).then(([told, { Row }, { html, render }]) => {
		const into = document.createElement("div");
		render(html`+"`<${Row} of=${{ key: 'telegram:71', network: 'telegram', own: true, last: { from: 'dragoman', text: 'image', file: 'image', at: '2026-11-30T10:00:00Z' } }} words=\"\" current=${false} />`"+`, into);
		return [told.sentence("it waits for a yes: EHRP"), told.sentence("it waits for an answer to a server's question"),
			told.sentence("/etc/d.yaml:3: model.prices: the model has no price, so what it uses is not counted"), into.querySelector(".last").textContent.trim()].join(" | ");
	})`)
	if want := "Somebody must say yes or no. The code of the question is EHRP. | A form waits to be filled in. | The model has no price, so limits in money do not count what it uses. Set model.prices, or count tokens. | Picture"; got != want {
		t.Errorf("they read %q, want %q", got, want)
	}
}

// Of two readings of a conversation at a time, the one that began later is shown: answers
// come in any order, and the older one does not know of the turn that has begun.
func TestNewestReadingCounts(t *testing.T) {
	v := visit(t)
	got := js[string](v, `Promise.all([import("/app/js/talk.js"), import("/app/js/store.js")]).then(async ([talk, store]) => {
		const key = "web:default";
		store.change({ me: { home: key, person: "operator", identities: [] }, talks: { [key]: { messages: [], feed: [], approvals: [], dead: [], loaded: false, loading: false } } });
		let go, reading = "";
		const held = new Promise((done) => { go = done; });
		const before = window.fetch;
		window.fetch = async (address) => {
			const turn = reading;
			if (turn === "older") await held;
			return new Response(JSON.stringify(String(address).includes("/running") ? { turn, messages: [] } : { data: [] }), { headers: { "Content-Type": "application/json" } });
		};
		reading = "older";
		const older = talk.reload(key);
		reading = "newer";
		await talk.reload(key);
		go();
		await older;
		window.fetch = before;
		return store.now().talks[key].running.turn;
	})`)
	if got != "newer" {
		t.Errorf("the %q reading is shown, want the newer one", got)
	}
}
