package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// unread are the exports of other programs that are known and not read yet, by fields
// that only these have: around the messages, or in one of them.
var unread = []struct {
	program string
	fields  string
}{
	{"ChatGPT", "mapping current_node"},
	{"ChatGPT", "mapping create_time"},
	{"Claude", "uuid chat_messages"},
	{"Claude", "uuid sender text"},
	{"Open WebUI", "user_id chat"},
	{"Open WebUI", "chat title"},
	{"LibreChat", "conversationId endpoint"},
	{"LibreChat", "messageId isCreatedByUser"},
	{"Gemini", "header products time"},
	{"Telegram Desktop", "date_unixtime type"},
	{"DiscordChatExporter", "isPinned author"},
	{"Claude Code", "parentUuid sessionId"},
	{"Claude Code", "leafUuid summary"},
	{"OpenClaw", "type id parentId"},
	{"OpenClaw", "type version cwd"},
}

// unreadExport says which program's export has an object with these fields, or nil.
func unreadExport(f fieldSet) error {
	for _, u := range unread {
		has := func(name string) bool { return f[name] != nil }
		if names := strings.Fields(u.fields); !slices.ContainsFunc(names, func(name string) bool { return !has(name) }) {
			return fmt.Errorf("%w: this is an export of %s, which is not read yet", ErrFormat, u.program)
		}
	}
	return nil
}

// unreadDatabases are databases of other programs that have tables of sessions, of
// conversations or of memories, by columns that only these have.
var unreadDatabases = []struct {
	program string
	columns []string // table.column
}{
	{"Hermes", []string{"sessions.source", "sessions.started_at"}},
	{"OpenClaw", []string{"session_nodes.session_key"}},
	{"OpenClaw", []string{"transcript_events.session_id"}},
	{"OpenClaw", []string{"cron_jobs.job_json"}},
	{"ZeroClaw", []string{"memories.category", "memories.content"}},
	{"Open WebUI", []string{"chat.chat", "chat.user_id"}},
}

// unreadDatabase says which program's database this is, or nil if goose's reader may
// try it.
func (g *gooseFile) unreadDatabase(ctx context.Context) error {
	there := map[string]bool{}
	rows, err := g.db.QueryContext(ctx, `SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	if err != nil {
		return fmt.Errorf("exchange: open: %w: %w", ErrDatabase, err)
	}
	defer rows.Close()
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			return fmt.Errorf("exchange: open: %w: %w", ErrDatabase, err)
		}
		there[column] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("exchange: open: %w: %w", ErrDatabase, err)
	}
	for _, u := range unreadDatabases {
		if !slices.ContainsFunc(u.columns, func(name string) bool { return !there[name] }) {
			return fmt.Errorf("exchange: open: %w: this is a database of %s, which is not read yet", ErrFormat, u.program)
		}
	}
	return nil
}
