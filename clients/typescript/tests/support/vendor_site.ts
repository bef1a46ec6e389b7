/** Where vendor tests ask: the real dripgate if it has the routes, else the contract server. */
import { startContractServer } from "./contract_server.js";
import { DRIPGATE_BIN, startDripgate, type Program } from "./process.js";

export interface VendorSite {
  url: string;
  real: boolean;
  stop: () => Promise<void>;
}

const HOUR_MS = 3_600_000;
const SERVER = 'server: { listen: "127.0.0.1:8080" }\n';

/** What the README's first lines need, but for the vendor. */
export const README_CONFIG = `${SERVER}store: { sqlite: ./dripgate.db }
policies:
  - { id: api-free, match: { plan: free }, key: [apiKey], algorithm: token-bucket, capacity: 20, refillPerMinute: 100, onStoreFailure: local }
streams:
  - { id: payouts, source: { embedded: payouts }, key: "merchant_{merchant_id}", limits: [ { rpm: 100 } ], maxDelay: 2h, deliver: { topic: out }, overflowTopic: o, deadLetterTopic: d }
`;

/** A window, whose starts dripgate spreads evenly; or a bucket, which may be emptied at once. */
export type VendorLimit = { limit: number; windowMs: number } | { capacity: number; refillPerSecond: number } | { capacity: number; refillPerHour: number };

export const VENDORS = (limit: VendorLimit): string => {
  const text = JSON.stringify("windowMs" in limit ? { limit: limit.limit, window: `${limit.windowMs}ms` } : limit).replaceAll('"', "").replaceAll(":", ": ");
  return "vendors:\n" + ["hubspot", "shopify"].map((id) => `  - { id: ${id}, key: "${id}:{portal}", limits: [ ${text} ], onStoreFailure: local }\n`).join("");
};

/** What dripgate says of the unknown part of the config. */
const isFromBeforeVendors = (error: unknown): boolean => String(error).includes("'vendors'");

/** Starts with the vendors, or without where this dripgate is from before vendor limits. */
export async function withVendorsIfKnown(start: (vendors: string) => Promise<Program>, vendors: string): Promise<{ server: Program; real: boolean }> {
  try {
    return { server: await start(vendors), real: true };
  } catch (error) {
    if (!isFromBeforeVendors(error)) throw error;
    return { server: await start(""), real: false };
  }
}

/** Vendors `hubspot` and `shopify`, each with this limit for each value of the attribute `portal`. */
export async function startVendorSite(limit: VendorLimit): Promise<VendorSite> {
  const [most, windowMs] = "windowMs" in limit ? [limit.limit, limit.windowMs] : [limit.capacity, HOUR_MS];
  const contract = async (): Promise<VendorSite> => ({ real: false, ...(await startContractServer(most, windowMs)) });
  if (DRIPGATE_BIN === undefined) return contract();
  try {
    const { url, stop } = await startDripgate(`${SERVER}store: { memory: {} }\n${VENDORS(limit)}`);
    return { url, real: true, stop };
  } catch (error) {
    if (!isFromBeforeVendors(error)) throw error;
    return contract();
  }
}
