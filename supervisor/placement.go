package supervisor

// A Placement says where a pipeline runs. The interface is sealed; placements are plain values.
type Placement interface {
	// String returns the form that ParsePlacement reads.
	String() string
	placement()
}

// InProcess runs all stages in the deploying process: no copy of any value, no isolation.
type InProcess struct{}

func (InProcess) placement() {}

// String returns "inprocess".
func (InProcess) String() string { return "inprocess" }

// ParsePlacement reads a placement from a flag or an environment:
//
//	inprocess
//
// The error is a *PlacementError.
func ParsePlacement(s string) (Placement, error) {
	if s == (InProcess{}).String() {
		return InProcess{}, nil
	}
	return nil, &PlacementError{s, `not known: want "inprocess"`}
}
