package app

import (
	"strings"

	"dragoman/channels"
	"dragoman/internal/api"
)

// commandsIn are the commands of whoever owns a room of the page.
func (d *Daemon) commandsIn(room channels.Key) (all []api.Command) {
	menu := d.gateway.Menu(room.Channel())
	list := menu.Private
	if !strings.Contains(room.Chat(), "/") { // a room of whoever runs Dragoman
		list = menu.Operator
	}
	for _, c := range list {
		all = append(all, api.Command{Name: c.Name, Help: c.Help})
	}
	return all
}
