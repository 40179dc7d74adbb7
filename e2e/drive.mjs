import { execFileSync } from "node:child_process";

// The steps that both drivers perform; what differs between the SDKs is handed in by connect.
export async function drive(connect) {
  let input = "";
  for await (const chunk of process.stdin) input += chunk;
  const plan = JSON.parse(input);
  const state = { roots: plan.roots ?? [], asks: 0, heard: [], wake: () => {} };
  state.hear = (what) => {
    state.heard.push(what);
    state.wake();
  };
  // heard gives all that was heard up to what must come.
  const heard = async (what) => {
    while (!state.heard.includes(what)) await new Promise((resolve) => (state.wake = resolve));
    return state.heard.splice(0, state.heard.lastIndexOf(what) + 1);
  };
  const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
  let c;
  try {
    c = await connect(plan, state);
  } catch (e) {
    say({ thrown: String(e?.message ?? e), code: e?.code });
    process.exit(1);
  }
  for (const step of plan.steps) {
    const began = performance.now();
    try {
      let result = null;
      if (step.do === "server") result = c.server();
      else if (step.do === "tools") result = await c.listTools();
      else if (step.do === "resource") result = await c.resource(step.name, step.params);
      else if (step.do === "call") result = await c.callTool({ name: step.tool, arguments: step.args ?? {} });
      else if (step.do === "subscribe") result = await c.subscribe(step.uris);
      else if (step.do === "unsubscribe") result = await c.unsubscribe(step.uris);
      else if (step.do === "heard") result = await heard(step.uris[0]);
      else if (step.do === "run") execFileSync(step.argv[0], step.argv.slice(1), { env: plan.env, stdio: "ignore" });
      else if (step.do === "roots") {
        state.roots = step.roots;
        if (!step.silent) await c.rootsChanged();
      } else throw new Error("unknown step " + step.do);
      say({ result, asks: state.asks, ms: performance.now() - began });
    } catch (e) {
      say({ thrown: String(e?.message ?? e), code: e?.code, asks: state.asks, ms: performance.now() - began });
    }
  }
  await c.close();
}
