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
  client.setNotificationHandler("notifications/resources/updated", (n) => state.hear(n.params.uri));
  client.setNotificationHandler("notifications/resources/list_changed", () => state.hear("list"));
  const listens = [];
  const transport = new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  await client.connect(transport);
  return {
    listTools: () => client.listTools(),
    resource: (name, params) => client[name](params), // readResource, listResources, listResourceTemplates, complete
    callTool: (params) => client.callTool(params),
    // One listen for all of uris; the result is what the server granted of them.
    subscribe: async (uris) => {
      if (plan.mode === "legacy") {
        for (const uri of uris) await client.subscribeResource({ uri });
        return null;
      }
      const listen = await client.listen({ resourceSubscriptions: uris, resourcesListChanged: listens.length === 0 });
      listens.push(listen);
      return listen.honoredFilter;
    },
    unsubscribe: async (uris) => {
      if (plan.mode === "legacy") for (const uri of uris) await client.unsubscribeResource({ uri });
      else await listens.pop().close();
    },
    // The modern era has no such notification: each call asks anew.
    rootsChanged: () => (plan.mode === "legacy" ? client.sendRootsListChanged() : undefined),
    server: () => ({ version: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() ?? "" }),
    close: () => client.close(),
  };
});
