// Command benchmarks runs weir and hand-written channels over the same works, in the same process, taking turns, and
// prints how they compare.
//
// # Usage
//
//	go run .                          all works, a few minutes
//	go run . -quick                   all works, less than a minute
//	go run . -works a,hop -rounds 9   some works
//	go run . -contenders weir         fewer contenders; channels always take part
//	go run . -json                    one JSON array instead of the tables
//
// # Works
//
// a to e and wide are throughput: a source, cheap or costly stages, a consumer that sums up. first, warm and hop are the
// latency of single items, slow is a consumer that takes a millisecond per item, idle a pipeline without items. What
// exactly is in the list of works in works.go, in latency.go and in pressure.go.
//
// Works that begin with far have a part in a child process, which is this program again: ints, structs of 100 bytes and blocks of 64 KiB
// and 1 MiB, from Deploy to the first item, and from the death of a child to the first item of the next. Their baselines are a pair
// of sockets, a copy from heap to heap, and the start of this program; their contenders are in far.go and farlatency.go. Where a
// contender is called stream, the whole graph is in the child. The processor time is that of both processes, without the child's start.
//
// # Contenders
//
// weir is written as a user writes it. channels is one goroutine per worker and channels of buffer 128 in between,
// channels0 the same without buffers. floor is chunks of 64 items over channels and nothing else. ideal is work d without
// any hand-over, and sleeps the slow sink without a pipeline.
//
// # Method
//
// Every contender is checked for the right sum and, where it promises it, the right order: on a small input before
// anything is timed, and in every timed round. Rounds are interleaved, each begins with another contender, and each run
// begins with a collected heap. Numbers are medians; the range of the rounds stands next to them. Times of one machine
// do not compare with those of another, nor with those of a busier hour: ratios to channels in the same run do. If the
// rounds of the channels themselves are more than 15 % apart, the run is void, and the line on standard error says so.
//
// # Testing
//
// go test runs every contender of every work over small inputs, and go test -bench Work runs them as Go benchmarks, for
// profiles.
package main
