// The steps that both drivers perform; what differs between the SDKs is handed in by connect.
export async function drive(connect) {
  let input = "";
  for await (const chunk of process.stdin) input += chunk;
  const plan = JSON.parse(input);
  const state = { roots: plan.roots ?? [], asks: 0 };
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
      else if (step.do === "call") result = await c.callTool({ name: step.tool, arguments: step.args ?? {} });
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
