package mcpfs

// ProgressEvery is how often a call that asked for it is told how far it has come.
const ProgressEvery = progressEvery
