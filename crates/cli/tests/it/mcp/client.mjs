// A client with the official SDK: lists the tools, makes the calls of a file, and prints what it is answered.
import { readFileSync } from "node:fs";

const [sdk, program, calls] = process.argv.slice(2);
const { Client } = await import(`${sdk}/dist/esm/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/dist/esm/client/stdio.js`);

const client = new Client({ name: "test", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: program, args: ["mcp"], env: process.env }));
const { tools } = await client.listTools();
const answers = [];
for (const [name, args] of JSON.parse(readFileSync(calls))) {
  answers.push(await client.callTool({ name, arguments: args }));
}
console.log(JSON.stringify({ server: client.getServerVersion(), tools, answers }));
await client.close();
