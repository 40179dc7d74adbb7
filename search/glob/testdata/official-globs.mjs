// Writes official-globs.json: which paths the pattern matcher of the official server finds, dot files included.
// usage: node official-globs.mjs DIR > official-globs.json, where DIR holds the result of
//   npm i @modelcontextprotocol/server-filesystem@2026.8.31
// A pattern that the matcher fails on, or reads in a way of its own (an escaped character behind a leading star), is left out.
import path from "node:path";
import { pathToFileURL } from "node:url";

const { minimatch } = await import(pathToFileURL(path.resolve(process.argv[2], "node_modules/minimatch/dist/esm/index.js")));

let seed = 11;
const rand = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
const pick = (list) => list[rand(list.length)];

const paths = ["a", "b", ".a", "a.txt", ".txt", "a.py", "ab", "abc", "1", "2", "10", "[", "]", "-", "*", "{a}", "{a,b}", "é", "A", "a b", "#x", "!x", "\\a",
  "a/b", "a/.b", ".a/b", "a/a.txt", "a/b/c", "a/b/c.txt", "a/b/.c.txt", "x/a", "x/a/b", "node_modules", "node_modules/x/package.json", "p/node_modules",
  "p/node_modules/q/package.json", "package.json", "src/main.go", "src/a/b/main_test.go", "a1/b2", "b/a/b/a"];
const patterns = ["", "*", "**", "**/*", "*/*", "*.txt", "**/*.txt", "**/*.{txt,py}", "*.{py,txt}", "a/**", "**/a", "**/a/**", "a/**/b", "a/**/**/c", "**/b/**/a",
  "**/node_modules/**", "node_modules", "**/node_modules", "**/package.json", "src/**/*_test.go", "?", "??", "?.txt", ".*", "**/.*", "[a-c]", "[!a]", "[^a]", "[a-]",
  "[]a]", "[a", "[[:alpha:]]", "[[:digit:]]*", "[[:upper:]]", "[z-a]", "[!z-a]", "{a,b}", "{a,b}/*", "{1..3}", "{01..10}", "{10..8}", "{c..a}", "{a..e..2}", "{a}", "{a,{b,1}}",
  "{{a,b}}", "{,a}b", "a{,b}", "a{b,c", "\\*", "\\{a\\}", "\\{a,b\\}", "\\[", "!a", "!**/*.txt", "!!a", "#x", "\\#x", "\\!x", "/a", "a/", "a//b", "./a", "a/../b", "../a", ".", "..",
  "**a", "a**", "a/**b", "***", "**/**", "A", "é", "a b", "${a,b}", "{}", "{}a,b}", "{a},b}", "*a*", "*.t*t", "[a-b]*", "[*]", "[]", "[!]", "[]-a]", "[a-b-c]", "[\\]]", "{a/b,x/a}"];
for (let i = 0; i < 400; i++) {
  let s = "";
  for (let k = 0; k <= rand(6); k++)
    s += pick(["a", "b", "*", "**", "?", "/", "**/", "/**", ".", "{a,b}", "{a", ",", "}", "[ab]", "[!a]", "[", "]", "-", "{1..3}", "a.txt", "!", "..", "[a-c]", "{a,b/c}", "1", "{a}", "$"]);
  patterns.push(s);
}
const out = [];
for (const pattern of new Set(patterns)) {
  try {
    out.push({ pattern, finds: paths.filter((p) => minimatch(p, pattern, { dot: true })) });
  } catch {}
}
process.stdout.write(JSON.stringify({ matcher: "minimatch 10.2.6", paths, patterns: out }) + "\n");
