// What the page draws of a conversation follows from what the server has of it.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

const folder = path.join(import.meta.dirname, "../../internal/console/app/js");
const { entriesOf, newestOf } = await import(path.join(folder, "turns.js"));
const { quoted, withQuote } = await import(path.join(folder, "quotes.js"));
const me = { person: "operator", identities: ["operator"] };
const at = (minute) => `2026-11-29T10:${String(minute).padStart(2, "0")}:00Z`;
const said = (seq, role, content, more) => ({ seq, role, content, at: at(seq), turn: "web:x#1", ...more });

/** A conversation of mine with these parts. */
const talk = (parts) => ({
  head: { key: "web:x", own: true, message_count: 0 }, messages: [], feed: [], approvals: [], dead: [], loaded: true, loading: false, ...parts,
});

/** The kinds and texts of entries, without the marks of days. */
const shown = (parts, unsent = []) => entriesOf(talk(parts), unsent, me).filter((e) => e.kind !== "day").map((e) => `${e.kind} ${e.text ?? ""}`.trim());

test("a turn is one answer with its calls", () => {
  const messages = [
    said(1, "user", "How late is it?"),
    said(2, "assistant", "", { tool_calls: [{ id: "a", name: "time", arguments: "{}" }], usage: { input: 10, output: 1, cost: 0.5 } }),
    said(3, "tool", "ten", { tool_call_id: "a", failed: true }),
    said(4, "assistant", "It is ten.", { model: "m", usage: { input: 20, output: 2, cached: 5 } }),
  ];
  const [, question, answer, ...rest] = entriesOf(talk({ messages, feed: [{ seq: 2, kind: "answer", turn: "web:x#1", state: "sent", at: at(4), text: "" }] }), [], me);
  assert.equal(rest.length, 0);
  assert.equal(question.mine, true);
  assert.deepEqual(answer.usage, { input: 30, output: 3, cached: 5, cost: 0.5 });
  assert.deepEqual([answer.text, answer.model, answer.state, answer.took, answer.seq], ["It is ten.", "m", "sent", 180_000, 4]);
  assert.deepEqual(answer.steps, [{ id: "a", tool: "time", input: "{}", at: at(2), result: "ten", failed: true, took: 60_000 }]);
});

test("what waits comes after the answer that grows, and keeps its place afterwards", () => {
  const first = said(1, "user", "one");
  const feed = [{ seq: 3, id: "f", from: "person", text: "two", at: at(2), waiting: true }];
  assert.deepEqual(shown({ running: { turn: "web:x#1", messages: [{ ...first, seq: 0 }] }, feed }), ["person one", "answer", "person two"]);
  const asked = { seq: 1, id: "e", from: "person", text: "one", at: at(1), waiting: true };
  assert.deepEqual(shown({ running: { turn: "web:x#1", messages: [] }, feed: [asked, ...feed] }), ["person one", "answer", "person two"]);
  const messages = [first, said(2, "assistant", "1", { at: at(9) }), said(3, "user", "two", { at: at(2), turn: "web:x#3" }), said(4, "assistant", "2", { at: at(10), turn: "web:x#3" })];
  assert.deepEqual(shown({ messages, feed: [{ ...feed[0], waiting: false }] }), ["person one", "answer 1", "person two", "answer 2"]);
});

test("an edited message hides its earlier version", () => {
  const messages = [said(1, "user", "old", { replaced_by: 3 }), said(2, "assistant", "to old", { replaced_by: 3 }), said(3, "user", "[edited]", { synthetic: true, replaces: 1 }), said(4, "user", "new", { turn: "web:x#4" })];
  const entries = entriesOf(talk({ messages }), [], me).filter((e) => e.kind !== "day");
  assert.deepEqual(entries.map((e) => e.kind), ["replaced", "person"]);
  assert.deepEqual(entries[0].entries.map((e) => e.text), ["old", "to old"]);
});

test("a failure is said once, commands are shown, /stop is not", () => {
  const messages = [said(1, "user", "hello"), said(2, "assistant", "Sorry.", { synthetic: true })];
  const feed = [
    { seq: 1, id: "a", from: "person", text: "hello", at: at(1) },
    { seq: 2, id: "b", from: "dragoman", kind: "apology", turn: "web:x#1", text: "Sorry, because of that.", at: at(2) },
    { seq: 3, id: "c", from: "person", text: "/help", at: at(3) },
    { seq: 4, id: "d", from: "dragoman", kind: "command", text: "I know commands.", at: at(4) },
    { seq: 5, id: "e", from: "person", text: "/stop", at: at(5) },
  ];
  assert.deepEqual(shown({ messages, feed }), ["person hello", "failure Sorry, because of that.", "person /help", "notice I know commands."]);
});

test("a question about a call stands in its answer, which does not grow", () => {
  const running = { turn: "web:x#1", messages: [said(0, "user", "write it"), said(0, "assistant", "", { tool_calls: [{ id: "a", name: "write_file", arguments: "{}" }] })] };
  const [, , answer] = entriesOf(talk({ running, approvals: [{ id: "q", turn: "web:x#1", state: "pending" }] }), [], me);
  assert.deepEqual([answer.growing, answer.approvals.length, answer.steps.length], [false, 1, 1]);
});

test("lines about files are for the model, unsent messages come last", () => {
  const messages = [said(1, "user", 'look\n[image "a.png", image/png, 3 kB, file x/y.png]', { said: "look", attachments: [{ kind: "image", name: "a.png" }] })];
  assert.deepEqual(shown({ messages }, [{ id: "u", key: "web:x", text: "later", at: at(0) }]), ["person look", "person later"]);
});

test("the mark New is before the first message of others that is new", () => {
  const messages = [said(1, "user", "one"), said(2, "assistant", "1"), said(3, "user", "two", { turn: "web:x#3" }), said(4, "assistant", "2", { turn: "web:x#3" })];
  assert.deepEqual(shown({ messages, newFrom: 3 }), ["person one", "answer 1", "person two", "new", "answer 2"]);
});

test("quotes", () => {
  assert.deepEqual(quoted(withQuote("a\nb", "and you?")), { quote: "a\nb", text: "and you?" });
  assert.deepEqual(quoted("> only a quote"), { quote: "", text: "> only a quote" });
});

test("what somebody wrote by hand is theirs, and no notice beside it", () => {
  const messages = [said(1, "user", "Hello?"), said(2, "user", "Jonas: I look into it.", { said: "I look into it.", synthetic: true, via: "reply", name: "Jonas", turn: undefined }), said(3, "assistant", "by hand", { synthetic: true, name: "Jonas", turn: undefined })];
  const feed = [{ seq: 2, id: "a", from: "dragoman", kind: "notice", text: "Jonas: I look into it.", at: at(2) }, { seq: 3, id: "b", from: "dragoman", kind: "notice", text: "by hand", at: at(3) }];
  assert.deepEqual(shown({ messages, feed }), ["person Hello?", "person I look into it.", "answer by hand"]);
  const [, , theirs, answer] = entriesOf(talk({ messages, feed }), [], { ...me, name: "Ann" });
  assert.deepEqual([theirs.who, theirs.mine, theirs.hand, answer.who], ["Jonas", false, true, "Jonas"]);
  assert.equal(entriesOf(talk({ messages }), [], { ...me, name: "Jonas" })[2].mine, true);
});

test("another answer is asked for once, and a stopped one says by whom", () => {
  const messages = [
    said(1, "user", "one"), said(2, "assistant", "1"), said(3, "user", "[asks for another answer to:] one", { said: "one", kind: "again", turn: "web:x#3" }),
    said(4, "assistant", "Half of\n\n[stopped by the person]", { said: "Half of", kind: "stopped", synthetic: true, turn: undefined }),
  ];
  const stop = (name) => [{ seq: 3, id: "a", from: "person", text: "one", at: at(3) }, { seq: 5, id: "b", from: "person", text: "/stop", name, at: at(4) }];
  assert.deepEqual(shown({ messages, feed: stop("operator") }), ["person one", "answer 1", "again", "answer Half of"]);
  assert.equal(entriesOf(talk({ messages, feed: stop("operator") }), [], me).at(-1).stopped, "you");
  const theirs = talk({ messages, feed: stop("operator") });
  assert.equal(entriesOf(theirs, [], { person: "telegram:7", name: "ann", identities: [] }).at(-1).stopped, "operator");
});

test("words that look like marks are words", () => {
  const marked = ["[asks for another answer to:] one", "[voice] is a tag", "Ann: who waters?"];
  assert.deepEqual(shown({ messages: marked.map((text, i) => said(i + 1, "user", text, { name: "Ann" })) }), marked.map((text) => `person ${text}`));
  assert.deepEqual(shown({ messages: [said(1, "user", "[image, file x]", { said: "", attachments: [{ kind: "image" }] })] }), ["person"]);
});

test("in a group each message is there once, under its author's name", () => {
  const messages = [
    said(1, "user", "Ann: who waters?", { name: "Ann", said: "who waters?" }),
    said(2, "user", "> Ann: who waters?\n\nAnn: and when?", { name: "Ann", said: "> Ann: who waters?\n\nand when?" }),
    said(3, "user", "> Bob: No\n\nAnn: not yet", { name: "Bob" }),
  ];
  const feed = ["who waters?", "and when?", "Ann: not yet"].map((text, i) => ({ seq: i, id: `f${i}`, from: "person", text, at: at(i + 1) }));
  const head = { key: "telegram:-100200", group: true, message_count: 3 };
  assert.deepEqual(shown({ messages, feed, head }), ["person who waters?", "person > Ann: who waters?\n\nand when?", "person > Bob: No\n\nAnn: not yet"]);
});

test("a decision about a call is said once, by its answer", () => {
  const messages = [said(1, "user", "write it"), said(4, "assistant", "Done.")];
  const feed = ["**write_file**: allowed by Ann at 10:02.\n\n```text\npath: x\n```", "write_file is allowed by Ann at 10:02."].map((text, i) => ({ seq: i, id: `f${i}`, from: "dragoman", kind: i ? "notice" : "command", turn: "web:x#1", text, at: at(2) }));
  const approvals = [{ id: "q", turn: "web:x#1", tool: "write_file", state: "used" }];
  assert.deepEqual(shown({ messages, feed, approvals }), ["person write it", "answer Done."]);
  assert.equal(shown({ messages, feed }).length, 4); // of an older one nothing else tells
});

test("another try is offered at the newest failure alone", () => {
  const apology = (seq, turn) => ({ seq, id: `f${seq}`, from: "dragoman", kind: "apology", turn, text: "Sorry.", at: at(seq) });
  const command = { seq: 9, id: "c", from: "person", text: "/help", at: at(9) };
  const messages = [said(1, "user", "one"), said(2, "assistant", "Sorry.", { synthetic: true }), said(3, "user", "two", { turn: "web:x#3" }), said(4, "assistant", "Sorry.", { synthetic: true, turn: "web:x#3" })];
  const feed = [apology(2, "web:x#1"), apology(4, "web:x#3")];
  const newest = (parts) => newestOf(entriesOf(talk(parts), [], me));
  assert.equal(newest({ messages, feed }), "f4");
  assert.equal(newest({ messages, feed: [...feed, command] }), "f4");
  const answered = [...messages, said(5, "user", "three", { turn: "web:x#5" }), said(6, "assistant", "3", { turn: "web:x#5" })];
  assert.equal(newest({ messages: answered, feed }), "aweb:x#5.6");
  assert.equal(newest({ messages: [...messages, said(5, "user", "three", { turn: "web:x#5" })], feed }), "m5");
});
