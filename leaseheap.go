package interlock

// leaseHeap orders leases by what is due next.
type leaseHeap []*lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].due.next.Before(h[j].due.next) }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].due.index, h[j].due.index = i, j
}

func (h *leaseHeap) Push(x any) {
	l := x.(*lease)
	l.due.index = len(*h)
	*h = append(*h, l)
}

func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	l.due.index = -1
	*h = old[:len(old)-1]
	return l
}
