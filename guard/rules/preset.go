package rules

// The patterns of the two presets (contract §5). Each begins anywhere in a project ("**/"), names are compared case- and
// NFC-folded. A trailing "/**" covers the directory and everything below it. docs/rules.md is generated from these lists.

// credentials: no access at all, and no appearance in any list, tree, search, count or cursor.
var credentials = []string{
	"**/.env*", // but exceptEnv
	"**/id_rsa", "**/id_dsa", "**/id_ecdsa", "**/id_ecdsa_sk", "**/id_ed25519", "**/id_ed25519_sk",
	"**/*.pem", "**/*.key", "**/*.p12", "**/*.pfx", "**/*.ppk", "**/*.jks", "**/*.keystore", "**/*.kdbx",
	"**/.netrc", "**/_netrc", "**/.npmrc", "**/.pypirc", "**/.pgpass", "**/.my.cnf", "**/.htpasswd",
	"**/.git-credentials", "**/.vault-token", "**/.terraformrc",
	"**/.aws/**", "**/.ssh/**", "**/.kube/**", "**/.gnupg/**", "**/.azure/**", "**/.password-store/**",
	"**/.config/gcloud/**", "**/.config/gh/hosts.yml", "**/.config/git/credentials", "**/.docker/config.json",
	"**/.cargo/credentials", "**/.cargo/credentials.toml", "**/.gem/credentials", "**/.m2/settings.xml",
}

// exceptEnv are names that "**/.env*" does not mean.
var exceptEnv = []string{".env.example"}

// execution: no mutation of what makes other programs run code. Reading stays allowed.
var execution = []string{
	"**/.git/config", "**/.git/config.worktree", "**/.git/hooks/**",
	"**/.git/modules/**/config", "**/.git/modules/**/hooks/**", "**/.git/worktrees/**/config.worktree",
	"**/.gitconfig", "**/.config/git/**", "**/.husky/**", "**/.githooks/**",
	"**/.envrc", "**/.direnv/**", "**/mise.toml", "**/.mise.toml",
	"**/.vscode/tasks.json", "**/.vscode/settings.json", "**/.vscode/launch.json", "**/.vscode/mcp.json", "**/*.code-workspace",
	"**/.idea/workspace.xml", "**/.idea/runConfigurations/**", "**/.idea/watcherTasks.xml",
	"**/.devcontainer/**", "**/.devcontainer.json", "**/.zed/tasks.json", "**/.zed/settings.json",
	"**/.mcp.json", "**/opencode.json",
	"**/.claude/**", "**/.cursor/**", "**/.codex/**", "**/.gemini/**", "**/.windsurf/**", "**/.continue/**", "**/.junie/**",
	"**/.kimi-code/**", "**/.opencode/**", "**/.roo/**", "**/.kiro/**", "**/.amazonq/**", "**/.copilot/**",
	"**/.bashrc", "**/.bash_profile", "**/.bash_login", "**/.bash_logout", "**/.profile", "**/.zshrc", "**/.zshenv", "**/.zprofile", "**/.zlogin",
	"**/.config/fish/**", "**/.config/autostart/**", "**/.config/systemd/**", "**/Library/LaunchAgents/**",
	"**/.vimrc", "**/.exrc", "**/.nvimrc", "**/.nvim.lua", "**/.dir-locals.el",
}

// gitFile is the one rule that only binds an entry which is or becomes no directory: a ".git" file points at a repository
// elsewhere, whose configuration runs commands.
const gitFile = "**/.git"
