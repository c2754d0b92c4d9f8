package health

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"
)

// resident is the memory of this process in bytes; NaN: this system does not tell.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return math.NaN()
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return math.NaN()
	}
	return float64(pages) * float64(os.Getpagesize())
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
