// Package schema gives the form of the configuration file to others: a JSON Schema, and a file to begin with. Both are made
// from the settings.
package schema

import (
	"encoding/json"
	"strings"

	"github.com/rootbound/rootbound/internal/config"
)

// URL is where the schema of the configuration file is published.
const URL = "https://raw.githubusercontent.com/rootbound/rootbound/main/schema/rootbound.config.v1.json"

type object = map[string]any

// JSON is JSON Schema (draft 2020-12) of the configuration file, made from the settings. It accepts every file that
// Load accepts but those that spell a value in a way the schema's language has no word for; what only the file system or
// two places of the file together can tell is left to Load.
func JSON() []byte {
	top := object{}
	for _, s := range config.Settings() {
		section, key, nested := strings.Cut(s.Key, ".")
		v := of(s.Shape())
		v["description"] = s.Help
		if s.Default != "" {
			v["default"] = s.Default
		}
		if !nested {
			top[section] = v
			continue
		}
		if top[section] == nil {
			top[section] = object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": object{}}
		}
		top[section].(object)["properties"].(object)[key] = v
	}
	roots := top["roots"].(object)
	top["roots"] = object{"description": "what the client's roots mean: a mapping, or the mode alone",
		"anyOf": []any{roots, roots["properties"].(object)["mode"]}}

	inside := object{}
	for key := range top {
		inside[key] = object{"$ref": "#/properties/" + key}
	}
	project := projectSchema()
	top["projects"] = object{"description": "the directories that are granted", "type": []string{"array", "null"},
		"items": object{"allOf": []any{object{"$ref": "#/$defs/project"}, object{"required": []string{"dir"}}}}}
	inside["projects"] = object{"description": "projects that are added, or by their id changed",
		"type": []string{"array", "null"}, "items": object{"allOf": []any{object{"$ref": "#/$defs/project"},
			object{"anyOf": []any{object{"required": []string{"dir"}}, object{"required": []string{"id"}}}}}}}
	inside["only"] = described(words(object{"type": "string"}), "ids of the projects that are served in this environment")
	inside["widens"] = described(of(config.Shape{Kind: config.ShapeSwitch}), "this environment may let more be touched than the file without it")
	top["environments"] = object{"description": "laid over the rest when chosen by --env or ROOTBOUND_ENV", "type": []string{"object", "null"},
		"propertyNames": object{"$ref": "#/$defs/id"}, "additionalProperties": object{"$ref": "#/$defs/environment"}}
	b, err := json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": URL,
		"title": "rootbound configuration", "type": []string{"object", "null"}, "additionalProperties": false, "properties": top,
		"$defs": object{
			"id":          idSchema(),
			"project":     object{"type": "object", "additionalProperties": false, "properties": project},
			"environment": object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": inside},
		},
	}, "", "  ")
	if err != nil { // only maps, lists and words
		panic(err)
	}
	return append(b, '\n')
}

func described(o object, text string) object { o["description"] = text; return o }

// words is a list of something, or one of it.
func words(item object) object {
	return object{"anyOf": []any{item, object{"type": "array", "items": item, "minItems": 1}}}
}

// A name of digits is a number to YAML and a name to us.
func idSchema() object {
	return object{"type": []string{"string", "integer"}, "maxLength": config.LongestID, "pattern": `^[\p{L}\p{Nd}._]([\p{L}\p{Nd}._-]*[\p{L}\p{Nd}._])?$`,
		"not": object{"enum": []string{".", ".."}}}
}

func projectSchema() object {
	rights := []string{"list", "read", "search", "create", "write", "move", "delete", "propose"}
	presets := []string{"credentials", "execution"}
	lift := object{}
	for _, p := range presets {
		lift[p] = of(config.Shape{Kind: config.ShapeSwitch})
	}
	either := func(a, b string) object { return object{"enum": []string{a, b}} }
	return object{
		"id":  object{"$ref": "#/$defs/id", "description": "default: from the directory's name"},
		"dir": object{"type": []string{"string", "integer"}, "minLength": 1, "description": "the directory; ~/ is the home directory, a relative one starts beside this file"},
		"rights": object{"description": "ro, propose, rw, full, or a list of rights; default ro", "anyOf": []any{
			object{"enum": []string{"ro", "propose", "rw", "full"}},
			object{"type": "string", "pattern": "^[ ,]*(" + strings.Join(rights, "|") + ")([ ,]+(" + strings.Join(rights, "|") + "))*[ ,]*$"},
			object{"type": "array", "minItems": 1, "items": object{"enum": rights}},
		}},
		"deny": described(words(object{"type": "string", "minLength": 1,
			"not": object{"pattern": `^[/!#\s]|\s$|//|^\.{1,2}$|^\.{1,2}/|/\.{1,2}/|/\.{1,2}$`}}), "globs on the path inside the project that nobody may touch"),
		"allow_extensions": described(words(object{"type": "string", "pattern": `^\.[^/*?]+$`}), "only files with these extensions"),
		"max_read":         described(of(config.Shape{Kind: config.ShapeSize}), "bytes of one file that is read"),
		"max_write":        described(of(config.Shape{Kind: config.ShapeSize}), "bytes of one file after a write"),
		"presets": object{"description": "rules that are on by default: a mapping that lifts them, or a list of those that stay", "anyOf": []any{
			object{"type": "object", "additionalProperties": false, "properties": lift},
			words(object{"enum": presets}),
		}},
		"mounts":      described(either("allow", "deny"), "deny: mount points below the project are not crossed"),
		"hardlinks":   described(either("allow", "deny"), "deny: files with several names are not read"),
		"moves":       described(either("within", "across"), "across: files may move to another project that says so too"),
		"writes":      described(either("direct", "propose"), "propose: changes are proposed and made when a person agrees"),
		"description": object{"type": []string{"string", "integer"}, "maxLength": config.LongestDescription, "description": "what the project is, for whoever chooses among several"},
		"copy_across": described(of(config.Shape{Kind: config.ShapeSwitch}), "a move to another file system copies, compares and removes"),
	}
}

func of(s config.Shape) object {
	switch s.Kind {
	case config.ShapeWord:
		return object{"enum": s.Words}
	case config.ShapeSwitch:
		return object{"enum": []any{true, false, "on", "off", "yes", "no", "true", "false", 1, 0}}
	case config.ShapeSpan:
		return object{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}
	case config.ShapeSize:
		return object{"type": []string{"integer", "string"}, "minimum": 0, "pattern": `^[0-9][0-9_]* *([KMGT]i?B?|B|k)?$`}
	case config.ShapeCount:
		return object{"type": []string{"integer", "string"}, "minimum": s.Least, "maximum": s.Most, "pattern": `^[0-9][0-9_]*$`}
	}
	return object{"type": "string"}
}
