package app_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// onDisk is a place on a small disk of its own, with the reserve that a daemon
// makes there.
func onDisk(t *testing.T, size, text string) *place {
	t.Helper()
	dir := testkit.SmallDisk(t, size)
	p := &place{t: t, dir: dir, path: dir + "/dragoman.yaml"}
	p.write(text)
	p.opens()
	p.keepReserve()
	return p
}

// keepReserve does what a daemon does in a minute.
func (p *place) keepReserve() {
	p.t.Helper()
	cfg := p.config()
	synctest.Test(p.t, func(t *testing.T) { app.KeepReserve(t.Context(), cfg) })
}

// reserve is how many kB are kept.
func (p *place) reserve() int64 {
	p.t.Helper()
	info, err := os.Lstat(p.state("reserve"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil || info.Mode() != 0o600 {
		p.t.Fatalf("the reserve is %v, %v, want a file for its owner alone", info, err)
	}
	return info.Size() >> 10
}

// command runs a verb without a daemon, and returns what a person is told.
func (p *place) command(verb func(c *httpapi.Client) error) (said string, err error) {
	p.t.Helper()
	c, release, err := app.Admin(p.t.Context(), p.config(), app.Caller{Tell: func(s string) { said += s }})
	if err != nil {
		return said, err
	}
	defer release()
	return said, verb(c)
}

// erases plans and erases what belongs to target, or only the conversation.
func erases(t *testing.T, target string, only bool, messages int) func(c *httpapi.Client) error {
	return func(c *httpapi.Client) error {
		plan, err := c.PlanErase(t.Context(), target, only)
		if err != nil {
			return err
		}
		got, err := c.Erase(t.Context(), plan.Erasure)
		if err == nil && got.Messages != messages {
			t.Errorf("erased %+v, want %d messages of %s", got, messages, target)
		}
		return err
	}
}

// On a disk without a free block a daemon starts, again and again, what is
// stored can be read, and people can be erased, with a daemon and without.
func TestFullDiskStartReadErase(t *testing.T) {
	t.Parallel()
	for _, kind := range config.FileStores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := onDisk(t, "24m", "store: {type: "+kind+"}")
			if p.reserve() != 4096 {
				t.Fatalf("%d kB are kept, want 4096", p.reserve())
			}
			r := p.run()
			for _, room := range []string{"a", "b", "c"} {
				r.ask(r.page(room), "good morning")
			}
			r.stop()
			free := testkit.FillDisk(t, p.dir)

			reads := func(want int) func(c *httpapi.Client) error {
				return func(c *httpapi.Client) error {
					list, err := c.Find(t.Context(), sessions.Query{Limit: 10})
					if len(list) != want {
						t.Errorf("Find = %d conversations, %v, want %d", len(list), err, want)
					}
					return err
				}
			}
			for range 2 {
				said, err := p.command(reads(3))
				if err != nil || !strings.Contains(said, "full; this uses the reserve") {
					t.Fatalf("reading says %q, %v, want only that the reserve is used", said, err)
				}
				r := p.run()
				if err := reads(3)(r.admin); err != nil {
					t.Error(err)
				}
				r.stop()
				if log := r.log.String(); !strings.Contains(log, "level=WARN msg=\"the disk is full; using the reserve") {
					t.Errorf("the log does not warn of the disk:\n%s", log)
				}
				if kept := p.reserve(); kept < 2048 {
					t.Fatalf("%d kB are kept after a start, want most of it", kept)
				}
			}
			if _, err := p.command(erases(t, "web:a", true, 2)); err != nil {
				t.Errorf("erasing without a daemon: %v", err)
			}
			r = p.run()
			if err := erases(t, "web:b", false, 4)(r.admin); err != nil {
				t.Errorf("erasing with a daemon: %v", err)
			}
			if _, err := r.admin.Conversation(t.Context(), channels.MustKey("web:b")); err == nil {
				t.Error("what was erased is there")
			}
			r.stop()

			free()
			p.keepReserve()
			said, err := p.command(reads(0))
			if err != nil || said != "" || p.reserve() != 4096 {
				t.Errorf("with room again: %q, %v, %d kB are kept", said, err, p.reserve())
			}
		})
	}
}

// What a daemon and its operator see of the reserve.
func TestReserveIsShown(t *testing.T) {
	t.Parallel()
	p := onDisk(t, "24m", "")
	shown := func() (metric string, warnings string) {
		t.Helper()
		r := p.run()
		defer r.stop()
		r.until("the start to give the reserve back", func() bool { return strings.Contains(r.log.String(), "chat page") })
		st := r.status()
		resp, err := http.Get("http://" + st.Listen + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, metric, _ = strings.Cut(string(body), "\ndragoman_reserve_bytes ")
		metric, _, _ = strings.Cut(metric, "\n")
		warnings = strings.Join(st.Warnings, "\n")
		if st.DiskFull != strings.Contains(warnings, "reserve") {
			t.Errorf("status says disk_full: %v, and warns: %s", st.DiskFull, warnings)
		}
		return metric, warnings
	}
	if metric, warnings := shown(); metric != "4.194304e+06" || strings.Contains(warnings, "reserve") {
		t.Errorf("with a reserve: metric %s, warnings %s", metric, warnings)
	}
	if err := os.Truncate(p.state("reserve"), 1<<20); err != nil {
		t.Fatal(err)
	}
	free := testkit.FillDisk(t, p.dir)
	if metric, warnings := shown(); metric == "4.194304e+06" || !strings.Contains(warnings, "the reserve for starting or erasing on a full disk has only") {
		t.Errorf("with a part of one: metric %s, warnings %s", metric, warnings)
	}
	free()
	if err := os.Remove(p.state("reserve")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.state("reserve"), 0o700); err != nil {
		t.Fatal(err)
	}
	if metric, warnings := shown(); metric != "0" || !strings.Contains(warnings, "is not a file") {
		t.Errorf("with a folder in its place: metric %s, warnings %s", metric, warnings)
	}
}

// Where there is little room anyway a reserve is not what takes it, and a store
// in memory needs none.
func TestNoReserve(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*place{
		"a small disk":      onDisk(t, "15m", ""),
		"a store in memory": onDisk(t, "24m", "store: {type: memory}"),
	} {
		if p.reserve() != 0 {
			t.Errorf("%s: %d kB are kept, want none", name, p.reserve())
		}
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
		return len(items) == 2 && strings.Contains(items[0].Text, words) && items[0].ID == seen.ID &&
			strings.Contains(items[1].Text, "Messages are stored again")
	})
}
