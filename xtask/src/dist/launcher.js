#!/usr/bin/env node
// Starts the binary of this machine, which npm installed as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@team-executor/${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/team-executor`);
} catch {
  const help = process.platform === "linux"
    ? `npm install ${name}   (npm leaves it out with --omit=optional)`
    : "use Linux, for instance in a container or in WSL";
  console.error(`error: team-executor has no binary for ${process.platform} on ${process.arch} here\nhelp: ${help}`);
  process.exit(2);
}

// The terminal sends these to the whole group: the program decides what they mean, and the launcher waits for it.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", argv0: "team-executor" });
// These reach the launcher alone.
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${binary} cannot be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
