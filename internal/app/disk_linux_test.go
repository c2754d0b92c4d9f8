package app_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/testkit"
)

// onDisk is a place on a small disk of its own, where a daemon has been.
func onDisk(t *testing.T, size, text string) *place {
	t.Helper()
	dir := testkit.SmallDisk(t, size)
	p := &place{t: t, dir: dir, path: dir + "/dragoman.yaml"}
	p.write(text)
	p.opens()
	return p
}

// On a disk without a free block the daemon answers its operator and warns,
// what is stored can be read, a start that fails says why, and with room again
// everything is there.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, kind := range config.FileStores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := onDisk(t, "32m", "store: {type: "+kind+"}")
			r := p.run()
			for _, room := range []string{"a", "b", "c"} {
				r.ask(r.page(room), "good morning")
			}
			if st := r.status(); st.DiskFull {
				t.Errorf("with room, status warns: %q", st.Warnings)
			}
			r.linked() // a new session needs room
			free := testkit.FillDisk(t, p.dir)
			st := r.status()
			if said := strings.Join(st.Warnings, "\n"); !st.DiskFull || !strings.Contains(said, "is full or almost full") {
				t.Errorf("status says disk_full: %v, and warns %q", st.DiskFull, said)
			}
			if free := metric(r.scrape(""), "disk_free_bytes"); free != 0 {
				t.Errorf("the metric says that %v bytes are free, want 0", free)
			}
			reads := func() {
				t.Helper()
				list, err := api.Find.Call(t.Context(), r.admin, api.ConversationQuery{Limit: 10})
				if len(list.Data) != 3 || err != nil {
					t.Errorf("Find = %d conversations, %v, want 3", len(list.Data), err)
				}
			}
			reads()
			r.stop()
			if d, err := app.Open(t.Context(), p.config(), app.Options{}); err == nil {
				_ = d.Close()
			} else if said := err.Error(); !strings.Contains(said, "disk") && !strings.Contains(said, "space") {
				t.Errorf("a start on the full disk says %q, want why", said)
			}
			free()
			r = p.run()
			reads()
			r.stop()
		})
	}
}

// A full disk is told in a room of the page: at once to whoever looks, and in
// the room's history when there is space again.
func TestAFullDiskIsToldInARoom(t *testing.T) {
	t.Parallel()
	p := onDisk(t, "24m", "alerts: {to: 'web:ops', after: 1s}")
	r := p.run()
	room := r.page("ops")
	free := testkit.FillDisk(t, p.dir)
	const words = "Messages have not been stored since "
	var seen live.Item
	ctx, looked := context.WithTimeout(t.Context(), most)
	defer looked()
	_ = room.Events(ctx, -1, func(e live.Event) {
		if e.Item != nil && strings.Contains(e.Item.Text, words) {
			seen = *e.Item
			looked()
		}
	})
	if seen.Text == "" {
		t.Errorf("who looks at the room was told nothing:\n%s", r.log)
	}
	free()
	r.until("a history with the alert and its end", func() bool {
		items := r.feed(room)
		return len(items) >= 2 && strings.Contains(items[0].Text, words) && items[0].ID == seen.ID &&
			strings.Contains(items[1].Text, "Messages are stored again")
	})
}
