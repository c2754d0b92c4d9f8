// The official clients of the Model Context Protocol in TypeScript talk to the real binary:
// the former one (1.x, revision 2025-11-25) and the present one (2.x), which also speaks
// 2026-07-28. One JSON object a line says what each attempt ended with.
//
// node mcp.mjs FOLDER URL TOKEN COMMAND ARG...
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [folder, url, token, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(folder, "node_modules", "@modelcontextprotocol", path)).href);

const former = await load("sdk/dist/esm/client/index.js");
const formerPipe = await load("sdk/dist/esm/client/stdio.js");
const formerPort = await load("sdk/dist/esm/client/streamableHttp.js");
const present = await load("client/dist/index.mjs");
const presentPipe = await load("client/dist/stdio.mjs");

const headers = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const about = { name: "test", version: "1" };
const modern = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const auto = { versionNegotiation: { mode: "auto" } };

const attempts = {
  "former pipe": () => [new former.Client(about), new formerPipe.StdioClientTransport({ command, args })],
  "former port": () => [new former.Client(about), new formerPort.StreamableHTTPClientTransport(new URL(url), headers)],
  "present pipe": () => [new present.Client(about), new presentPipe.StdioClientTransport({ command, args })],
  "present port": () => [new present.Client(about), new present.StreamableHTTPClientTransport(new URL(url), headers)],
  "modern pipe": () => [new present.Client(about, modern), new presentPipe.StdioClientTransport({ command, args })],
  "modern port": () => [new present.Client(about, modern), new present.StreamableHTTPClientTransport(new URL(url), headers)],
  "auto pipe": () => [new present.Client(about, auto), new presentPipe.StdioClientTransport({ command, args })],
  "auto port": () => [new present.Client(about, auto), new present.StreamableHTTPClientTransport(new URL(url), headers)],
};

const say = (name, detail) => console.log(JSON.stringify({ name, detail }));
const items = (r) => (r.isError ? r.content[0].text : r.structuredContent.items);
const call = async (client, name, args) => client.callTool({ name, arguments: args });

for (const [name, make] of Object.entries(attempts)) {
  const [client, transport] = make();
  try {
    await client.connect(transport);
    say(`${name}: server`, client.getServerVersion().name);
    if (client.getNegotiatedProtocolVersion) say(`${name}: revision`, client.getNegotiatedProtocolVersion());
    say(`${name}: tools`, (await client.listTools()).tools.map((t) => t.name).join(" "));
    say(`${name}: conversations`, items(await call(client, "conversations", {})).map((c) => c.conversation).join(" "));
    say(`${name}: read`, items(await call(client, "read", { conversation: "cli:direct" })).map((m) => m.role).join(" "));
    say(`${name}: search`, items(await call(client, "search", { query: "aardvark" })).length > 0 ? "found" : "nothing");
    say(`${name}: jobs`, items(await call(client, "jobs", {})).map((j) => j.name).join(" "));
    say(`${name}: wrong key`, items(await call(client, "read", { conversation: "nothing" })));
    say(`${name}: no such tool`, await call(client, "exec", {}).then(() => "it ran", (e) => String(e.code)));
  } catch (e) {
    say(`${name}: failed`, String(e));
  }
  await client.close();
}
