// Command server is one of the servers of package mcptest, for use by hand:
//
//	server hang [argument...]              over its pipe
//	server -listen 127.0.0.1:9000 hang     over HTTP
//	server                                 lists them
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"

	"dragoman/agent/mcp/mcptest"
)

func main() {
	listen := flag.String("listen", "", "serve HTTP at this address")
	flag.Parse()
	switch {
	case flag.NArg() == 0:
		for _, name := range append(mcptest.Names(), mcptest.WebNames()...) {
			fmt.Printf("%-14s %s\n", name, mcptest.Does(name))
		}
	case *listen != "":
		fmt.Fprintln(os.Stderr, http.ListenAndServe(*listen, mcptest.Handler(flag.Arg(0), flag.Args()[1:]...)))
		os.Exit(1)
	default:
		os.Exit(mcptest.Run(flag.Arg(0), flag.Args()[1:]...))
	}
}
