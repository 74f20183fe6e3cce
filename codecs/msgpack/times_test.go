package msgpack

import (
	"errors"
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	var c Codec
	east := time.FixedZone("somewhere", 5*3600+1800)
	for _, tt := range []struct {
		name string
		in   time.Time
		want time.Time
		size int
	}{
		{"the zero time", time.Time{}, time.Time{}, 12},
		{"UTC stays UTC", time.Unix(1_700_000_000, 999_999_999).UTC(), time.Unix(1_700_000_000, 999_999_999).UTC(), 12},
		{"an offset stays, its name does not", time.Unix(0, 0).In(east), time.Unix(0, 0).In(time.FixedZone("", 5*3600+1800)), 6},
		{"seconds in the offset", time.Unix(0, 0).In(time.FixedZone("", -1)), time.Unix(0, 0).In(time.FixedZone("", -1)), 4},
		{"before 1970", time.Unix(-1, 1).UTC(), time.Unix(-1, 1).UTC(), 4},
		{"the year 200000", time.Date(200000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(200000, 1, 1, 0, 0, 0, 0, time.UTC), 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src, err := c.Append(nil, tt.in)
			if err != nil || len(src) != tt.size {
				t.Fatalf("% x, want %d bytes, %v", src, tt.size, err)
			}
			var got time.Time
			if err := c.Decode(src, &got); err != nil {
				t.Fatal(err)
			}
			_, wantEast := tt.want.Zone()
			if _, gotEast := got.Zone(); !got.Equal(tt.want) || gotEast != wantEast || (got.Location() == time.UTC) != (tt.want.Location() == time.UTC) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTimeLosesItsMonotonicReading(t *testing.T) {
	var c Codec
	now := time.Now()
	src, err := c.Append(nil, now)
	if err != nil {
		t.Fatal(err)
	}
	var got time.Time
	if err := c.Decode(src, &got); err != nil {
		t.Fatal(err)
	}
	if got != now.Round(0) {
		t.Errorf("got %v, want the local time %v", got, now.Round(0))
	}
	wall, err := c.Append(nil, now.Round(0))
	if err != nil || string(wall) != string(src) {
		t.Errorf("the monotonic reading changes the encoding: % x and % x", src, wall)
	}
}

func TestTimesThatAreNone(t *testing.T) {
	var c Codec
	for name, src := range map[string]string{
		"a second too many nanoseconds": "\x93\x00\xce\x3b\x9a\xca\x00\xc0",
		"negative nanoseconds":          "\x93\x00\xff\xc0",
		"an offset beyond 32 bits":      "\x93\x00\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00",
		"two numbers":                   "\x92\x00\x00",
		"a number":                      "\x00",
		"nil":                           "\xc0",
		"text for seconds":              "\x93\xa1a\x00\xc0",
		"text for an offset":            "\x93\x00\x00\xa1a",
		"seconds beyond 63 bits":        "\x93\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x00\xc0",
	} {
		if err := c.Decode([]byte(src), new(time.Time)); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Decode([]byte("\xd6\xff\x00\x00\x00\x00"), new(time.Time)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a timestamp extension: %v", err)
	}
}
