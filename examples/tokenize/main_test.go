package main

import (
	"context"
	"fmt"
	"os"

	"github.com/weirflow/weir/supervisor"
)

func Example() {
	fmt.Println(command(context.Background(), supervisor.New(supervisor.Config{}), 20, os.Stdout))
	// Output:
	// 20 steps, 1098 documents, 80634 tokens
	// <nil>
}

// There are no more batches than documents make.
func Example_more() {
	fmt.Println(command(context.Background(), supervisor.New(supervisor.Config{}), 1_000_000, os.Stdout))
	// Output:
	// 35 steps, 1891 documents, 140854 tokens
	// <nil>
}
