package stages

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"github.com/weirflow/weir/codecs"
)

// longestShape is how many bytes of a shape a letter has. Most shapes are shorter; of a longer one it has the beginning, and
// a sum of all of it.
const longestShape = 500

// letterShape is what a letter says of the type of its payload.
func letterShape(t reflect.Type) string {
	shape := codecs.ShapeOf(t)
	if len(shape) <= longestShape {
		return shape
	}
	sum := sha256.Sum256([]byte(shape))
	return fmt.Sprintf("%s… sha256:%x", strings.ToValidUTF8(shape[:longestShape], ""), sum[:8])
}

// reshaped says what is different now in the type of a letter's payload; nothing if it is the same, or the letter has no shape.
func reshaped(was, is string) string {
	if was == "" || was == is {
		return ""
	}
	return "the stage's input has changed since: " + difference("", was, is)
}

// difference is the first one between two shapes, of what lies at path.
func difference(path, was, is string) string {
	before, a, struct1 := fieldsOf(was)
	now, b, struct2 := fieldsOf(is)
	if !struct1 || !struct2 || before != now {
		return retyped(path, was, is)
	}
	for i := range max(len(a), len(b)) {
		at := fmt.Sprintf("field %d", i+1)
		if path != "" {
			at += " of " + path
		}
		switch {
		case i == len(a):
			return fmt.Sprintf("%s, %q, is new", at, brief(b[i]))
		case i == len(b):
			return fmt.Sprintf("%s, %q, is gone", at, brief(a[i]))
		case a[i] == b[i]:
			continue
		}
		name, was, _ := strings.Cut(a[i], " ")
		other, is, _ := strings.Cut(b[i], " ")
		if name == other {
			return difference(strings.TrimPrefix(path+"."+name, "."), was, is)
		}
		return fmt.Sprintf("%s was %q, and is %q", at, brief(a[i]), brief(b[i]))
	}
	return retyped(path, was, is)
}

// fieldsOf takes the shape of a struct apart: what stands before it, as in "[]", and its fields.
func fieldsOf(shape string) (before string, fields []string, ok bool) {
	from := strings.Index(shape, "{")
	if from < 0 {
		return "", nil, false
	}
	depth, start := 0, from+1
	for i := from; i < len(shape); i++ {
		end := false
		switch shape[i] {
		case '{':
			depth++
		case '}':
			depth--
			end = depth == 0
		case ';':
			end = depth == 1
		}
		if end && i > start {
			fields = append(fields, strings.TrimSpace(shape[start:i]))
			start = i + 1
		}
		if depth == 0 {
			return shape[:from], fields, i == len(shape)-1 // else it is the key of a map, say
		}
	}
	return "", nil, false // it was too long, and is cut short
}

// retyped tells of two shapes from the place on where they differ.
func retyped(path, was, is string) string {
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	if from := strings.LastIndexAny(was[:same], "{;") + 1; from > 0 {
		was, is = "… "+strings.TrimSpace(was[from:]), "… "+strings.TrimSpace(is[from:])
	}
	if path == "" {
		path = "it"
	}
	return fmt.Sprintf("%s was %q, and is %q", path, brief(was), brief(is))
}

// brief is what of a shape fits into a message.
func brief(shape string) string {
	const most = 80
	if len(shape) <= most {
		return shape
	}
	return strings.ToValidUTF8(shape[:most], "") + "…"
}
