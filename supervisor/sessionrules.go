package supervisor

import "github.com/weirflow/weir/internal/wire"

// misplaced says what is wrong with a message of the node, when it comes. What a result is about needs no look here: what was not
// asked for is not accepted.
func (s *session) misplaced(m wire.Message) error {
	switch m.(type) {
	case *wire.Frame, *wire.Stopped:
		if s.region.Keyed {
			return stray("%T, which is for streams", m)
		}
	case *wire.Result, *wire.Part:
		if !s.region.Keyed {
			return stray("%T in a stream", m)
		}
	case *wire.End:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended || s.region.Keyed && !s.last {
			return stray("an end that was not asked for")
		}
	}
	return nil
}
