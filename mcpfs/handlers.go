package mcpfs

import (
	"context"

	"github.com/rootbound/rootbound/mcpfs/wire"
)

type handler func(*files, context.Context, call) (*wire.Reply, error)

// handlers are what the tools of form's table do, by name.
func handlers() map[string]handler {
	return map[string]handler{
		"read_file":                 (*files).readText,
		"read_text_file":            (*files).readText,
		"read_media_file":           (*files).readMedia,
		"read_multiple_files":       (*files).readMany,
		"write_file":                (*files).write,
		"edit_file":                 (*files).edit,
		"create_directory":          (*files).mkdir,
		"list_directory":            (*files).list,
		"list_directory_with_sizes": (*files).listSizes,
		"directory_tree":            (*files).tree,
		"move_file":                 (*files).move,
		"search_content":            (*files).searchContent,
		"search_files":              (*files).search,
		"get_file_info":             (*files).info,
		"list_allowed_directories":  (*files).allowed,
		"copy_file":                 (*files).copy,
		"delete_file":               (*files).delete,
		"append_file":               (*files).append,
		"propose_patch":             (*files).propose,
		"apply_patch":               (*files).apply,
		"list_projects":             (*files).projects,
		"scope_status":              (*files).status,
	}
}
