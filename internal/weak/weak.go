package weak

import "context"

// A Law is one that a run breaks.
type Law int

// The laws. The zero Law is for runs that keep all of them.
const (
	None            Law = iota
	NoCustody           // the item that a worker dies at is forgotten, not tried again
	CreditOnFinish      // an item's place is given back when it is done, not when it has left the stage
	EmptyLedger         // a stage of which a worker is replaced forgets what no worker has
	FilterDelivered     // an item of which nothing comes is counted as delivered
)

// String returns what is broken.
func (l Law) String() string {
	return [...]string{"none", "no custody", "credit on finish", "empty ledger", "filtered counted as delivered"}[l]
}

type key struct{}

// With returns a context for a run that breaks l.
func With(ctx context.Context, l Law) context.Context { return context.WithValue(ctx, key{}, l) }

// Of returns the law that ctx's run is to break.
func Of(ctx context.Context) Law {
	l, _ := ctx.Value(key{}).(Law)
	return l
}
