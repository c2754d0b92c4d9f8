package rules

import "time"

// Idle is how long a store keeps the messages of a conversation in memory after
// they were used last, unless it is told otherwise.
const Idle = 30 * time.Minute
