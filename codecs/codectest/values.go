package codectest

import (
	"math"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

type leaf struct {
	Name   string
	Weight float64
	Raw    []byte
}

type tree struct {
	Leaf        leaf
	Left, Right *tree
	Children    []tree
	ByName      map[string]*tree
}

type embedded struct {
	leaf
	time.Time
	Camera int
}

type named struct {
	ID    [16]byte
	Dims  [3]int
	Kind  kind
	Tags  tags
	Props map[kind]tags
	Pad   struct{}
	_     int
}

type (
	kind uint8
	tags []string
	text string
	blob []byte
)

// hardValues returns what codecs get wrong: limits, emptiness in every form, odd strings, nesting and times.
func hardValues() []any {
	seven, none := 7, (*int)(nil)
	var nothing []int
	values := []any{
		true, false, time.Duration(math.MinInt64), complex(1, math.Inf(-1)), complex64(complex(0.5, 2)), kind(255),
		int8(-128), int16(-129), int32(math.MinInt32), int64(math.MinInt64), int64(math.MaxInt64), math.MinInt, -32, -33, 127, 128,
		uint8(255), uint16(256), uint32(math.MaxUint32), uint64(math.MaxUint64), uint(math.MaxUint),
		float32(math.MaxFloat32), float32(math.SmallestNonzeroFloat32), math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.Inf(1), math.NaN(), math.Copysign(0, -1), float32(1) / 3, 0.0, 1.0,
		"", "a", "\x00", "\xff\xfe not UTF-8", "日本語", strings.Repeat("x", 31), strings.Repeat("x", 32), strings.Repeat("y", 255),
		strings.Repeat("y", 256), strings.Repeat("z", 65535), strings.Repeat("z", 65536), text("named"),
		[]byte(nil), []byte{}, []byte{0xc1}, make([]byte, 255), make([]byte, 256), make([]byte, 65536), blob("named"),
		[0]int{}, [2]bool{true, false}, [5]byte{1, 2, 3, 4, 5}, [2][2]string{{"a", "b"}, {"c", "d"}}, struct{}{},
		[]int(nil), []int{}, make([]int, 15), make([]int, 16), make([]int, 65536), []struct{}{{}, {}}, [][]int{nil, {}, {1}},
		[]string{"", "a"}, []bool{true}, []float64{math.NaN(), 1}, []*int{nil, &seven}, tags{"a"},
		map[string]int(nil), map[string]int{}, map[string]int{"": 0, "b": 1, "a": 2}, map[int8]string{-1: "a", 0: "", 1: "b"},
		map[float64]bool{0.5: true}, map[bool][]byte{true: {1}, false: nil}, map[[2]int]leaf{{1, 2}: {Name: "x"}}, map[leafKey]int{{1, "a"}: 1},
		(*int)(nil), &seven, &none, &nothing, &[]int{}, []*[]int{nil, &nothing},
		time.Time{}, time.Unix(0, 0).UTC(), time.Unix(1<<33, 999_999_999), time.Date(2024, 2, 29, 23, 59, 59, 1, time.FixedZone("", -3*3600-7)),
		[]time.Time{time.Unix(-1, 1).UTC(), time.Unix(1, 0).In(time.FixedZone("x", 19800))}, time.Unix(math.MinInt64, 0), time.Now(),
		leaf{}, leaf{"n", 1, []byte{1}}, embedded{leaf{Name: "e"}, time.Unix(5, 0), 3},
		named{ID: [16]byte{1, 15: 2}, Dims: [3]int{1, -2, 3}, Kind: 7, Tags: tags{}, Props: map[kind]tags{1: nil, 2: {"x"}}},
		tree{}, tree{Leaf: leaf{Name: "root"}, Left: &tree{Right: &tree{}}, Children: []tree{{}, {Children: []tree{{}}}}, ByName: map[string]*tree{"a": nil, "b": {}}},
	}
	wide := make(map[int]int)
	for i := range 300 {
		wide[i*i] = -i
	}
	return append(values, wide)
}

type leafKey struct {
	N    int
	Name string
}

type hidden struct {
	Shown  int
	hidden int // it is there to be lost
}

type filter struct{ Match func(string) bool }

type loop struct {
	Next *loop
	Done chan int
}

// impossible returns types that no codec can carry.
func impossible() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[func()](), reflect.TypeFor[chan int](), reflect.TypeFor[unsafe.Pointer](), reflect.TypeFor[hidden](),
		reflect.TypeFor[filter](), reflect.TypeFor[*filter](), reflect.TypeFor[[]filter](), reflect.TypeFor[[3]func()](),
		reflect.TypeFor[map[string]filter](), reflect.TypeFor[struct{ Inner []map[string]*hidden }](),
		reflect.TypeFor[loop](), reflect.TypeFor[struct{ P unsafe.Pointer }](),
	}
}
