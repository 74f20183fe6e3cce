package supervisor_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/internal/link/join"
)

func TestALogOfATokenSaysThatItIsOne(t *testing.T) {
	tok, err := join.New()
	if err != nil {
		t.Fatal(err)
	}
	type config struct{ Join join.Token }
	for _, inJSON := range []bool{true, false} {
		var log bytes.Buffer
		l := zerolog.New(&log)
		if !inJSON {
			l = l.Output(zerolog.ConsoleWriter{Out: &log, NoColor: true})
		}
		l.Info().Stringer("a", tok).Interface("b", tok).Any("c", config{tok}).Fields(map[string]any{"d": tok}).Msgf("%v %+v %#v %s %q", tok, tok, tok, tok, tok)
		if n := strings.Count(log.String(), "[join token]"); n != 9 {
			t.Errorf("%d of 9 are hidden as they should be: %s", n, &log)
		}
	}
}
