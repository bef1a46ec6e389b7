/** A server whose answers a test chooses: for what the real one cannot be made to do (silence, rubbish, cut connections). */
import http from "node:http";
import type { AddressInfo } from "node:net";

export interface Seen {
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export type Behaviour = (response: http.ServerResponse, seen: Seen, count: number) => void;

export class FakeDripgate {
  readonly seen: Seen[] = [];
  connections = 0;
  readonly #server: http.Server;

  private constructor(behaviour: Behaviour) {
    this.#server = http.createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const seen = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(parts).toString() };
        this.seen.push(seen);
        behaviour(response, seen, this.seen.length);
      });
    });
    this.#server.on("connection", () => { this.connections += 1; });
  }

  static async start(behaviour: Behaviour): Promise<FakeDripgate> {
    const fake = new FakeDripgate(behaviour);
    fake.#server.listen(0, "127.0.0.1");
    await new Promise((resolve) => fake.#server.once("listening", resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

export function answer(response: http.ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(text);
}
