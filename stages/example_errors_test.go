package stages_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirflow/weir/stages"
)

var errTorn = errors.New("torn")

// A PageError says where in a book something is wrong.
type PageError struct{ Page int }

func (e *PageError) Error() string { return fmt.Sprintf("page %d", e.Page) }

func scan(_ context.Context, page int) (string, error) {
	return "", fmt.Errorf("%w: %w", &PageError{page}, errTorn)
}

var books = stages.Define("books", func(g *stages.Graph, pages []int) stages.Stream[string] {
	g.Errors(errTorn)
	stages.ErrorType[*PageError](g)
	return stages.Map(stages.Source(g, "pages", stages.FromSlice(pages)), "scan", scan)
})

// An error that has come from another process is what it was there, if the pipeline names it.
func ExampleGraph_Errors() {
	p := books.With([]int{31})
	_, err := scan(context.Background(), 31)

	err = elsewhere(p, err)
	fmt.Println(err)
	fmt.Println(errors.Is(err, errTorn))
	page, ok := errors.AsType[*PageError](err)
	fmt.Println(ok, page.Page)
	// Output:
	// page 31: torn
	// true
	// true 31
}

// A type is named once, as the functions return it: here as a pointer.
func ExampleErrorType() {
	p := books.With(nil)
	page, ok := errors.AsType[*PageError](elsewhere(p, fmt.Errorf("book: %w", &PageError{7})))
	fmt.Println(page, ok)
	// Output: page 7 true
}

// elsewhere has an error of a function of p go from the process that it runs in to the one that has deployed p.
func elsewhere[Out any](p stages.Pipeline[Out], err error) error {
	return stages.DecodeError(p.Plan(), stages.EncodeError(p.Plan(), err))
}

// A Definition that is compiled into another process builds the same pipeline there.
func ExampleRebuild() {
	p := books.With([]int{1, 2, 3})
	config, err := p.EncodeConfig()
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := stages.Rebuild(books, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Name, g.Stages[1].Name, g.Describe(nil) == p.String())
	// Output: books scan true
}
