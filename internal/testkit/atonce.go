package testkit

import (
	"flag"
	"runtime"
	"strconv"
)

// AtOnce lets n parallel tests of a package run at once, unless go test says how many. A
// TestMain calls it whose tests wait most of the time, for timers, leases and starts, and
// would leave two cores idle.
func AtOnce(n int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0))))
	}
}
