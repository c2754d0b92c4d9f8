package app

import (
	"context"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/alerts"
	"dragoman/internal/plain"
	"dragoman/internal/storage"
	"dragoman/internal/stream"
)

// The IDs of troubles. The channel's name follows channelTrouble.
const (
	channelTrouble = "channel "
	modelTrouble   = "model"
	diskTrouble    = "disk"
	lowTrouble     = "almost_full"
)

// alert watches for troubles that an operator should learn of, until ctx ends.
func (d *Daemon) alert(ctx context.Context) {
	o := alerts.Options{After: d.cfg.Alerts.After.D(), Look: d.troubles, Changed: d.changed, Logger: d.log}
	if to, err := channels.ParseKey(d.cfg.Alerts.To); err == nil { // else alerts.to is empty
		o.Reachable = func() bool { return d.gateway.Channels()[to.Channel()].State == channels.StateConnected }
		o.Tell = func(ctx context.Context, id, text string) error { return d.gateway.Tell(ctx, to, id, text) }
	}
	alerts.New(o).Run(ctx)
}

func (d *Daemon) troubles(ctx context.Context) (all []alerts.Trouble) {
	for name, st := range d.gateway.ChannelsHere() { // other nodes watch theirs
		if st.State != channels.StateConnected && !st.Unused {
			all = append(all, alerts.Trouble{ID: channelTrouble + name, Name: "Channel " + name + " has not worked", Well: "Channel " + name + " works again", Said: st.Detail})
		}
	}
	if t, away := d.models.Trouble(); away {
		all = append(all, alerts.Trouble{ID: modelTrouble, Name: "The model " + d.models.Main.Name() + " has not answered", Well: "The model answers again", Said: t.Why})
	}
	if err := d.store.Check(ctx); err != nil {
		all = append(all, alerts.Trouble{ID: diskTrouble, Name: "Messages have not been stored", Well: "Messages are stored again", Why: plain.Reason(err)})
	}
	for _, why := range storage.DiskWarnings(d.cfg) {
		all = append(all, alerts.Trouble{ID: lowTrouble, Name: "The disk has been almost full", Well: "The disk has room again", Why: why})
	}
	return all
}

// changed logs a trouble that began or ended, and tells the hooks.
func (d *Daemon) changed(t alerts.Trouble, failed bool) {
	if failed {
		d.log.Error("something does not work", "what", t.ID, "why", t.Why+t.Said)
	} else {
		d.log.Info("something works again", "what", t.ID)
	}
	e := stream.Event{At: time.Now()}
	var down, back stream.Name
	if name, channel := strings.CutPrefix(t.ID, channelTrouble); channel {
		down = stream.ChannelFailed
		back = stream.ChannelBack
		e.Channel = name
	} else if t.ID == modelTrouble {
		down = stream.ModelDown
		back = stream.ModelBack
		e.Model = d.models.Main.Name()
	} else {
		down, e.Why = stream.DiskFull, t.ID // no event says that there is room again
	}
	e.Event = back
	if failed {
		e.Event = down
	}
	if e.Event != "" {
		d.events.Publish(e)
	}
}
