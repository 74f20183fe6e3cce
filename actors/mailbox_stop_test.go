package actors

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
)

func TestAStoppedMailboxEndsItsGoroutineOnce(t *testing.T) {
	for name, before := range map[string][]any{"after messages": {datum(1), datum(2)}, "before any message": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r recorder
				p := newProbe(t, r.receive)
				p.send(before...)
				synctest.Wait()
				if p.ended.Load() != 0 {
					t.Error("it ended by itself")
				}
				p.sys.Root.Stop(p.pid)
				synctest.Wait()
				if n := p.ended.Load(); n != 1 || !slices.Equal(r.got, before) {
					t.Errorf("ended %d times, got %v", n, r.got)
				}
			})
		})
	}
}

func TestMessagesAfterStopAreDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		p.sys.Root.Stop(p.pid)
		synctest.Wait()
		p.box.PostUserMessage(datum(1)) // by one who still has the process at hand
		p.box.PostUserMessage(command(1))
		p.box.PostSystemMessage(&actor.Restart{})
		synctest.Wait()
		if want := []any{datum(1), command(1)}; !slices.Equal(p.deadLetters(), want) || len(r.got) != 0 {
			t.Errorf("dead letters %v, received %v", p.deadLetters(), r.got)
		}
	})
}

// The lanes may have been taken together with the Stop: a stopped actor would ignore them without a word.
func TestMessagesThatHaveComeBeforeStopAreDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		release := hold(p)
		p.send(datum(1), command(1), datum(2))
		p.sys.Root.Stop(p.pid)
		release()
		if want := []any{command(1), datum(1), datum(2)}; !slices.Equal(p.deadLetters(), want) || len(r.got) != 0 {
			t.Errorf("dead letters %v, received %v", p.deadLetters(), r.got)
		}
	})
}

func TestMessagesThatComeWhileTheActorStopsAreDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		stopping := make(chan bool)
		p := newProbe(t, func(c actor.Context) {
			r.receive(c)
			if _, ok := c.Message().(*actor.Stopping); ok {
				<-stopping
			}
		})
		p.sys.Root.Stop(p.pid)
		synctest.Wait()
		p.box.PostUserMessage(datum(1))
		p.box.PostUserMessage(command(1))
		p.box.PostUserMessage(datum(2))
		close(stopping)
		synctest.Wait()
		if want := []any{command(1), datum(1), datum(2)}; !slices.Equal(p.deadLetters(), want) || len(r.got) != 0 {
			t.Errorf("dead letters %v, received %v", p.deadLetters(), r.got)
		}
	})
}

// What a suspended actor has in hand when it is stopped, because it is not to be restarted, is not lost either.
func TestTheLeftoversOfASuspendedActorAreDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		release := hold(p)
		p.send(datum(1), datum(2), command(1))
		p.box.PostSystemMessage(&actor.SuspendMailbox{})
		release()
		if len(r.got) != 0 {
			t.Fatalf("a suspended actor has received %v", r.got)
		}
		p.sys.Root.Stop(p.pid)
		synctest.Wait()
		if want := []any{command(1), datum(1), datum(2)}; !slices.Equal(p.deadLetters(), want) || len(r.got) != 0 {
			t.Errorf("dead letters %v, received %v", p.deadLetters(), r.got)
		}
	})
}

func TestASuspendedActorGoesOnWhenItIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newProbe(t, r.receive)
		p.box.PostSystemMessage(&actor.SuspendMailbox{})
		p.send(datum(1), command(1))
		synctest.Wait()
		if len(r.got) != 0 {
			t.Fatalf("a suspended actor has received %v", r.got)
		}
		p.box.PostSystemMessage(&actor.ResumeMailbox{})
		synctest.Wait()
		if want := []any{command(1), datum(1)}; !slices.Equal(r.got, want) {
			t.Errorf("got %v, want %v", r.got, want)
		}
	})
}

// Whoever sends to an actor that stops at the same time finds it alive, or dead; never is a message handled twice.
func TestStopAmongManyProducersHandlesNothingTwice(t *testing.T) {
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			const producers, each = 4, 50
			var mu sync.Mutex
			seen := map[any]int{}
			p := newProbe(t, func(c actor.Context) {
				if m, ok := c.Message().(datum); ok {
					mu.Lock()
					defer mu.Unlock()
					seen[m]++
				}
			})
			for k := range producers {
				go func() {
					for i := range each {
						p.box.PostUserMessage(datum(k*each + i))
						if k == 0 && i == each/2 {
							p.sys.Root.Stop(p.pid)
						}
					}
				}()
			}
			synctest.Wait()
			for _, m := range p.deadLetters() {
				seen[m]++
			}
			for m, n := range seen {
				if n > 1 {
					t.Errorf("message %v was handled %d times", m, n)
				}
			}
			if p.ended.Load() != 1 {
				t.Error("the mailbox has not ended")
			}
		})
	}
}
