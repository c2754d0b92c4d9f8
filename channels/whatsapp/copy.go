//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// deviceTables are all tables of a device. A table comes before those that refer to it.
var deviceTables = []string{
	"whatsmeow_device", "whatsmeow_identity_keys", "whatsmeow_pre_keys", "whatsmeow_sessions", "whatsmeow_sender_keys",
	"whatsmeow_app_state_sync_keys", "whatsmeow_app_state_version", "whatsmeow_app_state_mutation_macs", "whatsmeow_contacts",
	"whatsmeow_chat_settings", "whatsmeow_message_secrets", "whatsmeow_privacy_tokens", "whatsmeow_nct_salt", "whatsmeow_lid_map",
	"whatsmeow_event_buffer", "whatsmeow_retry_buffer",
	"dragoman_chats", "dragoman_unread", "dragoman_expiry", "dragoman_albums",
}

// CopyTo copies the linked device to that of another channel, in one consistent snapshot.
// Only one of the two may be used afterwards. found says that c has a device. CopyTo
// returns [ErrLinked] if to has one too.
func (c *Channel) CopyTo(ctx context.Context, to *Channel) (found bool, err error) {
	source, err := c.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	if device, err := source.device(ctx); err != nil || device == nil {
		return false, err
	}
	target, err := to.open(ctx, true)
	if err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if device, err := target.device(ctx); err != nil || device != nil {
		return true, errors.Join(err, ErrLinked)
	}
	o := &sql.TxOptions{}
	if source.shared {
		o = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	in, err := source.db.BeginTx(ctx, o)
	if err != nil {
		return true, fmt.Errorf("whatsapp: copy the linked device: %w", err)
	}
	defer func() { _ = in.Rollback() }()
	err = target.refill(ctx, func(out *sql.Tx) error {
		for _, name := range deviceTables {
			if err := copyTable(ctx, in, out, name); err != nil {
				return fmt.Errorf("copy %s: %w", name, err)
			}
		}
		return nil
	})
	return true, err
}

// Clear deletes the device and all data about it, after it was copied. The phone still
// lists it.
func (c *Channel) Clear(ctx context.Context) (err error) {
	file, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	return errors.Join(file.refill(ctx, func(*sql.Tx) error { return nil }), file.close())
}

// refill empties all tables and calls fill, in one transaction.
func (d *deviceFile) refill(ctx context.Context, fill func(*sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("whatsapp: copy the linked device: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for _, name := range slices.Backward(deviceTables) {
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM `+name)
		}
	}
	if err == nil {
		err = fill(tx)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("whatsapp: copy the linked device: %w", err)
	}
	return nil
}

func copyTable(ctx context.Context, from, to *sql.Tx, name string) (err error) {
	rows, err := from.QueryContext(ctx, `SELECT * FROM `+name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, at := make([]any, len(columns)), make([]any, len(columns))
	places := make([]string, len(columns))
	for i := range columns {
		at[i], places[i] = &values[i], fmt.Sprintf("$%d", i+1)
	}
	insert := `INSERT INTO ` + name + ` (` + strings.Join(columns, ", ") + `) VALUES (` + strings.Join(places, ", ") + `)`
	for rows.Next() {
		if err := rows.Scan(at...); err != nil {
			return err
		}
		if _, err := to.ExecContext(ctx, insert, values...); err != nil {
			return err
		}
	}
	return rows.Err()
}
