package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
)

// albumTable has the albums in groups that are for us, for parts that come after a
// restart.
const albumTable = `CREATE TABLE IF NOT EXISTS dragoman_albums (
	id TEXT NOT NULL, chat TEXT NOT NULL, author TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (id, chat, author))`

// albumSaved is how long a row is kept. Phones send the parts of an album together, but
// they may arrive much later if the daemon was off.
const albumSaved = 24 * time.Hour

func (d *deviceFile) saveAlbum(ctx context.Context, in channels.Inbound) error {
	now := time.Now()
	_, err := d.db.ExecContext(ctx, `DELETE FROM dragoman_albums WHERE at < $1`, now.Add(-albumSaved).Unix())
	if err == nil {
		_, err = d.db.ExecContext(ctx, `INSERT INTO dragoman_albums (id, chat, author, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			in.Album, in.Key.Chat(), in.Sender.ID(), now.Unix())
	}
	if err != nil {
		return fmt.Errorf("whatsapp: save an album: %w", err)
	}
	return nil
}

func (d *deviceFile) hasAlbum(ctx context.Context, in channels.Inbound) (known bool, err error) {
	args, of := []any{in.Album, in.Key.Chat()}, "NULL"
	for _, id := range in.Sender.IDs {
		args = append(args, id)
		of += fmt.Sprintf(", $%d", len(args))
	}
	err = d.db.QueryRowContext(ctx, `SELECT true FROM dragoman_albums WHERE id = $1 AND chat = $2 AND author IN (`+of+`)`, args...).Scan(&known)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("whatsapp: look up an album: %w", err)
	}
	return known, nil
}
