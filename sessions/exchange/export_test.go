package exchange

import "context"

// GoosePlan is how SQLite finds the messages of a session.
func GoosePlan(ctx context.Context, path string) (plan string, err error) {
	g, err := openGooseFile(ctx, path)
	if err != nil {
		return "", err
	}
	defer g.Close()
	var id, parent, unused int
	err = g.db.QueryRowContext(ctx, "EXPLAIN QUERY PLAN SELECT role FROM messages "+ofSession, "1").Scan(&id, &parent, &unused, &plan)
	return plan, err
}
