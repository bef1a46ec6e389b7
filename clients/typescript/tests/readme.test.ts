/** The first lines of README.md, as they stand, with the packed package and the real server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { startDripgate, withoutDripgate } from "./support/process.js";
import { README_CONFIG, VENDORS, withVendorsIfKnown } from "./support/vendor_site.js";

/** Where npm installed the package that `npm pack` made. */
const PACKED = process.env["DRIPGATE_PACKED"];
const skip = withoutDripgate === false && PACKED === undefined ? "DRIPGATE_PACKED names no installed package" : withoutDripgate;

test("the README's first lines work", { skip }, async () => {
  const vendor = http.createServer((_request, response) => response.writeHead(200).end("[]")).listen(0, "127.0.0.1");
  await new Promise((resolve) => vendor.once("listening", resolve));
  const { server, real } = await withVendorsIfKnown((vendors) => startDripgate(README_CONFIG + vendors), VENDORS({ limit: 100, windowMs: 10_000 }));
  try {
    const code = /```js\n([^`]*)```/.exec(readFileSync("README.md", "utf8"))?.[1] ?? "";
    const lines = code.trimEnd().split("\n");
    assert.ok(lines.length <= 10, "ten lines");
    // A dripgate from before vendor limits cannot run the last two.
    const run = (real ? lines : lines.slice(0, -2)).join("\n")
      .replace("http://127.0.0.1:8080", server.url)
      .replace("http://127.0.0.1:9000", `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`);
    const file = join(PACKED ?? "", "readme.mjs");
    writeFileSync(file, run);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 20_000 });
    assert.match(stdout, /^200 "api-free";r=19;t=1\nnow \d{4}-\S+Z\n/);
    if (real) assert.match(stdout, /\n200\n$/);
  } finally {
    vendor.closeAllConnections();
    vendor.close();
    await server.stop();
  }
});
