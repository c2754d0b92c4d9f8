package app

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/storage"
)

var started = time.Now()

func (d *Daemon) info() api.Info {
	cfg, disk := d.current.Load(), storage.DiskWarnings(d.cfg)
	i := api.Info{
		Version: d.opts.Version, Config: cfg.Source().String(), ConfigFile: cfg.Source().Path, StateDir: cfg.StateDir, Store: cfg.Store.Type,
		Policy: cfg.Policy(), Agents: cfg.BoundAgents(), DiskFull: len(disk) > 0,
	}
	if d.gateway != nil {
		d.infoRunning(&i)
	}
	i.Warnings = append(append(i.Warnings, disk...), storage.DamageWarnings(d.cfg)...)
	return i
}

func (d *Daemon) infoRunning(i *api.Info) {
	turns, oldest := d.gateway.Running()
	i.Running = true
	i.PID = os.Getpid()
	i.Started = started
	i.Refused = d.refused.Load()
	i.Turns = turns
	i.OldestTurnS = oldest.Seconds()
	i.Channels = map[string]api.ChannelStatus{}
	for name, status := range d.gateway.Channels() {
		i.Channels[name] = api.ChannelStatusOf(status)
	}
	i.Model = d.models.Main.Name()
	if t, _ := d.models.Trouble(); t != nil {
		i.ModelTrouble = new(api.Trouble(*t))
	}
	for _, t := range d.models.OtherTroubles() {
		i.OtherTroubles = append(i.OtherTroubles, api.OtherTrouble{Model: t.Model, Trouble: api.Trouble(t.Trouble)})
	}
	if d.public != nil {
		i.Listen = d.public.addr()
		i.OpenAI = d.cfg.HTTP.OpenAI
	}
	for _, w := range d.current.Load().Warnings() {
		i.Warnings = append(i.Warnings, w.String())
	}
	i.Warnings = append(i.Warnings, d.models.Warnings()...)
	if f, failed := d.gateway.FailedSummary(); failed {
		i.Warnings = append(i.Warnings, failedSummary(f))
	}
	for _, name := range d.hooks.Off() {
		i.Warnings = append(i.Warnings, fmt.Sprintf("the hook %s is off, because its server answered 410 (gone): change its url, or retry one of its entries of dragoman queue", name))
	}
	if n := d.unowned.Load(); n > 0 {
		i.Warnings = append(i.Warnings, fmt.Sprintf("who wrote in %d older conversations is still being found out; until then only the command line reads them", n))
	}
}

// listChannels lists the channels by name.
func (d *Daemon) listChannels() []api.Channel {
	states := d.gateway.Channels()
	holders := d.holders()
	list := make([]api.Channel, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		status := states[name]
		linkable := d.channels.linked[name] != nil
		list = append(list, api.Channel{
			Name: name, Type: d.cfg.Channels[name].Type, Node: holders[name],
			Linkable: linkable, Linked: linkable && status.Reason != channels.ReasonPairing,
			ChannelStatus: api.ChannelStatusOf(status),
		})
	}
	return list
}
