// Drives a server with the TypeScript SDK v1. Reads {command, args, roots, steps} as JSON on stdin and writes one JSON
// line for each step. roots: null means that the capability is not declared.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ListRootsRequestSchema, ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { drive } from "./drive.mjs";

await drive(async (plan, state) => {
  const capabilities = plan.roots === null ? {} : { roots: { listChanged: true } };
  const client = new Client({ name: "e2e-v1", version: "1" }, { capabilities });
  if (plan.roots !== null) {
    client.setRequestHandler(ListRootsRequestSchema, () => {
      state.asks++;
      return { roots: state.roots.map((uri) => ({ uri })) };
    });
  }
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => state.hear(n.params.uri));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => state.hear("list"));
  const transport = new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  await client.connect(transport);
  return {
    listTools: () => client.listTools(),
    resource: (name, params) => client[name](params), // readResource, listResources, listResourceTemplates, complete
    callTool: (params) => client.callTool(params),
    subscribe: async (uris) => {
      for (const uri of uris) await client.subscribeResource({ uri });
    },
    unsubscribe: async (uris) => {
      for (const uri of uris) await client.unsubscribeResource({ uri });
    },
    rootsChanged: () => client.sendRootsListChanged(),
    server: () => ({ version: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() ?? "" }),
    close: () => client.close(),
  };
});
