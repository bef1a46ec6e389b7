/** The plain HTTP flow: runs the nodes of clients/http-flow/n8n.json as n8n would. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { runInNewContext } from "node:vm";

import { startVendorSite } from "./support/vendor_site.js";

type Item = Record<string, unknown>;

interface Node {
  name: string;
  type: string;
  parameters: {
    method?: string;
    url?: string;
    jsonBody?: string;
    amount?: string;
    options?: { response: { response: { fullResponse: boolean; neverError: boolean } } };
    conditions?: { conditions: { leftValue: string }[] };
  };
}

interface Flow {
  nodes: Node[];
  connections: Record<string, { main: { node: string }[][] }>;
}

const FLOW = process.env["DRIPGATE_HTTP_FLOW"] ?? "../http-flow/n8n.json";
const flow = JSON.parse(readFileSync(FLOW, "utf8")) as Flow;
const STEPS_MAX = 200;

/** One execution: what each node answered last, and how often it ran. */
class Execution {
  readonly runs = new Map<string, number>();
  readonly #answers = new Map<string, Item>();

  constructor(readonly dripgate: string, readonly vendor: string) {}

  async run(): Promise<void> {
    let name: string | undefined = "Start";
    let item: Item = {};
    for (let step = 0; name !== undefined; ++step) {
      assert.ok(step < STEPS_MAX, "a flow without end");
      const node: Node | undefined = flow.nodes.find((one) => one.name === name);
      assert.ok(node !== undefined, `no node '${name}'`);
      this.runs.set(name, (this.runs.get(name) ?? 0) + 1);
      const [answer, output] = await this.#step(node, item);
      this.#answers.set(name, answer);
      item = answer;
      name = flow.connections[name]?.main[output]?.[0]?.node;
    }
  }

  async #step(node: Node, item: Item): Promise<[Item, number]> {
    const { parameters } = node;
    switch (node.type) {
      case "n8n-nodes-base.httpRequest":
        return [await this.#request(parameters, item), 0];
      case "n8n-nodes-base.if":
        return [item, parameters.conditions?.conditions.every((one) => this.#value(one.leftValue, item) === true) === true ? 0 : 1];
      case "n8n-nodes-base.wait": {
        const seconds = this.#value(parameters.amount ?? "", item);
        assert.ok(typeof seconds === "number" && seconds > 0 && seconds < 10, `waits ${String(seconds)} s`);
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000)); // the flow's own wait
        return [item, 0];
      }
      default:
        return [item, 0];
    }
  }

  async #request(parameters: Node["parameters"], item: Item): Promise<Item> {
    const url = (parameters.url ?? "").replace("http://127.0.0.1:8080", this.dripgate).replace("http://127.0.0.1:9000", this.vendor);
    const body = parameters.jsonBody === undefined ? {} : { body: String(this.#value(parameters.jsonBody, item)) };
    const response = await fetch(url, { method: parameters.method ?? "GET", headers: { "Content-Type": "application/json" }, ...body });
    const asked = parameters.options?.response.response;
    assert.ok(response.ok || asked?.neverError === true, `${url} answered ${response.status}`);
    const text = await response.text();
    if (asked?.fullResponse !== true) return JSON.parse(text) as Item;
    return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: text };
  }

  /** "={{ expression }}" as n8n evaluates it. */
  #value(text: string, item: Item): unknown {
    const expression = /^=\{\{(.*)\}\}$/.exec(text)?.[1];
    if (expression === undefined) return text;
    return runInNewContext(expression, { $json: item, $: (name: string) => ({ item: { json: this.#answers.get(name) } }), JSON });
  }
}

const stops: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const stop of stops) await stop();
});

async function vendor(behaviour: (count: number) => [number, Record<string, string>]): Promise<{ url: string; calls: () => number }> {
  let count = 0;
  const server = http.createServer((_request, response) => { response.writeHead(...behaviour(++count)).end("{}"); }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  stops.push(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => count };
}

test("six flows at once under 2 per 2 seconds: each calls once, the late ones wait", async () => {
  const site = await startVendorSite({ limit: 2, windowMs: 2000 });
  stops.push(site.stop);
  const { url, calls } = await vendor(() => [200, {}]);
  const flows = Array.from({ length: 6 }, () => new Execution(site.url, url));
  await Promise.all(flows.map((one) => one.run()));
  assert.equal(calls(), 6);
  assert.ok(flows.every((one) => one.runs.get("Go on") === 1 && one.runs.get("Observe") === 1));
  assert.ok(flows.filter((one) => one.runs.has("Wait")).length >= 2);
});

test("a 429 of the vendor is waited for and called again", async () => {
  const site = await startVendorSite({ capacity: 100, refillPerSecond: 100 });
  stops.push(site.stop);
  const { url, calls } = await vendor((count) => (count === 1 ? [429, { "Retry-After": "1" }] : [200, {}]));
  const first = new Execution(site.url, url);
  await first.run();
  assert.deepEqual([calls(), first.runs.get("Wait"), first.runs.get("Go on")], [2, 1, 1]);
});
