// Package wire is what a tool call carries: arguments that are decoded strictly, the schemas that declare them, and the
// replies and refusals that go back in the shape each tool declares. It knows no file and no tool.
package wire
