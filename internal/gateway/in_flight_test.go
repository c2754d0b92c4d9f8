package gateway_test

import (
	"context"
	"errors"
	"testing"

	"dragoman/internal/gateway"
)

// Two claims can call the network for one delivery at a time, if a join came
// between them. When the first call ends, the second is still known, and a
// third claim waits for it.
func TestEndOfOneOfTwoCalls(t *testing.T) {
	o := gateway.NewOutcomes()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first := o.Begin("d1")
	second := o.Begin("d1")
	first()
	if waited, err := o.Wait(over, "d1"); !waited || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait beside the second call = %t, %v", waited, err)
	}
	second()
	if waited, err := o.Wait(over, "d1"); waited || err != nil {
		t.Errorf("Wait after both = %t, %v", waited, err)
	}
}
