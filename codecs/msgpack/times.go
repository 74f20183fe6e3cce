package msgpack

import (
	"fmt"
	"reflect"
	"time"
)

// timeForm is an array of the seconds since 1970 in UTC, the nanoseconds above them, and the seconds east of UTC, nil
// if the time is in UTC itself. 12 bytes for the present in UTC. It is plain msgpack, since extensions are refused.
type timeForm struct{}

func (timeForm) encode(e *encoder, v reflect.Value) error {
	t := *addressable(v).Addr().Interface().(*time.Time)
	if err := e.array(3); err != nil {
		return err
	}
	defer e.close()
	if err := e.wire.EncodeInt(t.Unix()); err != nil {
		return err
	}
	if err := e.wire.EncodeInt(int64(t.Nanosecond())); err != nil {
		return err
	}
	if t.Location() == time.UTC {
		return e.wire.EncodeNil()
	}
	_, east := t.Zone()
	if east != int(int32(east)) {
		return fmt.Errorf("msgpack: a time zone %d seconds east", east)
	}
	return e.wire.EncodeInt(int64(east))
}

func (timeForm) decode(d *decoder, v reflect.Value) error {
	if err := d.array(3); err != nil {
		return err
	}
	sec, err := d.int()
	if err != nil {
		return err
	}
	nsec, err := d.int()
	if err != nil {
		return err
	}
	if nsec < 0 || nsec > 999_999_999 {
		return errRange
	}
	t := time.Unix(sec, nsec)
	if d.null() {
		*v.Addr().Interface().(*time.Time) = t.UTC()
		return nil
	}
	east, err := d.int()
	if err != nil {
		return err
	}
	if east != int64(int32(east)) {
		return errRange
	}
	// As time.UnmarshalBinary does it: a time of this machine's zone is local again, and prints as it did.
	if _, local := t.Zone(); local != int(east) {
		t = t.In(d.fixedZone(int(east)))
	}
	*v.Addr().Interface().(*time.Time) = t
	return nil
}

func (d *decoder) fixedZone(east int) *time.Location {
	if d.zone == nil || d.offset != east {
		d.zone, d.offset = time.FixedZone("", east), east
	}
	return d.zone
}
