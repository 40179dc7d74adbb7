// Writes official-diffs.json: what the official server shows for pairs of texts.
// usage: node official-diffs.mjs DIR > official-diffs.json, where DIR holds the result of
//   npm i @modelcontextprotocol/server-filesystem@2026.8.31
import path from "node:path";
import os from "node:os";
import fs from "node:fs/promises";
import { pathToFileURL } from "node:url";

const lib = path.resolve(process.argv[2], "node_modules/@modelcontextprotocol/server-filesystem/dist/lib.js");
const { applyFileEdits, createUnifiedDiff } = await import(pathToFileURL(lib));

let seed = 7;
const rand = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;

const pairs = [
  ["", ""], ["", "a"], ["", "a\n"], ["a", ""], ["a\n", ""], ["a", "b"], ["a\n", "b\n"], ["a", "a\n"], ["a\n", "a"],
  ["a\nb", "a\nc"], ["a\r\nb\r\n", "a\r\nc\r\n"], ["a\r\n", "a\n"], ["\n", ""], ["", "\n"], ["\n\n", "\n"],
  ["same\n", "same\n"], ["```\n", "````\n"], ["a ` b\n", "a ```` b\n"], ["\uFEFFa\n", "\uFEFFb\n"], ["tab\there\n", "tab\tthere\n"],
  ["a\rb\n", "a\rc\n"], ["x\u2028y\n", "x\u2028z\n"], ["--- a\n", "+++ a\n"], ["@@\n", "@@ -1 +1 @@\n"],
];
const num = (n, at = {}) => Array.from({ length: n }, (_, i) => (at[i + 1] ?? `line ${i + 1}`) + "\n").join("");
pairs.push([num(30), num(30, { 5: "five", 14: "fourteen", 29: "twenty-nine" })]);
pairs.push([num(30), num(30, { 5: "five", 13: "thirteen" })], [num(30), num(30, { 1: "one" })], [num(30), num(30, { 30: "thirty" })]);
pairs.push([num(9), num(12)], [num(12), num(9)], [num(40), num(8) + num(40)], [num(40), num(20)]);
for (let i = 0; i < 120; i++) {
  const text = () => Array.from({ length: rand(12) }, () => ["a", "b", "c", "", "d"][rand(2 + rand(4))] + "\n").join("") + (rand(3) ? "" : "end");
  const a = text();
  const lines = a.split(/(?<=\n)/);
  for (let k = 0; k <= rand(3); k++) lines.splice(rand(lines.length + 1), rand(3), ...(rand(2) ? ["new\n"] : ["a\n", "b\n"]));
  pairs.push([a, rand(2) ? text() : lines.join("")]);
}
const diffs = pairs.map(([before, after]) => {
  const body = createUnifiedDiff(before, after, "dir/f.txt");
  let n = 3;
  while (body.includes("`".repeat(n))) n++;
  const fence = "`".repeat(n);
  return { before, after, text: `${fence}diff\n${body}${fence}\n\n` };
});

// whole edits, for text with plain line endings that occurs once
const file = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "official-")), "f");
const edits = [];
const edit = async (before, list) => {
  await fs.writeFile(file, before);
  const text = (await applyFileEdits(file, list)).replaceAll(file, "dir/f.txt");
  edits.push({ before, edits: list, after: await fs.readFile(file, "utf8"), text });
};
await edit("one two\n", [{ oldText: "two", newText: "2" }]);
await edit("a\nb\nc\n", [{ oldText: "b\n", newText: "" }]);
await edit("a\nb\nc", [{ oldText: "c", newText: "c\nd" }]);
await edit("a\n", [{ oldText: "a", newText: "a" }]);
await edit("price: PLACEHOLDER\n", [{ oldText: "PLACEHOLDER", newText: "$$100 $& $1 $` $'" }]);
await edit(num(30), [{ oldText: "line 3\n", newText: "three\n" }, { oldText: "line 27\nline 28\n", newText: "x\ny\nz\n" }]);
await edit("a\n", [{ oldText: "a", newText: "b" }, { oldText: "b", newText: "```" }]);
await edit("あ\n", [{ oldText: "あ", newText: "い\n" }]);
await edit("    if a:\n        b\n", [{ oldText: "b", newText: "c" }]);
await edit("\tx := 1\n\ty := 2\n", [{ oldText: "x := 1 ", newText: "x := 3" }]);
process.stdout.write(JSON.stringify({ server: "@modelcontextprotocol/server-filesystem 2026.8.31", diffs, edits }, null, 1) + "\n");
