package wire

import "encoding/json"

// Field is one argument or one key of an answer.
type Field struct {
	Name     string
	Schema   string // JSON
	Required bool
}

// ErrorSchema is that of mcpscope.Facts.
const ErrorSchema = `{"type":"object","description":"Why the call was refused","properties":{"reason":{"type":"string"},"detail":{"type":"string"},` +
	`"operation":{"type":"string"},"path":{"type":"string"},"root":{"type":"string"},"retryable":{"type":"boolean"},"decision_id":{"type":"string"}},` +
	`"required":["reason","retryable"],"additionalProperties":false}`

// mediaSchema is that of Reply.Media in a list.
const mediaSchema = `{"type":"array","items":{"anyOf":[{"type":"object","properties":{"type":{"type":"string","enum":["image","audio"]},"data":{"type":"string"},` +
	`"mimeType":{"type":"string"}},"required":["type","data","mimeType"],"additionalProperties":false},{"type":"object","properties":{"type":{"type":"string",` +
	`"const":"resource"},"resource":{"type":"object","properties":{"uri":{"type":"string"},"mimeType":{"type":"string"},"blob":{"type":"string"}},` +
	`"required":["uri","blob"],"additionalProperties":false}},"required":["type","resource"],"additionalProperties":false}]}}`

// Output declares every key that Reply.Result and Refuse send: content, error and more.
func Output(more []Field, media bool) json.RawMessage {
	content := `{"type":"string"}`
	if media {
		content = mediaSchema
	}
	return Object(append([]Field{{"content", content, true}, {"error", ErrorSchema, false}}, more...), false)
}

// Object writes the schema of an object; open tells that it may hold keys that are not declared.
func Object(fields []Field, open bool) json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	var required []byte
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendJSON(b, f.Name)
		b = append(append(b, ':'), f.Schema...)
		if f.Required {
			if required != nil {
				required = append(required, ',')
			}
			required = AppendJSON(required, f.Name)
		}
	}
	b = append(b, '}')
	if required != nil {
		b = append(append(append(b, `,"required":[`...), required...), ']')
	}
	if !open {
		b = append(b, `,"additionalProperties":false`...)
	}
	return append(b, '}')
}
