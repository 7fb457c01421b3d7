// A client with the official SDK: declares a root, gives a table to agents, hears of the progress, and prints what came out.
const [sdk, program, root, worker] = process.argv.slice(2);
const { Client } = await import(`${sdk}/dist/esm/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/dist/esm/client/stdio.js`);
const { ListRootsRequestSchema } = await import(`${sdk}/dist/esm/types.js`);

const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { roots: {} } });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${root}` }] }));
const args = ["mcp", "--serve", "--agent-command", worker];
await client.connect(new StdioClientTransport({ command: program, args, env: process.env }));
const { tools } = await client.listTools();
const progress = [];
const heard = { onprogress: (one) => progress.push(one), timeout: 600000 };
const schema = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
const wanted = { csv_path: "people.csv", instruction: "Greet {name}", id_column: "id", output_schema: schema, max_concurrency: 16 };
const job = await client.callTool({ name: "spawn_agents_on_csv", arguments: wanted }, undefined, heard);
const { resources } = await client.listResources();
const read = await Promise.all(resources.map(({ uri }) => client.readResource({ uri })));
console.log(JSON.stringify({ tools, progress, job, resources, read }));
await client.close();
