package httpapi

import (
	"net"
	"net/http"
)

// Crowd follows the connections of a server that may have so many.
func Crowd(most int) func(net.Conn, http.ConnState) { return newCrowd(most).follow }
