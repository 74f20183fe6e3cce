// Package shapes holds small pipelines, one per file, each of a shape that turns up again and again:
//
//   - means.go: means per key, every second (Aggregate, MaxWait)
//   - buckets.go: batches of texts of like length (AggregateByKey, Groups)
//   - lengths.go: short and long texts of a batch on different ways (RouteBatch, Rejoin)
//   - service.go: requests from a channel, answers in order, failures noted (FromChan, Graph.Hook)
//   - logs.go: sorted logs merged by time (MergeFunc)
//   - pull.go: a consumer with a deadline (Run.Next)
//
// The tests next to them run each of them, and show how a pipeline is tested.
package shapes
