/** Programs that tests start on 127.0.0.1 and end by their own process. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const START_MS_MAX = 30_000;

export const DRIPGATE_BIN = process.env["DRIPGATE_BIN"];
/** For node:test's `skip`. */
export const withoutDripgate = DRIPGATE_BIN === undefined ? "DRIPGATE_BIN names no dripgate" : false;

export interface Program {
  url: string;
  /** Its scratch folder. */
  folder: string;
  stop: () => Promise<void>;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once("exit", resolve));
}

/** Runs until `ready` finds what it looks for in the output. */
async function start(command: string, args: string[], folder: string, ready: RegExp): Promise<{ child: ChildProcess; found: string }> {
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const found = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => { reject(new Error(`${command} is not ready: ${output}`)); }, START_MS_MAX);
    const read = (part: Buffer): void => {
      output = (output + part.toString()).slice(-100_000);
      const match = ready.exec(output);
      if (match === null) return;
      clearTimeout(timer);
      resolve(match[1] ?? "");
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("error", reject);
    child.once("exit", (code) => { reject(new Error(`${command} ended with ${String(code)}: ${output}`)); });
  });
  return { child, found };
}

function stopping(child: ChildProcess, folder: string): () => Promise<void> {
  return async () => {
    child.kill("SIGTERM");
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
}

/** The real server on a config; `listen` is a free port. */
export async function startDripgate(config: string): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), "dripgate-client-"));
  writeFileSync(join(folder, "dripgate.yaml"), config);
  const { child, found } = await start(DRIPGATE_BIN ?? "dripgate", ["up", "-c", "dripgate.yaml", "--port", "0"], folder, / up listen=(\S+)/);
  return { url: `http://${found}`, folder, stop: stopping(child, folder) };
}

async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as net.AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** A Redis that keeps nothing; `url` is redis://…. */
export async function startRedis(): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), "dripgate-client-redis-"));
  const port = await freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"];
  const { child } = await start("redis-server", args, folder, /(Ready to accept connections)/);
  return { url: `redis://127.0.0.1:${port}`, folder, stop: stopping(child, folder) };
}
