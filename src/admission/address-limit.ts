import { parseIp } from "../policy/kubernetes/ip-address.ts";

export interface AddressLimitOptions {
  /** Requests a minute from one address; an IPv6 network of 64 bits counts as one. */
  readonly perAddress: number;
  /** Requests a minute from all addresses. */
  readonly inAll: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface Bucket {
  left: number;
  at: number;
}

const minuteMs = 60_000;
const maxAddresses = 10_000;

/**
 * Takes one token for an address, false when there is none: token buckets of one minute that refill evenly. Beyond ten thousand addresses
 * the least recently used are dropped, while the limit over all of them remains.
 */
export function addressLimit({ perAddress, inAll, now }: AddressLimitOptions): (address: string) => boolean {
  const buckets = new Map<string, Bucket>();
  const whole: Bucket = { left: inAll, at: now() };
  return (address) => {
    const key = placeOf(address);
    const bucket = buckets.get(key) ?? { left: perAddress, at: now() };
    buckets.delete(key);
    buckets.set(key, bucket);
    for (const oldest of buckets.keys()) {
      if (buckets.size <= maxAddresses) break;
      buckets.delete(oldest);
    }
    fill(bucket, perAddress, now());
    fill(whole, inAll, now());
    // A client over its own limit takes nothing from the others.
    if (bucket.left < 1 || whole.left < 1) return false;
    bucket.left -= 1;
    whole.left -= 1;
    return true;
  };
}

function fill(bucket: Bucket, max: number, now: number): void {
  const passed = Math.max(0, now - bucket.at);
  bucket.left = Math.min(max, bucket.left + (passed / minuteMs) * max);
  bucket.at = now;
}

/** The unit of counting: an IPv4 address, or an IPv6 network of 64 bits, as its owner has all addresses in it. */
export function placeOf(address: string): string {
  const parsed = parseIp(address);
  return "ip" in parsed && parsed.ip.family === 6 ? `6/${parsed.ip.value >> 64n}` : address;
}
