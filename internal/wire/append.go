package wire

import "encoding/binary"

// Append encodes m behind dst, and returns the longer slice. It allocates nothing but room for it. The same message always
// becomes the same bytes. Empty and nil slices are the same. What m may not contain is not looked at here: Decode refuses it.
func Append(dst []byte, m Message) []byte {
	dst = append(dst, byte(m.kind()))
	switch m := m.(type) {
	case *Open:
		return appendOpen(dst, m)
	case *Ready:
		dst = uvarint(dst, uint64(m.Version))
		dst = text(dst, m.Build)
		dst = append(dst, m.Fingerprint[:]...)
		return append(dst, m.Boot[:]...)
	case *Refuse:
		return text(append(dst, byte(m.Code)), m.Text)
	case *Task:
		return appendTask(dst, m)
	case *End:
		return uvarint(dst, m.Last)
	case *Limit:
		return uvarint(dst, m.Frames)
	case *Stopped:
		return positions(count(dst, len(m.At)), m.At)
	case *Cancel:
		return text(dst, m.Reason)
	case *Result:
		return appendResult(dst, m)
	case *Part:
		return appendPart(dst, m)
	case *Frame:
		return appendFrame(dst, m)
	case *Abort:
		return bytes(dst, m.Error)
	case *Event:
		return bytes(dst, m.Body)
	case *Stats:
		return bytes(dst, m.Body)
	case *Log:
		return text(dst, m.Text)
	case *Profile:
		return appendProfile(dst, m)
	case *Release:
		return blocks(dst, m.Blocks)
	case *Skip:
		return count(dst, m.Epoch)
	}
	return dst // Drain, Ping and Pong are a kind and nothing else
}

func appendOpen(dst []byte, m *Open) []byte {
	dst = count(dst, len(m.Versions))
	for _, v := range m.Versions {
		dst = uvarint(dst, uint64(v))
	}
	dst = text(text(text(text(dst, m.Run), m.Pipeline), m.From), m.To)
	dst = count(count(dst, m.Copy), m.Incarnation)
	dst = text(dst, m.Build)
	dst = append(dst, m.Fingerprint[:]...)
	dst = bytes(dst, m.Config)
	dst = append(dst, byte(m.Mode))
	dst = count(dst, m.Window)
	dst = uvarint(uvarint(dst, uint64(m.Grace)), m.Arena)
	if m.Mode != Stream {
		return dst
	}
	var at place
	dst = count(uvarint(dst, m.Next), m.Epochs)
	dst = count(count(count(dst, len(m.Done)), len(m.Partial)), len(m.Stop))
	dst = appendMembers(spans(dst, m.Done), m.Partial, &at)
	return suspects(uvarint(positions(dst, m.Stop), m.Box), m.Suspects)
}

// suspects appends how many there are, and them.
func suspects(dst []byte, list []Suspect) []byte {
	dst = count(dst, len(list))
	for i := range list {
		s := &list[i]
		var bits byte
		if s.Exact {
			bits = suspectExact
		}
		if s.Poison {
			bits |= suspectPoison
		}
		if s.Path != "" {
			bits |= suspectPath
		}
		dst = count(count(count(append(dst, bits), s.Stage), s.Source), s.Epoch)
		dst = count(uvarint(uvarint(dst, uint64(s.From)), uint64(s.To-s.From-1)), s.Deaths)
		if s.Path != "" {
			dst = text(dst, s.Path)
		}
	}
	return dst
}

func appendProfile(dst []byte, m *Profile) []byte {
	var bits byte
	if m.Last {
		bits = profileLast
	}
	dst = uvarint(append(dst, bits), m.ID)
	dst = uvarint(text(dst, m.Name), uint64(m.For))
	return bytes(dst, m.Part)
}

func positions(dst []byte, list []Position) []byte {
	for i := range list {
		p := &list[i]
		dst = uvarint(count(count(dst, p.Source), p.Epoch), uint64(p.Index))
	}
	return dst
}

func spans(dst []byte, list []Span) []byte {
	var source, epoch int
	var end int64
	for i := range list {
		s := &list[i]
		bits := min(s.Fate, spanBits) << spanFate
		if s.Source != source || s.Epoch != epoch {
			source, epoch, end = s.Source, s.Epoch, 0
			dst = count(count(append(dst, bits|spanSource), source), epoch)
		} else {
			dst = append(dst, bits)
		}
		dst = uvarint(uvarint(dst, uint64(s.From-end)), uint64(s.To-s.From-1))
		end = s.To
	}
	return dst
}

func epochs(dst []byte, list []EpochEnd) []byte {
	for _, e := range list {
		dst = count(count(dst, e.Epoch), e.After)
	}
	return dst
}

// blocks appends how many there are, and them.
func blocks(dst []byte, list []Block) []byte {
	dst = count(dst, len(list))
	for i := range list {
		b := &list[i]
		dst = uvarint(uvarint(uvarint(dst, b.Offset), b.Length), uint64(b.Generation))
	}
	return dst
}

func count(dst []byte, n int) []byte { return uvarint(dst, uint64(n)) }

func uvarint(dst []byte, u uint64) []byte {
	if u < 0x80 {
		return append(dst, byte(u))
	}
	return binary.AppendUvarint(dst, u)
}

func text(dst []byte, s string) []byte { return append(uvarint(dst, uint64(len(s))), s...) }

func bytes(dst, b []byte) []byte { return append(uvarint(dst, uint64(len(b))), b...) }
