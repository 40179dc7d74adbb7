// Drives a server with the TypeScript SDK v2, in the mode plan.mode: "legacy", "auto" or {pin: REVISION}. Input and output
// are those of driver-v1.mjs.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { drive } from "./drive.mjs";

await drive(async (plan, state) => {
  const capabilities = plan.roots === null ? {} : { roots: { listChanged: true } };
  const client = new Client({ name: "e2e-v2", version: "1" }, { capabilities, versionNegotiation: { mode: plan.mode } });
  if (plan.roots !== null) {
    client.setRequestHandler("roots/list", () => {
      state.asks++;
      return { roots: state.roots.map((uri) => ({ uri })) };
    });
  }
  const transport = new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  await client.connect(transport);
  return {
    listTools: () => client.listTools(),
    callTool: (params) => client.callTool(params),
    // The modern era has no such notification: each call asks anew.
    rootsChanged: () => (plan.mode === "legacy" ? client.sendRootsListChanged() : undefined),
    server: () => ({ version: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() ?? "" }),
    close: () => client.close(),
  };
});
