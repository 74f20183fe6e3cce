package arena

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Seals; see the package's documentation for who sets which. fixed has all that a mapping needs in order to be safe.
const (
	fixed  = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	sealed = unix.F_SEAL_SEAL
	ours   = unix.F_SEAL_FUTURE_WRITE // only those write who have it mapped already
)

// create makes a file of memory that keeps its size. It has no pages yet.
func create(bytes uint64) (*os.File, error) {
	if err := checkSize(bytes); err != nil {
		return nil, err
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("weir-arena", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("weir-arena", flags)
	}
	switch {
	case errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	case err != nil:
		return nil, fmt.Errorf("arena: create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "weir-arena")
	if err := f.Truncate(int64(bytes)); err != nil {
		return nil, errors.Join(fmt.Errorf("arena: a size of %d bytes: %w", bytes, err), f.Close())
	}
	if err := seal(f, fixed); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reserve gives a file all its pages, where populate cannot. Without it the first touch of a page that cannot be had would be a
// SIGBUS.
func reserve(f *os.File, bytes uint64) error {
	err := control(f, func(fd int) error {
		for {
			if err := unix.Fallocate(fd, 0, 0, int64(bytes)); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
	if err != nil {
		return fmt.Errorf("arena: reserve %d bytes: %w", bytes, err)
	}
	return nil
}

func seal(f *os.File, seals int) error {
	err := control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		return err
	})
	switch {
	case errors.Is(err, unix.EINVAL): // FUTURE_WRITE is known since Linux 5.1
		return fmt.Errorf("%w: seals %#x: %w", ErrUnsupported, seals, err)
	case err != nil:
		return fmt.Errorf("arena: seals %#x: %w", seals, err)
	}
	return nil
}

// check refuses a file that is not of this size for good, or that lacks other seals.
func check(f *os.File, bytes uint64, seals int) error {
	if err := checkSize(bytes); err != nil {
		return err
	}
	return control(f, func(fd int) error {
		switch has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); {
		case err != nil: // no file that could have any
			return fmt.Errorf("%w: %w", ErrSeals, err)
		case has&seals != seals:
			return fmt.Errorf("%w: has seals %#x, needs %#x", ErrSeals, has, seals)
		}
		var is unix.Stat_t // behind the seals: from now on it cannot change
		if err := unix.Fstat(fd, &is); err != nil {
			return fmt.Errorf("arena: size: %w", err)
		}
		if uint64(is.Size) != bytes {
			return fmt.Errorf("%w: %d bytes, not %d", ErrSize, is.Size, bytes)
		}
		return nil
	})
}

// mapFile maps the whole file.
func mapFile(f *os.File, bytes int, write bool) (mem []byte, err error) {
	protection := unix.PROT_READ
	if write {
		protection |= unix.PROT_WRITE
	}
	err = control(f, func(fd int) (err error) {
		mem, err = unix.Mmap(fd, 0, bytes, protection, unix.MAP_SHARED)
		return err
	})
	return mem, err
}

// populate gives a part of a mapping its pages, all at once: one by one, as they are touched, they cost 12 times as much, and one that
// cannot be had is a SIGBUS. It is ErrUnsupported before Linux 5.14.
func populate(mem []byte, write bool) error {
	advice := unix.MADV_POPULATE_READ
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	for {
		switch err := unix.Madvise(mem, advice); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case errors.Is(err, unix.EINVAL):
			return fmt.Errorf("%w: %w", ErrUnsupported, err)
		default:
			return err
		}
	}
}

func unmap(mem []byte) {
	if err := unix.Munmap(mem); err != nil { // it can fail only if mem is not what mapFile has returned
		panic(err)
	}
}

// control calls do with the file's descriptor, which is not closed meanwhile.
func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if broken := c.Control(func(fd uintptr) { err = do(int(fd)) }); broken != nil {
		return broken
	}
	return err
}
