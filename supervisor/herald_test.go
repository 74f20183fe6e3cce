package supervisor

import (
	"testing"
	"testing/synctest"
)

func TestAListenerHearsAllEventsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w witness
		h := herald{to: w.hear}
		for i := range 500 {
			h.post(numbered(i), nil)
			if i == 250 {
				synctest.Wait() // the goroutine is gone, and another one takes over
			}
		}
		synctest.Wait()
		w.check(t, upTo(0, 500)...)
	})
}

func TestNobodyIsToldWhereThereIsNoListener(t *testing.T) {
	var h herald
	h.post(numbered(0), nil)
	if h.busy || len(h.queue) > 0 {
		t.Error("an event waits for nobody")
	}
}

// The one that the listener is at does not wait; of those that do, a thousand are kept.
func TestASlowListenerIsToldHowManyWereDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w witness
		busy := make(chan bool)
		h := herald{to: func(e Event) {
			w.hear(e)
			if e == numbered(0) || e == numbered(5000) {
				<-busy
			}
		}}
		post := func(from, to int) {
			for i := from; i < to; i++ {
				h.post(numbered(i), nil)
			}
			synctest.Wait()
		}
		post(0, 1)
		post(1, 2501) // never blocks
		busy <- true
		synctest.Wait()
		want := upTo(1501, 2501, 0, -1500)
		w.check(t, want...)
		post(5000, 5001)
		post(5001, 6001) // all of them fit
		busy <- true
		synctest.Wait()
		w.check(t, append(want, upTo(5000, 6001)...)...)
	})
}

func TestAListenerThatPanicsMissesOnlyWhatItPanickedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w witness
		h := herald{to: func(e Event) {
			if e == numbered(2) || e == numbered(3) || e == numbered(6) {
				panic("mine")
			}
			w.hear(e)
		}}
		for i := range 8 {
			h.post(numbered(i), nil)
		}
		synctest.Wait()
		w.check(t, 0, 1, -1, -1, 4, 5, -1, 7)
		h.post(numbered(8), nil)
		synctest.Wait()
		w.check(t, 0, 1, -1, -1, 4, 5, -1, 7, 8)
	})
}
