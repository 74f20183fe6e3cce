package supervisor_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// every is one event of each type, and what the two logs make of it.
func every() []struct {
	name  string
	event supervisor.Event
	zero  string // of zerolog, without time
	slog  string // of slog's text handler, without time
} {
	info := supervisor.EventInfo{Time: time.Unix(0, 0), Run: "c0ffee", Pipeline: "thumbs"}
	fleet := info
	fleet.Job, fleet.Rank = "nightly", "3"
	stats := supervisor.Stats{Yielded: 10, Delivered: 6, Filtered: 2, Failed: 1, InFlight: 1, Elapsed: 1500 * time.Millisecond}
	cause := errors.New("no luck")
	item := stages.ID{Source: "list", Epoch: 1, Index: 42, Path: ".3"}
	return []struct {
		name       string
		event      supervisor.Event
		zero, slog string
	}{
		{
			"run started", supervisor.RunStarted{EventInfo: fleet, Placement: "inprocess"},
			`{"level":"info","pipeline":"thumbs","run":"c0ffee","job":"nightly","rank":"3","placement":"inprocess","message":"run started"}`,
			`level=INFO msg="run started" pipeline=thumbs run=c0ffee job=nightly rank=3 placement=inprocess`,
		},
		{
			"run ended", supervisor.RunEnded{EventInfo: info, Stats: stats},
			`{"level":"info","pipeline":"thumbs","run":"c0ffee","yielded":10,"delivered":6,"filtered":2,"failed":1,"inflight":1,"elapsed":1500,"message":"run ended"}`,
			`level=INFO msg="run ended" pipeline=thumbs run=c0ffee yielded=10 delivered=6 filtered=2 failed=1 inflight=1 elapsed=1.5s`,
		},
		{
			"run stopped", supervisor.RunEnded{EventInfo: info, Err: supervisor.ErrStopped},
			`{"level":"info","pipeline":"thumbs","run":"c0ffee","err":"supervisor: run stopped","yielded":0,"delivered":0,"filtered":0,"failed":0,"inflight":0,"elapsed":0,"message":"run ended"}`,
			`level=INFO msg="run ended" pipeline=thumbs run=c0ffee err="supervisor: run stopped" yielded=0 delivered=0 filtered=0 failed=0 inflight=0 elapsed=0s`,
		},
		{
			"run failed", supervisor.RunEnded{EventInfo: info, Err: &supervisor.RunError{Pipeline: "thumbs", Causes: []error{cause, cause, cause}}, Stats: stats},
			`{"level":"error","pipeline":"thumbs","run":"c0ffee","err":"pipeline \"thumbs\": no luck (and 2 more)","yielded":10,"delivered":6,"filtered":2,"failed":1,"inflight":1,"elapsed":1500,"message":"run failed"}`,
			`level=ERROR msg="run failed" pipeline=thumbs run=c0ffee err="pipeline \"thumbs\": no luck (and 2 more)" yielded=10 delivered=6 filtered=2 failed=1 inflight=1 elapsed=1.5s`,
		},
		{
			"node started", supervisor.NodeStarted{EventInfo: info, Region: "decode", Copy: 0, Incarnation: 2, PID: 77},
			`{"level":"debug","pipeline":"thumbs","run":"c0ffee","node":"decode/0","incarnation":2,"pid":77,"message":"node started"}`,
			`level=DEBUG msg="node started" pipeline=thumbs run=c0ffee node=decode/0 incarnation=2 pid=77`,
		},
		{
			"node restarted", supervisor.NodeRestarted{EventInfo: info, Region: "decode..resize", Copy: 2, Incarnation: 1, Err: cause, Retry: 100 * time.Millisecond},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","node":"decode..resize/2","incarnation":1,"pause":"100ms","err":"no luck","message":"node restarted"}`,
			`level=WARN msg="node restarted" pipeline=thumbs run=c0ffee node=decode..resize/2 incarnation=1 pause=100ms err="no luck"`,
		},
		{
			"node output", supervisor.NodeOutput{EventInfo: info, Node: "decode/0", Line: "out of luck"},
			`{"level":"info","pipeline":"thumbs","run":"c0ffee","node":"decode/0","line":"out of luck","message":"node output"}`,
			`level=INFO msg="node output" pipeline=thumbs run=c0ffee node=decode/0 line="out of luck"`,
		},
		{
			"epoch ended", supervisor.EpochEnded{EventInfo: info, Epoch: 3},
			`{"level":"debug","pipeline":"thumbs","run":"c0ffee","epoch":3,"message":"epoch ended"}`,
			`level=DEBUG msg="epoch ended" pipeline=thumbs run=c0ffee epoch=3`,
		},
		{
			"task failed", supervisor.TaskFailed{EventInfo: info, Task: "renew", Err: cause},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","task":"renew","err":"no luck","message":"task failed"}`,
			`level=WARN msg="task failed" pipeline=thumbs run=c0ffee task=renew err="no luck"`,
		},
		{
			"task hung", supervisor.TaskFailed{EventInfo: info, Task: "renew", Err: &stages.HungError{Task: "renew", Stack: "main.renew"}},
			`{"level":"error","pipeline":"thumbs","run":"c0ffee","task":"renew","err":"task \"renew\" does not return","stack":"main.renew","message":"task does not return"}`,
			`level=ERROR msg="task does not return" pipeline=thumbs run=c0ffee task=renew err="task \"renew\" does not return" stack=main.renew`,
		},
		{
			"events lost", supervisor.EventsLost{EventInfo: info, Count: 17},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","count":17,"message":"events lost"}`,
			`level=WARN msg="events lost" pipeline=thumbs run=c0ffee count=17`,
		},
		{
			"worker restarted", supervisor.WorkerRestarted{EventInfo: info, Stage: "decode", Worker: 2, Lives: 3, Retry: 100 * time.Millisecond, Err: &stages.PanicError{Stage: "decode", Value: "mine", Stack: "goroutine 1"}},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","stage":"decode","worker":2,"incarnation":3,"pause":"100ms","err":"panic: mine","message":"worker restarted"}`,
			`level=WARN msg="worker restarted" pipeline=thumbs run=c0ffee stage=decode worker=2 incarnation=3 pause=100ms err="panic: mine"`,
		},
		{
			"close failed", supervisor.CloseFailed{EventInfo: info, Stage: "decode", Worker: 2, Err: cause},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","stage":"decode","worker":2,"err":"no luck","message":"close failed"}`,
			`level=WARN msg="close failed" pipeline=thumbs run=c0ffee stage=decode worker=2 err="no luck"`,
		},
		{
			"hook failed", supervisor.HookFailed{EventInfo: info, Stage: "decode", Err: cause},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","stage":"decode","err":"no luck","message":"hook failed"}`,
			`level=WARN msg="hook failed" pipeline=thumbs run=c0ffee stage=decode err="no luck"`,
		},
		{
			"item retried", supervisor.ItemRetried{EventInfo: info, Stage: "decode", Item: item, Attempt: 2, Err: cause, Retry: time.Second},
			`{"level":"info","pipeline":"thumbs","run":"c0ffee","stage":"decode","item":"list/1/42.3","attempt":2,"pause":"1s","err":"no luck","message":"item retried"}`,
			`level=INFO msg="item retried" pipeline=thumbs run=c0ffee stage=decode item=list/1/42.3 attempt=2 pause=1s err="no luck"`,
		},
		{
			"item failed", supervisor.ItemFailed{EventInfo: info, Err: &stages.ItemError{Stage: "decode", Item: item, Attempts: 3, Err: cause}, Letter: true, Failures: 5},
			`{"level":"warn","pipeline":"thumbs","run":"c0ffee","stage":"decode","item":"list/1/42.3","attempts":3,"letter":true,"err":"no luck","message":"item failed"}`,
			`level=WARN msg="item failed" pipeline=thumbs run=c0ffee stage=decode item=list/1/42.3 attempts=3 letter=true err="no luck"`,
		},
	}
}

func TestEventsAreLoggedByZerolog(t *testing.T) {
	for _, c := range every() {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			supervisor.LogEvents(zerolog.New(&b))(c.event)
			if got := strings.TrimSpace(b.String()); got != c.zero {
				t.Errorf("got  %s\nwant %s", got, c.zero)
			}
		})
	}
}

func TestEventsAreLoggedBySlog(t *testing.T) {
	for _, c := range every() {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			h := slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})
			supervisor.LogEventsSlog(slog.New(h))(c.event)
			if got := strings.TrimSpace(b.String()); got != c.slog {
				t.Errorf("got  %s\nwant %s", got, c.slog)
			}
		})
	}
}

func TestALogKeepsToItsLevel(t *testing.T) {
	var b bytes.Buffer
	quiet, loud := supervisor.LogEvents(zerolog.New(&b).Level(zerolog.WarnLevel)), 0
	for _, c := range every() {
		if quiet(c.event); strings.Contains(c.zero, `"warn"`) || strings.Contains(c.zero, `"error"`) {
			loud++
		}
	}
	if got := strings.Count(b.String(), "\n"); got != loud {
		t.Errorf("%d lines, want %d:\n%s", got, loud, b.String())
	}
}
