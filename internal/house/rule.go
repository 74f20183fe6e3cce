package house

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Rule is one law of the house.
type Rule struct {
	Name  string // names the subtest
	Law   string // the law in one sentence
	Check func(*Tree, Lists) []Finding
}

// Rules returns every rule, in the order in which they are told.
func Rules() []Rule {
	return []Rule{
		{"imports", "imports go down the chain examples -> supervisor -> actors -> stages -> codecs, never up", checkImports},
		{"outside world", "nothing in stages can see a process, a socket or a file, except where it is opened", checkOutside},
		{"dependencies", "a foreign module is imported only where it belongs", checkDependencies},
		{"exported signatures", "no foreign type appears in an exported signature", checkSurface},
		{"globals", "no init, no import for its side effects, no mutable package variable", checkGlobals},
		{"goroutines", "a go statement stands in a listed file, below a comment: owner, what ends it, who waits", checkGoroutines},
		{"file length", "a file is one idea, under 400 lines; a test file under 600", checkLength},
		{"sleep", "no time.Sleep outside a synctest bubble", checkSleep},
		{"unfinished", "no marker of unfinished work", checkUnfinished},
		{"bool parameters", "no bool parameter in an exported function of stages and supervisor", checkBools},
		{"config maps", "a Config is a struct of typed fields, never a map of strings", checkConfigs},
		{"doc comments", "every exported identifier and every package has a doc comment", checkDocComments},
		{"context first", "context.Context is the first parameter, and is stored only with a comment that says why", checkContext},
		{"hot path", "a hot path file reads no clock, formats nothing and logs nothing", checkHotPath},
		{"document paths", "a Go file that a document names exists", checkDocPaths},
		{"promises", "a test that the promises name exists, and a row of faults names the tests of it", checkPromises},
		{"decision records", "a decision record is NNNN-title.md with Context, Choice and Cost; numbers are unique", checkDecisions},
	}
}

// A Finding is one breach of one rule.
type Finding struct {
	File string
	Line int    // 0: the file as a whole
	What string // what is wrong
	Do   string // what the author does about it
}

func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s; %s", f.File, f.What, f.Do)
	}
	return fmt.Sprintf("%s:%d: %s; %s", f.File, f.Line, f.What, f.Do)
}

// Lists are the exceptions, each with its reason. The zero value allows none.
//
// A key is a place, or a place, a space and a thing: "actors/system.go", "stages/files.go os". A place that ends in "/"
// is a directory and everything below it.
type Lists struct {
	Outside    map[string]string // file, and the import that it may use
	Globals    map[string]string // file, and the variable
	Goroutines map[string]string // file
	Sleeps     map[string]string // file and function, or the file as a whole
	HotPath    map[string]string // file, and the forbidden name that it may use: "time.Now"
	Surface    map[string]string // directory, and the import path whose types it may show
}

// ListsFile is where the exceptions stand.
const ListsFile = "internal/house/lists_test.go"

// exceptions remembers which entries of a list were needed.
type exceptions struct {
	list map[string]string
	used map[string]bool
}

func open(list map[string]string) *exceptions {
	return &exceptions{list: list, used: map[string]bool{}}
}

// allows reports whether the list has the place or a directory above it, with the thing when there is one.
func (e *exceptions) allows(place, thing string) bool {
	for key := range e.list {
		where, what, _ := strings.Cut(key, " ")
		if what == thing && (where == place || strings.HasSuffix(where, "/") && strings.HasPrefix(place, where)) {
			e.used[key] = true
			return true
		}
	}
	return false
}

// stale finds the entries that nothing needed, and those without a reason.
func (e *exceptions) stale(rule string) (found []Finding) {
	for _, key := range slices.Sorted(maps.Keys(e.list)) {
		if !e.used[key] {
			found = append(found, Finding{File: ListsFile, What: fmt.Sprintf("%q is an exception to %q that nothing needs", key, rule), Do: "remove it from the list"})
		}
		if strings.TrimSpace(e.list[key]) == "" {
			found = append(found, Finding{File: ListsFile, What: fmt.Sprintf("the exception %q to %q has no reason", key, rule), Do: "say why it stands there"})
		}
	}
	return found
}

// sorted orders findings as a reader walks the tree.
func sorted(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return found
}
