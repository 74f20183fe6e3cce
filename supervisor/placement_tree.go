package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlTree reads the one document of a YAML file. Scalars are their text, whatever YAML takes them for, so that a stage may be
// called "on". Anchors, tags and a second document are refused: nothing here is long enough to need them.
func yamlTree(text []byte) (root node, line int, reason string) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if err == io.EOF {
			return root, 0, "empty: want a placement"
		}
		line, reason = yamlFault(err)
		return root, line, reason
	}
	var second yaml.Node
	switch err := d.Decode(&second); {
	case err == nil:
		return root, second.Line, "a second document"
	case err != io.EOF:
		line, reason = yamlFault(err)
		return root, line, reason
	}
	return yamlNode(doc.Content[0])
}

func yamlNode(y *yaml.Node) (n node, line int, reason string) {
	n.line = y.Line
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		return n, y.Line, "anchors and aliases are not read here"
	case y.Style&yaml.TaggedStyle != 0:
		return n, y.Line, fmt.Sprintf("tags, such as %s, are not read here", y.Tag)
	}
	switch y.Kind {
	case yaml.ScalarNode:
		n.kind, n.text = scalarNode, y.Value
		if y.ShortTag() == "!!null" {
			n.kind = nullNode
		}
	case yaml.SequenceNode:
		n.kind = listNode
		for _, c := range y.Content {
			item, line, reason := yamlNode(c)
			if reason != "" {
				return n, line, reason
			}
			n.items = append(n.items, item)
		}
	case yaml.MappingNode:
		n.kind = objectNode
		for i := 0; i+1 < len(y.Content); i += 2 {
			name := y.Content[i]
			if name.Kind != yaml.ScalarNode || name.Anchor != "" {
				return n, name.Line, "want the name of a field"
			}
			value, line, reason := yamlNode(y.Content[i+1])
			if reason != "" {
				return n, line, reason
			}
			n.fields = append(n.fields, nodeField{name.Value, name.Line, value})
		}
	}
	return n, 0, ""
}

// yamlFault takes the line out of what the library says: "yaml: line 3: did not find expected key".
func yamlFault(err error) (line int, reason string) {
	reason = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(reason, "line "); ok {
		if digits, rest, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				return n, "not YAML: " + rest
			}
		}
	}
	return 0, "not YAML: " + reason
}

// jsonTree reads a JSON file. It is not read as YAML, which takes things for JSON that are not, and does not take all that is.
func jsonTree(text []byte) (root node, line int, reason string) {
	lineAt := func(offset int64) int { return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n")) }
	for rest, at := text, 0; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n <= 1 {
			return root, lineAt(int64(at)), "not JSON: not UTF-8"
		}
		rest, at = rest[n:], at+n
	}
	if err := json.Unmarshal(text, new(any)); err != nil {
		if len(bytes.TrimSpace(text)) == 0 {
			return root, 0, "empty: want a placement"
		}
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			line = lineAt(max(e.Offset-1, 0))
		}
		return root, line, "not JSON: " + err.Error()
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return jsonNode(d, lineAt), 0, ""
}

// jsonNode reads the next value of what is known to be JSON.
func jsonNode(d *json.Decoder, lineAt func(int64) int) (n node) {
	token, _ := d.Token()
	n.line = lineAt(d.InputOffset())
	switch v := token.(type) {
	case json.Delim:
		n.kind = listNode
		if v == '{' {
			n.kind = objectNode
		}
		for d.More() {
			if n.kind == listNode {
				n.items = append(n.items, jsonNode(d, lineAt))
				continue
			}
			name, _ := d.Token()
			f := nodeField{name: fmt.Sprint(name), line: lineAt(d.InputOffset())}
			f.value = jsonNode(d, lineAt)
			n.fields = append(n.fields, f)
		}
		d.Token() // the end of it
	case nil:
		n.kind = nullNode
	default: // string, json.Number, bool
		n.kind, n.text = scalarNode, fmt.Sprint(v)
	}
	return n
}
