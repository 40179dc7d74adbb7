package rootbound

// Reason says why something was refused. The registry below is append-only: a reason keeps its name and its meaning.
type Reason string

// The reasons, in the order of docs/reasons.md, which is generated from the registry.
const (
	NoScope              Reason = "no_scope"
	NoOverlap            Reason = "no_overlap"
	RootsEmpty           Reason = "roots_empty"
	RootsMalformed       Reason = "roots_malformed"
	RootsUnsupported     Reason = "roots_unsupported"
	AuthorityUnavailable Reason = "authority_unavailable"
	RootNotFile          Reason = "root_not_file"
	RootRemote           Reason = "root_remote"
	RootURIInvalid       Reason = "root_uri_invalid"
	RootUnusable         Reason = "root_unusable"
	RootTooWide          Reason = "root_too_wide"
	RootReplaced         Reason = "root_replaced"
	GenerationStale      Reason = "generation_stale"
	RevokedByUser        Reason = "revoked_by_user"
	OutsideRoot          Reason = "outside_root"
	PathInvalid          Reason = "path_invalid"
	PathAmbiguous        Reason = "path_ambiguous"
	PathEncodedTraversal Reason = "path_encoded_traversal"
	PathUnresolvable     Reason = "path_unresolvable"
	RootRequired         Reason = "root_required"
	ProjectUnknown       Reason = "project_unknown"
	ProjectInside        Reason = "project_inside"
	NotFound             Reason = "not_found"
	ParentMissing        Reason = "parent_missing"
	SpecialFile          Reason = "special_file"
	CrossRootMove        Reason = "cross_root_move"
	CrossDevice          Reason = "cross_device"
	MovedOut             Reason = "moved_out"
	VersionConflict      Reason = "version_conflict"
	VersionPartial       Reason = "version_partial"
	AuditUnavailable     Reason = "audit_unavailable"
	RightMissing         Reason = "right_missing"
	RuleDenied           Reason = "rule_denied"
	Exists               Reason = "exists"
	EditNoMatch          Reason = "edit_no_match"
	EditAmbiguous        Reason = "edit_ambiguous"
	NotText              Reason = "not_text"
	TooLarge             Reason = "too_large"
	NotADirectory        Reason = "not_a_directory"
	IsADirectory         Reason = "is_a_directory"
	LimitReached         Reason = "limit_reached"
	ArgumentInvalid      Reason = "argument_invalid"
	Cancelled            Reason = "cancelled"
	IOError              Reason = "io_error"
	InternalError        Reason = "internal_error"
	ProjectRetired       Reason = "project_retired"
)

type reasonText struct {
	reason        Reason
	meaning, next string
}

var registry = []reasonText{
	{NoScope, "no directory is granted to this session", "Start the server with the directories to serve as arguments, or with a client that declares roots."},
	{NoOverlap, "the client's roots and the configured projects have nothing in common", "Open a folder inside a configured project in the client, or start the server with --roots=ignore."},
	{RootsEmpty, "the client answered that it has no roots", "Open a folder in the client, or start the server with --roots=ignore or --on-empty=ceiling."},
	{RootsMalformed, "the client's roots answer cannot be used", "Mend the client's roots list, or start the server with --roots=ignore."},
	{RootsUnsupported, "the client declares roots but does not answer for them", "Nothing is needed: the configured projects are in force."},
	{AuthorityUnavailable, "the client did not answer which roots are approved", "Try again; if it stays, start the server with --roots=ignore."},
	{RootNotFile, "the root is not a file URI", "Declare the folder as file:///absolute/path."},
	{RootRemote, "the root names another machine", "Declare a folder of this machine, or run the server where the files are."},
	{RootURIInvalid, "the root's URI is not valid here", "Declare the folder as file:///absolute/path, encoded once."},
	{RootUnusable, "the root is not a directory that can be opened", "Declare a folder that exists and can be read."},
	{RootTooWide, "the root is too wide to be granted by a client", "Declare a folder inside the home directory, or start the server with --allow-wide-roots."},
	{RootReplaced, "the approved directory is gone or its path now leads to another one", "Ask the operator to check the folder; a restart with --accept-retarget approves the new one."},
	{GenerationStale, "the approved roots changed while the call was under way", "Send the call again: it will be judged by the current roots."},
	{RevokedByUser, "a person took this access back", "Ask that person: nobody else can give it back."},
	{OutsideRoot, "outside every allowed directory", "Use a path below an approved directory."},
	{PathInvalid, "the path cannot be used as written", "Send a plain path, relative to the project."},
	{PathAmbiguous, "the relative path may belong to more than one project", "Name the project, or send an absolute path."},
	{PathEncodedTraversal, "the path hides a climb or a NUL behind percent signs", "Send the path itself, not an encoded form."},
	{PathUnresolvable, "the path leads through links that cannot be followed", "Use the path of the object itself."},
	{RootRequired, "a change must say which project it belongs to", "Name the project, or send an absolute path."},
	{ProjectUnknown, "no project or root of that name is available to this session", "Name a project that is approved now."},
	{ProjectInside, "the directory contains another project", "Move, copy or delete its parts one by one."},
	{NotFound, "nothing exists at this path", "List the directory above it to see what exists."},
	{ParentMissing, "the directory that should hold it does not exist", "Create that directory first."},
	{SpecialFile, "not a regular file or directory", "Use another path: pipes, sockets, devices and kernel files are not served."},
	{CrossRootMove, "the move would leave its project", "Keep both ends in one project, or ask the operator for moves: across."},
	{CrossDevice, "the two ends are on different file systems", "Write the content at the destination, or ask the operator for copy_across: true in the project of each end."},
	{MovedOut, "the directory was moved out of the project while the call worked in it", "Check where the directory is now, then send the call again."},
	{VersionConflict, "the file is not the version that was expected", "Read it again and repeat the change on what it holds now."},
	{VersionPartial, "the version comes from a read that was cut", "Read the whole file first, or change only a part of it."},
	{AuditUnavailable, "the decision could not be recorded, so nothing was changed", "Ask the operator to check the audit log's disk."},
	{RightMissing, "the project does not grant this", "Ask the operator for the missing right."},
	{RuleDenied, "a rule of the project forbids this", "Use another path, or ask the operator to lift the rule."},
	{Exists, "something already exists at this path", "Choose another name, or ask to overwrite where the tool offers it."},
	{EditNoMatch, "the text to replace is not in the file", "Read the file and send the text exactly as it stands there."},
	{EditAmbiguous, "the text to replace occurs more than once", "Send a longer piece of text that occurs once."},
	{NotText, "the file is not text", "Ask for its bytes."},
	{TooLarge, "larger than the limit", "Ask for a part of it."},
	{NotADirectory, "not a directory", "Use the path of a directory."},
	{IsADirectory, "a directory", "Use the path of a file, or list what the directory holds."},
	{LimitReached, "a limit of the server was reached", "Ask for less at once."},
	{ArgumentInvalid, "an argument is not valid", "Correct the argument and send the call again."},
	{Cancelled, "the call was cancelled", "Send it again if it is still wanted."},
	{IOError, "the operating system reported an error", "Check the file and its disk, then try again."},
	{InternalError, "the server made a mistake and stopped this call", "Try again; report it with the decision id if it stays."},
	{ProjectRetired, "this project was in force before and is not any more", "Use another project; the operator can bring it back with the configuration or with rootbound use."},
}

// Reasons lists the registry in its order.
func Reasons() []Reason {
	out := make([]Reason, len(registry))
	for i, t := range registry {
		out[i] = t.reason
	}
	return out
}

// Meaning is the reason in a few words, without a full stop.
func (r Reason) Meaning() string { return r.text().meaning }

// Next is one sentence that says what to do.
func (r Reason) Next() string { return r.text().next }

func (r Reason) text() reasonText {
	for _, t := range registry {
		if t.reason == r {
			return t
		}
	}
	return reasonText{r, "refused", "Ask the operator."}
}
