CREATE TABLE sessions (id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP, total_tokens INTEGER DEFAULT 0, message_count INTEGER DEFAULT 0, metadata TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT CHECK (role IN ('system', 'user', 'assistant', 'function')), content TEXT, tool_calls TEXT, tokens INTEGER, timestamp TIMESTAMP, FOREIGN KEY (session_id) REFERENCES sessions (id));
CREATE INDEX idx_messages_session ON messages (session_id);
CREATE INDEX idx_sessions_created ON sessions (created_at);
INSERT INTO sessions VALUES ('20260211_001', '2026-02-11T10:00:00.123456', '2026-02-11T10:05:00', 42, 5, '{"user_id": "u1", "tags": ["b", "a", "b"], "cost_limit": 1.5}');
INSERT INTO messages (session_id, role, content, tool_calls, tokens, timestamp) VALUES
 ('20260211_001', 'system', 'You are brief.', '[]', 3, '2026-02-11T10:00:00'),
 ('20260211_001', 'user', 'What is 1 + 2?', NULL, 5, '2026-02-11T10:00:01'),
 ('20260211_001', 'assistant', '', '[{"id": "c1", "type": "function", "function": {"name": "sum", "arguments": "{\"a\":1}"}}]', 5, '2026-02-11T10:00:02'),
 ('20260211_001', 'function', '3', NULL, 1, '2026-02-11T10:00:03'),
 ('20260211_001', 'assistant', 'Three.', '', 2, '2026-02-11T10:00:04');
