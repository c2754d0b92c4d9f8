package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// executor runs statements without results on one connection. It calls the driver itself:
// database/sql copies the arguments of each statement and looks for a connection, which
// were 3 % of what a turn allocates.
type executor struct {
	conn   *sql.Conn
	byText map[string]driver.Stmt
	args   []driver.NamedValue // of the running statement
}

// exec prepares a statement once, and runs it.
func (e *executor) exec(query string, args []any) error {
	columnValues(args)
	e.args = e.args[:0]
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		e.args = append(e.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	defer clear(e.args) // texts may be long
	return e.conn.Raw(func(conn any) error {
		stmt, err := e.prepared(conn.(driver.Conn), query)
		if err == nil {
			_, err = stmt.(driver.StmtExecContext).ExecContext(context.Background(), e.args)
		}
		return err
	})
}

func (e *executor) prepared(conn driver.Conn, query string) (driver.Stmt, error) {
	stmt := e.byText[query]
	if stmt != nil {
		return stmt, nil
	}
	stmt, err := conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	if e.byText == nil {
		e.byText = map[string]driver.Stmt{}
	}
	e.byText[query] = stmt
	return stmt, nil
}

// close closes the statements, which keep the file open.
func (e *executor) close() error {
	return e.conn.Raw(func(any) (err error) {
		for _, stmt := range e.byText {
			err = errors.Join(err, stmt.Close())
		}
		return err
	})
}
