package join

import (
	"bytes"
	"testing"
)

func FuzzParseMessage(f *testing.F) {
	f.Add(message{kind: programProof}.append(nil))
	f.Add(message{nodeProof, [32]byte{1}}.append(nil))
	f.Add(message{kind: refusal}.append(nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(b)
		if err == nil && !bytes.Equal(m.append(nil), b) {
			t.Errorf("%x is read as %x", b, m.append(nil))
		}
		got, readErr := readMessage(bytes.NewReader(b))
		if (readErr == nil) != (len(b) >= messageBytes && parses(b[:messageBytes])) || err == nil && got != m {
			t.Errorf("%x: %v, but read: %v", b, err, readErr)
		}
	})
}

func parses(b []byte) bool {
	_, err := parseMessage(b)
	return err == nil
}

func FuzzParseToken(f *testing.F) {
	id := must(newIdentity())
	node := must(format(nodeComment, id, must(newIdentity())))
	public := id
	public.key = nil
	f.Add(node)
	f.Add(must(format(programComment, public)))
	f.Add([]byte(tokenHeader + "\nsecret \npin \nkey \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ids, err := parse(b)
		if err != nil {
			return
		}
		again, err := parse(must(format("#", ids...)))
		if err != nil || len(again) != len(ids) || len(ids) > maxAccepted {
			t.Fatalf("%d tokens, then %d: %v", len(ids), len(again), err)
		}
		for i, id := range ids {
			if !id.same(again[i]) || *id.secret.reveal() != *again[i].secret.reveal() || (id.key == nil) != (again[i].key == nil) {
				t.Error("another token when written and read")
			}
		}
	})
}
