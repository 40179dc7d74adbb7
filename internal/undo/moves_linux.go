package undo

// moves: what is replaced can be moved into the store in the lease, and back by an exchange.
const moves = true
