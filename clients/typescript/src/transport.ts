/** One HTTP/1.1 exchange over kept-alive connections: deadline, abort, bounded answer. Knows nothing of limits. */
import http from "node:http";
import https from "node:https";
import type { SecureContextOptions } from "node:tls";

import { LimiterUnavailableError, type UnavailableReason } from "./errors.js";
import { ANSWER_BYTES_MAX, CONNECTIONS_MAX, IDLE_CONNECTION_MS } from "./limits.js";

export interface TransportOptions {
  url: string | URL;
  token?: string | undefined;
  /** ca of Dripgate's certificate; cert and key where it asks for one of the client. */
  tls?: Pick<SecureContextOptions, "ca" | "cert" | "key"> | undefined;
}

export interface Exchange {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface Answer {
  status: number;
  contentType: string;
  /** Retry-After in ms, null where there is none that counts seconds. */
  retryAfterMs: number | null;
  body: Buffer;
}

export class Transport {
  readonly #base: URL;
  readonly #agent: http.Agent;
  readonly #authorization: string | undefined;

  constructor(options: TransportOptions) {
    this.#base = new URL(options.url);
    if (!["http:", "https:"].includes(this.#base.protocol) || this.#base.username !== "") {
      throw new RangeError("url: accepted: http://host:port or https://host:port, without a user");
    }
    const kept = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_CONNECTION_MS, scheduling: "lifo" } as const;
    this.#agent = this.#base.protocol === "https:" ? new https.Agent({ ...kept, ...options.tls }) : new http.Agent(kept);
    if (options.token !== undefined) {
      if (!/^[\x21-\x7e]+$/.test(options.token)) throw new RangeError("token: accepted: printable ASCII without blanks");
      this.#authorization = `Bearer ${options.token}`;
    }
  }

  /** POSTs once. Rejects with LimiterUnavailableError, or with the signal's reason. */
  send(exchange: Exchange): Promise<Answer> {
    const { signal } = exchange;
    return new Promise<Answer>((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const request = (this.#base.protocol === "https:" ? https : http).request(this.#target(exchange.path), {
        method: "POST",
        agent: this.#agent,
        headers: {
          ...exchange.headers,
          ...(this.#authorization === undefined ? {} : { Authorization: this.#authorization }),
          "Content-Length": exchange.body.length,
        },
      });
      const settle = (act: () => void): void => {
        clearTimeout(deadline);
        signal?.removeEventListener("abort", onAbort);
        act();
      };
      const fail = (reason: UnavailableReason, what: string, cause?: unknown): void => {
        settle(() => { reject(new LimiterUnavailableError(`Dripgate at ${this.#base.host}: ${what}`, reason, null, null, { cause })); });
        request.destroy();
      };
      const onAbort = (): void => {
        settle(() => { reject(signal?.reason as Error); });
        request.destroy();
      };
      const deadline = setTimeout(() => { fail("timeout", `no answer within ${exchange.timeoutMs} ms`); }, exchange.timeoutMs);
      signal?.addEventListener("abort", onAbort, { once: true });

      request.on("error", (error) => { fail("connection", error.message, error); });
      request.on("response", (response) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        response.on("data", (part: Buffer) => {
          bytes += part.length;
          if (bytes > ANSWER_BYTES_MAX) fail("answer", `its answer is over ${ANSWER_BYTES_MAX} bytes`);
          else parts.push(part);
        });
        response.on("error", (error) => { fail("connection", error.message, error); });
        response.on("end", () => { settle(() => { resolve(answerOf(response, Buffer.concat(parts, bytes))); }); });
      });
      request.end(exchange.body);
    });
  }

  /** Closes the connections; calls in flight fail. */
  close(): void {
    this.#agent.destroy();
  }

  #target(path: string): URL {
    const target = new URL(this.#base);
    target.pathname = this.#base.pathname.replace(/\/+$/, "") + path;
    target.search = "";
    return target;
  }
}

function answerOf(response: http.IncomingMessage, body: Buffer): Answer {
  const seconds = response.headers["retry-after"] ?? "";
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers["content-type"] ?? "",
    retryAfterMs: /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : null,
    body,
  };
}
