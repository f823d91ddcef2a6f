#!/usr/bin/env -S node --max-semi-space-size=16
// What `tillgate` starts: plain JavaScript that any Node can read. It runs the program on Node 24: this process, if it is one, otherwise
// the Node that was installed with the package. A package holds JavaScript in dist/ (Node takes no TypeScript under node_modules),
// a clone its sources [D95]. Arguments, input, output, signals and the exit code are the program's own either way.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const oldestMajor = 24;
// As in the first line, and wherever else somebody starts a Node for it: only a Node that begins can be told [D124].
const memoryFlag = '--max-semi-space-size=16';
const source = new URL('../src/cli/main.ts', import.meta.url);
const program = existsSync(source) ? source : new URL('../dist/cli/main.js', import.meta.url);

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  // Before the program's first file is read, so that all of them count. Not imported above: an old Node cannot read it.
  const { keepCompiledCode } = await import('./compile-cache.mjs');
  keepCompiledCode();
  await import(program.href);
} else runOn(nodeOfThePackage());

/** undefined: the package `node` was installed without its install script, or not at all. */
function nodeOfThePackage() {
  try {
    const path = createRequire(import.meta.url).resolve('node/bin/node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function runOn(node) {
  if (node === undefined) {
    console.error(
      `Node ${process.versions.node} is running, but Tillgate needs Node ${oldestMajor} or newer: install it, or install Tillgate again without --ignore-scripts, which brings it along.`,
    );
    process.exit(1);
  }
  // In a session of its own, so that Ctrl-C reaches it once, through here: a second signal would end a gateway at once.
  const child = spawn(node, [memoryFlag, fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit', detached: true });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`Node ${oldestMajor} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
