package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirflow/weir/supervisor"
)

func Example_placements() {
	for _, at := range []supervisor.Placement{
		supervisor.InProcess{},
		supervisor.Subprocess{Nice: 10, CPUs: []int{0, 1, 2, 3}, MemoryBytes: 2 << 30},
		supervisor.Remote{Addr: "tcp://localhost:7433"},
		supervisor.Pool{Size: 4, Of: supervisor.Subprocess{}},
		supervisor.Regions{
			{From: "decode", To: "resize", On: supervisor.Pool{Size: 4, Of: supervisor.Subprocess{}}},
			{From: "embed", On: supervisor.Subprocess{Nice: 10}},
		},
	} {
		fmt.Println(at)
	}
	// Output:
	// inprocess
	// subprocess?nice=10&cpus=0-3&memory=2GiB
	// tcp://localhost:7433
	// 4*subprocess
	// decode..resize=4*subprocess,embed=subprocess?nice=10
}

func ExampleParsePlacement() {
	at, err := supervisor.ParsePlacement("decode..resize=4*subprocess?nice=10")
	if err != nil {
		fmt.Println(err)
		return
	}
	region := at.(supervisor.Regions)[0]
	fmt.Println(region.From, region.To, region.On.(supervisor.Pool).Size)

	_, err = supervisor.ParsePlacement("decode..resize=4*subprocess?ncie=10")
	fmt.Println(err)
	// Output:
	// decode resize 4
	// placement "decode..resize=4*subprocess?ncie=10": column 29, "ncie=10": subprocess has no "ncie": did you mean nice? it has nice, cpus, procs, memory, arena and env
}

func ExampleParsePlacement_file() {
	const text = `regions:
  - from: decode
    to: resize
    on:
      pool:
        size: 4
        of:
          subprocess:
            nice: 10
            memory: 2GB
  - from: embed
    on: subprocess?nice=10
    copies: 4
`
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "placement.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = supervisor.ParsePlacement(path)
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		e, _ := errors.AsType[*supervisor.PlacementError](err)
		fmt.Println("line", e.Line, e.Reason)
	}
	// Output:
	// line 10 memory: unit "GB": did you mean 2GiB?
	// line 13 unknown field "copies": a region has from, to, on
}
