package goose

import "context"

// Plan is how SQLite finds the messages of a session.
func (d *Database) Plan(ctx context.Context) (plan string, err error) {
	var id, parent, unused int
	err = d.db.QueryRowContext(ctx, "EXPLAIN QUERY PLAN SELECT role FROM messages "+ofSession, "1").Scan(&id, &parent, &unused, &plan)
	return plan, err
}
