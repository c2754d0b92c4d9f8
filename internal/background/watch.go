package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// watch shows how far cmd is until it ends, and then brings back what it left.
func (b *Book) watch(cmd *command, ended <-chan outcome) {
	defer b.done(cmd)
	show := time.NewTicker(b.o.ShowEvery)
	defer show.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case o := <-ended:
			b.ended(cmd, o)
			return
		case <-show.C:
			b.show(cmd)
		case <-look.C:
			b.mind(cmd)
		}
	}
}

// show shows how far cmd is.
func (b *Book) show(cmd *command) {
	text := fmt.Sprintf("%s runs for %s: %s", cmd.name(), spoken(b.o.Now().Sub(cmd.Since)), shorten(cmd.Line, 60))
	if last := cmd.last(); last != "" {
		text += "\n" + last
	}
	id := b.chats.ShowCommand(b.end, cmd.Key, cmd.ID, cmd.Shown, text)
	if id == cmd.Shown {
		return
	}
	cmd.Shown = id
	err := b.change(b.end, &cmd.record, func(r *record) { r.Shown = id })
	if err != nil && b.end.Err() == nil {
		b.o.Log.Debug("it is not noted which message shows a command", "key", cmd.Key.String(), "err", err)
	}
}

// mind ends cmd if its note is gone, or if another node was asked to stop it.
func (b *Book) mind(cmd *command) {
	notes, err := b.store.Notes(b.end, sessions.NoteFilter{Kind: kind, Owner: sessions.ChatScope(cmd.Key), Name: cmd.ID})
	if err != nil {
		return // it is asked again
	}
	if len(notes) == 0 {
		cmd.cancel(errStopped)
		return
	}
	if r, _ := read(notes[0]); r.Stop {
		cmd.cancel(errStopped)
	}
}

// maxTold is how much of the output the chat's message has, in bytes.
const maxTold = 16 << 10

// lost stands for output that nobody has any more: the model must not take it for silence.
const lost = "[what it printed is lost]"

// ended brings back what cmd left.
func (b *Book) ended(cmd *command, o outcome) {
	took := spoken(b.o.Now().Sub(cmd.Since))
	how := fmt.Sprintf("exit code %d, after %s", o.r.Code, took)
	output := o.r.Output
	switch {
	case errors.Is(o.err, errStopped):
		b.hide(b.end, &cmd.record)
		err := b.forget(b.end, &cmd.record)
		if err != nil && b.end.Err() == nil {
			b.o.Log.Warn("the note of a stopped command is still there", "key", cmd.Key.String(), "err", err)
		}
		return
	case b.end.Err() != nil:
		return // the next start reports it
	case o.err != nil:
		how = fmt.Sprintf("it could not go on after %s: %v", took, o.err)
		output = lost
	case o.r.Ended != "":
		how = fmt.Sprintf("ended before its time, after %s: %s", took, o.r.Ended)
	}
	b.o.Log.Info("a command in the background has ended", "key", cmd.Key.String(), "command", cmd.name(), "code", o.r.Code)
	b.report(b.end, cmd.record, how, output)
}

// report stores what became of a command as a message of its chat, and forgets it. It tries
// until ctx ends.
func (b *Book) report(ctx context.Context, r record, how, output string) {
	b.hide(ctx, &r)
	e := Ended{
		ID: r.ID, Name: r.name(), Key: r.Key, Person: r.Person, Private: r.Private,
		Origins: append([]sessions.Origin{sessions.OriginFile}, r.Origins...),
		Text:    told(r, how, output),
	}
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := b.chats.CommandEnded(ctx, e)
		if err == nil {
			err = b.forget(ctx, &r)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			return
		}
		b.o.Log.Warn("what a command left cannot be stored; trying again", "key", r.Key.String(), "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// told is the message about a command, for the model.
func told(r record, how, output string) string {
	text := fmt.Sprintf("[This is no message of the person. The command %s, which they allowed, runs no longer: %s. Tell them what came of it.]\n$ %s",
		r.name(), how, shorten(r.Line, 1000))
	output = strings.TrimSpace(strings.ToValidUTF8(output, "\uFFFD"))
	if output == "" {
		return text + "\n[it printed nothing]"
	}
	if len(output) > maxTold {
		head := strings.ToValidUTF8(output[:maxTold/2], "")
		tail := strings.ToValidUTF8(output[len(output)-maxTold/2:], "")
		output = fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, len(output)-len(head)-len(tail), tail)
	}
	return text + "\n" + output
}

// hide takes away the message that shows a command.
func (b *Book) hide(ctx context.Context, r *record) {
	if r.Shown != "" {
		b.chats.ShowCommand(ctx, r.Key, r.ID, r.Shown, "")
	}
}

// forget removes the note of a command.
func (b *Book) forget(ctx context.Context, r *record) error {
	return b.store.ChangeNotes(ctx, kind, sessions.ChatScope(r.Key), func([]sessions.Note) ([]sessions.Note, []string, error) {
		return nil, []string{r.ID}, nil
	})
}

// change changes the note of a command, if it is still there.
func (b *Book) change(ctx context.Context, r *record, f func(*record)) error {
	return b.store.ChangeNotes(ctx, kind, sessions.ChatScope(r.Key), func(have []sessions.Note) (put []sessions.Note, _ []string, err error) {
		for _, n := range have {
			now, is := read(n)
			if !is || now.ID != r.ID {
				continue
			}
			f(&now)
			n.Data, err = json.Marshal(now)
			put = append(put, n)
		}
		return put, nil, err
	})
}

// List lists what runs in the background of a chat.
func (b *Book) List(ctx context.Context, k channels.Key) (list []Running, err error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: kind, Owner: sessions.ChatScope(k)})
	if err != nil {
		return nil, fmt.Errorf("background: list the commands of %s: %w", k, err)
	}
	for _, n := range notes {
		r, is := read(n)
		if !is || r.Stop {
			continue
		}
		one := Running{Name: r.name(), Line: r.Line, Since: r.Since}
		b.mu.Lock()
		cmd := b.running[r.ID]
		b.mu.Unlock()
		if cmd != nil {
			one.Last = cmd.last()
		}
		list = append(list, one)
	}
	return list, nil
}

// Stop ends a command of a chat by its name, "" for all of them, and returns the names of
// those that it ends. They end within seconds where another node runs them.
func (b *Book) Stop(ctx context.Context, k channels.Key, name string) (names []string, err error) {
	var ids []string
	err = b.store.ChangeNotes(ctx, kind, sessions.ChatScope(k), func(have []sessions.Note) (put []sessions.Note, _ []string, err error) {
		names, ids = nil, nil
		for _, n := range have {
			r, is := read(n)
			if !is || r.Stop || name != "" && r.name() != name {
				continue
			}
			r.Stop = true
			n.Data, err = json.Marshal(r)
			if err != nil {
				return nil, nil, err
			}
			put = append(put, n)
			names = append(names, r.name())
			ids = append(ids, r.ID)
		}
		return put, nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("background: stop commands of %s: %w", k, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if cmd := b.running[id]; cmd != nil {
			cmd.cancel(errStopped)
		}
	}
	return names, nil
}

// spoken is how long d is, as people say it.
func spoken(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}

// shorten is the beginning of a text, in one line.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
