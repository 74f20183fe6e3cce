package deadletter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// A text is a string in JSON, or an object with its bytes where JSON has no word for it.
type text string

type textBytes struct {
	Base64 []byte `json:"base64"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(textBytes{[]byte(t)})
	}
	var b bytes.Buffer
	err := plainJSON(&b, string(t))
	return b.Bytes(), err
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var in textBytes
		err := strictJSON(b, &in)
		*t = text(in.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

// A stamp is a time in UTC: as RFC 3339 has it, or the seconds since 1970 and nanoseconds for a year that it has not.
type stamp time.Time

func (s stamp) MarshalJSON() ([]byte, error) {
	t := time.Time(s).UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return json.Marshal([2]int64{t.Unix(), int64(t.Nanosecond())})
	}
	return json.Marshal(t)
}

func (s *stamp) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		var t time.Time
		err := json.Unmarshal(b, &t)
		*s = stamp(t.UTC())
		return err
	}
	var in []int64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if len(in) != 2 || in[1] < 0 || in[1] >= int64(time.Second) {
		return fmt.Errorf("a time of %d numbers, want seconds and nanoseconds", len(in))
	}
	*s = stamp(time.Unix(in[0], in[1]).UTC())
	return nil
}

// plainJSON writes v and the end of a line, without escapes for browsers.
func plainJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// strictJSON reads one value that has no fields but those of into.
func strictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end") // of a line, not of the file
	} else if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b[d.InputOffset():])) > 0 {
		return errors.New("there is more behind it")
	}
	return nil
}

// convert changes the type of strings; nil stays nil.
func convert[To, From ~string](in []From) []To {
	if in == nil {
		return nil
	}
	out := make([]To, len(in))
	for i, s := range in {
		out[i] = To(s)
	}
	return out
}
