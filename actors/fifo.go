package actors

import "slices"

// A fifo is a queue in a slice. Push and pop take constant time on average, and its memory stays within a small multiple
// of what waits in it, however much goes through.
type fifo[T any] struct {
	q []T
	i int // of the front
}

func (f *fifo[T]) len() int { return len(f.q) - f.i }

// waiting returns what is in the queue, front first.
func (f *fifo[T]) waiting() []T { return f.q[f.i:] }

func (f *fifo[T]) front() *T { return &f.q[f.i] }

func (f *fifo[T]) back() *T { return &f.q[len(f.q)-1] }

func (f *fifo[T]) push(v T) {
	if len(f.q) == cap(f.q) && f.i > len(f.q)/2 {
		f.q, f.i = slices.Delete(f.q, 0, f.i), 0
	}
	f.q = append(f.q, v)
}

func (f *fifo[T]) pop() {
	var zero T
	f.q[f.i] = zero
	if f.i++; f.i == len(f.q) {
		f.q, f.i = f.q[:0], 0
	}
}

func (f *fifo[T]) clear() {
	clear(f.q)
	f.q, f.i = f.q[:0], 0
}
