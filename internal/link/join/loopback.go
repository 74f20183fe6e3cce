package join

import (
	"fmt"
	"net"
	"net/netip"
)

// CheckLoopback returns nil if a is a TCP address that only this machine can reach: 127.0.0.0/8, ::1, or the former
// written as IPv6. Addresses of other kinds, unix sockets among them, are refused: how far they reach is not known here. An address may be
// wrapped in one that has Unwrap.
func CheckLoopback(a net.Addr) error {
	if w, ok := a.(interface{ Unwrap() net.Addr }); ok {
		a = w.Unwrap()
	}
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp == nil {
		return fmt.Errorf("%s is no TCP address", describe(a))
	}
	ip, ok := netip.AddrFromSlice(tcp.IP)
	switch {
	case !ok || ip.IsUnspecified():
		return fmt.Errorf("%s is every address of this machine: without credentials it must be 127.0.0.1 or [::1]", tcp)
	case !ip.Unmap().IsLoopback():
		return fmt.Errorf("%s can be reached from other machines: without credentials it must be 127.0.0.1 or [::1]", tcp)
	}
	return nil
}

// CheckLoopbackTarget returns nil if hostport, as it stands in a placement, can only mean this machine: an address as
// above, or localhost. Where localhost leads is checked once more when there is a connection.
func CheckLoopbackTarget(hostport string) error {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return fmt.Errorf("%q may be another machine: without credentials it must be 127.0.0.1, [::1] or localhost", printable(host))
	}
	return CheckLoopback(&net.TCPAddr{IP: ip.AsSlice(), Zone: ip.Zone()})
}

func describe(a net.Addr) string {
	if a == nil {
		return "an unknown address"
	}
	return printable(a.Network() + " " + a.String())
}
