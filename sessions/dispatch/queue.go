package dispatch

import "container/heap"

// wakeups is a heap of the keys that wait for their time, by wake.
type wakeups []*state

var _ heap.Interface = (*wakeups)(nil)

func (q wakeups) Len() int           { return len(q) }
func (q wakeups) Less(i, j int) bool { return q[i].wake.Before(q[j].wake) }

func (q wakeups) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements [heap.Interface].
func (q *wakeups) Push(x any) {
	s := x.(*state)
	s.index = len(*q)
	*q = append(*q, s)
}

// Pop implements [heap.Interface].
func (q *wakeups) Pop() any {
	old := *q
	s := old[len(old)-1]
	old[len(old)-1] = nil
	s.index = -1
	*q = old[:len(old)-1]
	return s
}
