package httpapi

import (
	"net"
	"net/http"
)

// Connections follows the connections of a server that may have most of them.
func Connections(most int) func(net.Conn, http.ConnState) { return newConnections(most).follow }
