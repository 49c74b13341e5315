// Says what Go's encoding/json makes of version 1 blobs, and of messages.
//
//	go run reference.go < reading.json > new.json     (the same for spelling.json)
//
// Of each case only the name and the input are read: "blob" or "message", or either with
// "_base64" where it is not UTF-8. To add a case, write those two and run this.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"runtime"
	"unicode/utf8"
)

type blob struct {
	Version         int               `json:"version"`
	Provider        string            `json:"provider"`
	ProcessedLength int               `json:"processed_length"`
	Messages        []json.RawMessage `json:"messages"`
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content,omitempty"`
	Name       string `json:"name,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// said is any text: a string, or base64 under another key where it is not UTF-8.
type said = map[string]any

func say(answer said, key, text string) {
	if utf8.ValidString(text) {
		answer[key] = text
	} else {
		answer[key+"_base64"] = base64.StdEncoding.EncodeToString([]byte(text))
	}
}

func hear(asked said, key string) ([]byte, bool) {
	if text, ok := asked[key].(string); ok {
		return []byte(text), true
	}
	text, ok := asked[key+"_base64"].(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data, ok
}

// refused is "syntax", "type", "version" or "message": where Go gives up. A blob whose messages
// are refused is still rewritten, as if they had not been looked at.
func read(answer said, data []byte) {
	var b blob
	if err := json.Unmarshal(data, &b); err != nil {
		answer["refused"] = "type"
		if !json.Valid(data) {
			answer["refused"] = "syntax"
		}
		return
	}
	if b.Version != 1 {
		answer["refused"] = "version"
		return
	}
	if b.Messages == nil {
		b.Messages = []json.RawMessage{} // as the library makes it before it writes
	}
	for _, raw := range b.Messages {
		if json.Unmarshal(raw, new(message)) != nil {
			answer["refused"] = "message"
		}
	}
	answer["provider"] = b.Provider
	answer["processed_length"] = b.ProcessedLength
	answer["count"] = len(b.Messages)
	out, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	say(answer, "rewritten", string(out))
}

func spell(answer said, data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		answer["refused"] = "message"
		return
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	say(answer, "spelled", string(out))
}

func main() {
	var asked struct {
		Cases []said `json:"cases"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	answers := []said{}
	for _, one := range asked.Cases {
		answer := said{"name": one["name"]}
		if data, ok := hear(one, "blob"); ok {
			say(answer, "blob", string(data))
			read(answer, data)
		} else if data, ok := hear(one, "message"); ok {
			say(answer, "message", string(data))
			spell(answer, data)
		}
		answers = append(answers, answer)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(said{"go": runtime.Version(), "cases": answers}); err != nil {
		panic(err)
	}
	os.Stdout.Write(out.Bytes())
}
