package exchange_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// refusal is why a file with that text is not imported.
func refusal(t *testing.T, name, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := exchange.Open(t.Context(), path, exchange.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Each(discard)
}

// Exports of programs that are not read yet are named, whatever is around them.
func TestExportsAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"ChatGPT":           {`[{"title":"Tea","create_time":1.5,"mapping":{"a":{"message":null}},"current_node":"a"}]`, "an export of ChatGPT,"},
		"one of ChatGPT":    {`{"title":"Tea","mapping":{},"create_time":1}`, "an export of ChatGPT,"},
		"Claude":            {"[\n {\"uuid\":\"1\",\"name\":\"Tea\",\"chat_messages\":[{\"uuid\":\"2\",\"text\":\"hi\",\"sender\":\"human\"}]}\n]", "an export of Claude,"},
		"Open WebUI":        {`[{"id":"1","user_id":"2","title":"Tea","chat":{"history":{"messages":{}}}}]`, "an export of Open WebUI,"},
		"LibreChat":         {`{"conversationId":"1","endpoint":"openAI","messages":[{"messageId":"2","text":"hi","isCreatedByUser":true}]}`, "an export of LibreChat,"},
		"Gemini":            {`[{"header":"Gemini Apps","title":"Tea","time":"2026-01-01T00:00:00Z","products":["Gemini Apps"]}]`, "an export of Gemini,"},
		"Telegram Desktop":  {`{"name":"Ann","type":"personal_chat","id":1,"messages":[{"id":1,"type":"message","date_unixtime":"1","from":"Ann","text":"hi"}]}`, "an export of Telegram Desktop,"},
		"Claude Code":       {`{"parentUuid":null,"sessionId":"1","type":"user","message":{"role":"user","content":"hi"}}` + "\n", "an export of Claude Code,"},
		"an old OpenClaw":   {`{"type":"session","version":1,"id":"1","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}` + "\n" + `{"type":"message","id":"2","parentId":"1"}` + "\n", "an export of OpenClaw,"},
		"an archive of all": {"PK\x03\x04\x14\x00", "a ZIP archive"},
		"none of these":     {`{"title":"Tea","turns":[]}`, "the object has no messages"},
		"a message of none": {`{"messages":[{"text":"hi"}]}`, "a message without a role"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := refusal(t, "conversations.json", test.text); !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the reason is %v, want %q", err, test.want)
			}
		})
	}
}

// Databases of other programs are named and not taken for goose's.
func TestDatabasesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"Hermes": {`CREATE TABLE schema_version(version integer); CREATE TABLE sessions(id text, source text, chat_id text, started_at real);
			CREATE TABLE messages(id integer, session_id text, role text, content text, active integer); INSERT INTO sessions VALUES('1', 'telegram', '7', 1);
			INSERT INTO messages VALUES(1, '1', 'user', 'hello', 1)`, "a database of Hermes,"},
		"an old Hermes": {`CREATE TABLE sessions(id text, source text, user_id text, started_at real); CREATE TABLE messages(id integer, session_id text, role text, content text)`, "a database of Hermes,"},
		"OpenClaw":      {`CREATE TABLE session_nodes(session_key text, current_session_id text)`, "a database of OpenClaw,"},
		"its state":     {`CREATE TABLE cron_jobs(id text, job_json text)`, "a database of OpenClaw,"},
		"ZeroClaw":      {`CREATE TABLE memories(key text, content text, category text)`, "a database of ZeroClaw,"},
		"Open WebUI":    {`CREATE TABLE chat(id text, user_id text, title text, chat text)`, "a database of Open WebUI,"},
		"another":       {`CREATE TABLE tea(kind text)`, "not a goose database"},
		"its pattern":   {`CREATE TABLE sessions(id text); CREATE TABLE messages(session_id text, role text, content text)`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec(test.schema)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			r, err := exchange.Open(t.Context(), path, exchange.Options{})
			if err == nil {
				err = errors.Join(r.Each(discard), r.Close())
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the reason is %v, want %q", err, test.want)
			}
		})
	}
}

// A fact that nobody would ever see is refused, with its line.
func TestFactsHaveAScope(t *testing.T) {
	const line = `{"fact":{"scope":%q,"id":1,"text":"likes tea","at":"2026-01-01T00:00:00Z"}}`
	for scope, right := range map[string]bool{
		"chat:telegram:7": true, "chat:irc:#go": true, "person:telegram:7": true, "person:whatsapp:+1555": true, "person:irc:account:ann": true,
		"": false, "global": false, "telegram:7": false, "chat:telegram": false, "chat:": false, "person:telegram": false, "person:telegram:": false, "person::7": false, "Person:telegram:7": false,
	} {
		text := strings.Replace(line, "%q", `"`+scope+`"`, 1) + "\n"
		err := refusal(t, "facts.jsonl", strings.Replace(line, "%q", `"chat:web:a"`, 1)+"\n"+text)
		if (err == nil) != right || err != nil && (!strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "scope")) {
			t.Errorf("with the scope %q the import says %v, want right: %t", scope, err, right)
		}
	}
}

func discard(sessions.Record) error { return nil }
