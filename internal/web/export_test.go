package web

import (
	"net"
	"net/http"
)

// Connections follows the connections of a server that may have most of them.
func Connections(most int) func(net.Conn, http.ConnState) {
	return (&connections{most: most, open: map[net.Conn]*connection{}}).follow
}
