package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// onceID is the id of something that the gateway stores once: what it is, and what it is
// about. Networks and people may see the id, so it tells nothing.
func onceID(what string, about ...string) string {
	h := sha256.New()
	for _, part := range append([]string{what}, about...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
