package health

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// durations are how long the calls since the last figure took. Its zero value has none.
type durations struct {
	n    int
	kept [256]float32 // seconds; of more calls, some by chance
}

func (d *durations) add(took time.Duration) {
	at := d.n
	if at >= len(d.kept) {
		at = rand.IntN(d.n + 1) // each call has the same chance to be kept
	}
	d.n++
	if at < len(d.kept) {
		d.kept[at] = float32(took.Seconds())
	}
}

// take returns how many calls there were, and the duration that half of them and 95 % of
// them did not exceed; NaN: there was none. Then there are none.
func (d *durations) take() (n, p50, p95 float64) {
	if d.n == 0 {
		return 0, math.NaN(), math.NaN()
	}
	some := d.kept[:min(d.n, len(d.kept))]
	slices.Sort(some)
	n = float64(d.n)
	d.n = 0
	return n, quantile(some, 0.5), quantile(some, 0.95)
}

// quantile is the least of the sorted values that a share q of them does not exceed.
func quantile(sorted []float32, q float64) float64 {
	at := int(math.Ceil(q*float64(len(sorted)))) - 1
	return round(float64(sorted[at]))
}
